// SPDX-License-Identifier: Apache-2.0

#include "registry/validation/resource_names.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>

#include "api/named_value.h"
#include "api/quota/pods.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kOfQuotas[] = {"cpu",
                                          "memory",
                                          "ephemeral-storage",
                                          "requests.cpu",
                                          "requests.memory",
                                          "requests.storage",
                                          "requests.ephemeral-storage",
                                          "limits.cpu",
                                          "limits.memory",
                                          "limits.ephemeral-storage",
                                          "pods",
                                          "resourcequotas",
                                          "services",
                                          "replicationcontrollers",
                                          "secrets",
                                          "persistentvolumeclaims",
                                          "configmaps",
                                          "services.nodeports",
                                          "services.loadbalancers"};
constexpr std::string_view kOfContainers[] = {"cpu", "memory", "ephemeral-storage"};
constexpr std::string_view kCounts[] = {"pods",
                                        "resourcequotas",
                                        "services",
                                        "replicationcontrollers",
                                        "secrets",
                                        "configmaps",
                                        "persistentvolumeclaims",
                                        "services.nodeports",
                                        "services.loadbalancers"};

bool Contains(std::span<const std::string_view> list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool HasPrefix(std::string_view name) { return name.find('/') != std::string_view::npos; }

bool IsHugePages(std::string_view name) {
  return name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
}

}  // namespace

bool IsNativeResource(std::string_view name) {
  return !HasPrefix(name) || name.find("kubernetes.io/") != std::string_view::npos;
}

bool IsStandardQuotaResource(std::string_view name) {
  return Contains(kOfQuotas, name) || IsHugePages(name);
}

bool IsIntegerResource(std::string_view name) {
  return Contains(kCounts, name) || api::quota::IsExtendedResourceName(name);
}

bool IsOvercommitAllowed(std::string_view name) {
  return IsNativeResource(name) && !name.starts_with("hugepages-");
}

void CheckNameOfResource(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  const auto texts = api::IsQualifiedName(name);
  for (const std::string& text : texts) {
    errors.push_back(api::Invalid(path, api::NamedValue(name), text));
  }
  const bool standard = IsStandardQuotaResource(name) || name == "storage";
  if (texts.empty() && !HasPrefix(name) && !standard) {
    errors.push_back(api::Invalid(path, api::NamedValue(name),
                                  "must be a standard resource type or fully qualified"));
  }
}

void CheckNameOfContainerResource(std::string_view name, const FieldPath& path,
                                  FieldErrors& errors) {
  if (Contains(kOfContainers, name)) return;
  CheckNameOfResource(name, path, errors);
  if (!HasPrefix(name)) {
    if (!name.starts_with("hugepages-")) {
      errors.push_back(
          api::Invalid(path, api::NamedValue(name), "must be a standard resource for containers"));
    }
  } else if (!IsNativeResource(name) && !api::quota::IsExtendedResourceName(name)) {
    errors.push_back(api::Invalid(path, api::NamedValue(name),
                                  "doesn't follow extended resource name standard"));
  }
}

void CheckNameOfQuotaResource(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  CheckNameOfResource(name, path, errors);
  if (!HasPrefix(name) && !IsStandardQuotaResource(name)) {
    errors.push_back(
        api::Invalid(path, api::NamedValue(name), "must be a standard resource for quota"));
  }
}

void CheckAmountOfResource(std::string_view name, const api::Quantity& amount,
                           const FieldPath& path, FieldErrors& errors) {
  if (amount.Sign() < 0) {
    errors.push_back(api::Invalid(path, amount.ToString(), "must be greater than or equal to 0"));
  }
  // Kubernetes looks at the thousandths, which it takes for none if no int64 holds them.
  const bool fits = amount <= api::Quantity::FromInt(std::numeric_limits<std::int64_t>::max());
  if (IsIntegerResource(name) && fits && !amount.IsInteger()) {
    errors.push_back(api::Invalid(path, amount.ToString(), "must be an integer"));
  }
}

}  // namespace portcullis::registry
