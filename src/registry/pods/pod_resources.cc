// SPDX-License-Identifier: Apache-2.0

// Resources of containers and of pods as a whole.

#include <map>

#include "api/named_value.h"
#include "api/quota/pod_resources.h"
#include "base/strings.h"
#include "json/sorted.h"
#include "registry/pods/pod_parts.h"
#include "registry/validation/resource_names.h"
#include "registry/validation/sent_values.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kHugePages = "hugepages-";

bool IsHugePages(std::string_view name) { return name.starts_with(kHugePages); }

void CheckPodResourceName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  const std::size_t before = errors.size();
  CheckNameOfResource(name, path, errors);
  if (errors.size() == before && name != "cpu" && name != "memory" && !IsHugePages(name)) {
    errors.push_back(api::NotSupported(path, api::NamedValue(name), {"cpu", kHugePages, "memory"}));
  }
}

void CheckPages(std::string_view name, const api::Quantity& amount, const FieldPath& path,
                FieldErrors& errors) {
  if (!IsHugePages(name)) return;
  const auto page = api::Quantity::Parse(name.substr(kHugePages.size()));
  const double size = page.ok() ? page->AsDouble() : 0;
  const double count = size > 0 ? amount.AsDouble() / size : 0.5;
  if (count != static_cast<double>(static_cast<std::int64_t>(count))) {
    errors.push_back(api::Invalid(
        path, amount.ToString(),
        base::StrCat(amount.ToString(), " is not positive integer multiple of ", name)));
  }
}

void CheckRequest(std::string_view name, const api::Quantity& amount, const json::Value* limit,
                  const FieldPath& path, FieldErrors& errors) {
  if (limit == nullptr) {
    if (IsOvercommitAllowed(name)) return;
    errors.push_back(
        api::Required(path.Child("limits"), "Limit must be set for non overcommitable resources"));
    return;
  }
  const api::Quantity most = QuantityOf(*limit);
  if (amount != most && !IsOvercommitAllowed(name)) {
    errors.push_back(
        api::Invalid(path.Child("requests"), amount.ToString(),
                     base::StrCat("must be equal to ", name, " limit of ", most.ToString())));
  } else if (amount > most) {
    errors.push_back(api::Invalid(
        path.Child("requests"), amount.ToString(),
        base::StrCat("must be less than or equal to ", name, " limit of ", most.ToString())));
  }
}

// The error about an unknown claim lists all claims of the pod. When these lists come to so many bytes, further
// unknown claims are not reported.
constexpr std::size_t kMostDetails = std::size_t{16} << 20;

std::string DetailOfUnknownClaim(const std::set<std::string_view>& known) {
  std::string detail = "must be one of the names in pod.spec.resourceClaims";
  if (known.empty()) detail += " which is empty";
  for (const std::string_view name : known) {
    detail += base::StrCat(name == *known.begin() ? ": " : ", ", name);
  }
  return detail;
}

void CheckClaims(json::Value claims, const std::set<std::string_view>& known, const FieldPath& path,
                 FieldErrors& errors) {
  std::set<std::string> seen;
  std::map<std::string, std::size_t, std::less<>> requests;  // how many of `seen` are of a claim
  std::string detail;                                        // made for the first unknown claim
  std::size_t details = 0;
  std::size_t index = 0;
  for (const json::Value& claim : claims.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view name = claim["name"].AsString();
    if (name.empty()) {
      errors.push_back(api::Required(at, ""));
      continue;
    }
    const std::string_view request = claim["request"].AsString();
    if (seen.contains(std::string(name))) {
      errors.push_back(api::Duplicate(at, name));
    } else {
      std::string key(name);
      if (!request.empty()) {
        CheckDnsLabel(request, at.Child("request"), errors);
        key += base::StrCat("/", request);
      }
      if (seen.contains(key)) {
        errors.push_back(api::Duplicate(at, key));
      } else if (const auto found = requests.find(name);
                 request.empty() && found != requests.end()) {
        // The whole claim, beside requests of it.
        errors.insert(errors.end(), found->second, api::Duplicate(at, name));
      }
      const std::size_t slash = key.find('/');
      if (seen.insert(key).second && slash != std::string::npos) ++requests[key.substr(0, slash)];
    }
    if (known.contains(name) || details > kMostDetails) continue;
    if (detail.empty()) detail = DetailOfUnknownClaim(known);
    details += detail.size();
    api::FieldError error = api::NotFound(at, name);
    error.detail = detail;
    errors.push_back(std::move(error));
  }
}

template <typename NameCheck>
void CheckRequirements(json::Value resources, const std::set<std::string_view>& claims,
                       const NameCheck& check_name, const FieldPath& path, FieldErrors& errors) {
  const json::Value limits = resources["limits"];
  bool computes = false;
  bool huge = false;
  for (const std::string_view list : {"limits", "requests"}) {
    for (const json::Member* entry : json::MembersByName(resources[list])) {
      const std::string_view name = entry->name();
      const FieldPath at = path.Child(list).Key(name);
      const api::Quantity amount = QuantityOf(entry->value);
      check_name(name, at);
      CheckAmountOfResource(name, amount, at, errors);
      if (list == "requests") CheckRequest(name, amount, limits.Find(name), path, errors);
      CheckPages(name, amount, at, errors);
      computes = computes || name == "cpu" || name == "memory";
      huge = huge || IsHugePages(name);
    }
  }
  if (huge && !computes) {
    errors.push_back(api::Forbidden(path, "HugePages require cpu or memory"));
  }
  CheckClaims(resources["claims"], claims, path.Child("claims"), errors);
}

// What the pod as a whole has of a list ("requests") is no less than its containers have together, where it
// names a resource that `counts`.
template <typename Counts>
void CheckAggregate(const api::quota::Resources& sum, json::Value resources, std::string_view list,
                    const FieldPath& path, FieldErrors& errors, Counts counts) {
  for (const auto& [name, amount] : sum) {
    const json::Value* given = resources[list].Find(name);
    if (given == nullptr || !counts(name)) continue;
    const api::Quantity whole = QuantityOf(*given);
    if (amount <= whole) continue;
    errors.push_back(
        api::Invalid(path.Child(list).Key(name), whole.ToString(),
                     base::StrCat("must be greater than or equal to aggregate container ", list,
                                  " of ", amount.ToString())));
  }
}

void CheckAggregates(const PodContext& pod, const FieldPath& path, FieldErrors& errors) {
  json::Arena arena;
  const json::Value whole = json::MakeObject(arena, {{"spec", pod.spec}});
  const api::quota::PodResourceOptions of_containers = {
      .pod_level = false, .pod_level_huge_pages = false, .overhead = false};
  const json::Value resources = pod.spec["resources"];
  CheckAggregate(api::quota::PodRequests(whole, of_containers), resources, "requests", path, errors,
                 [](std::string_view) { return true; });
  CheckAggregate(api::quota::PodLimits(whole, of_containers), resources, "limits", path, errors,
                 IsHugePages);
}

}  // namespace

void CheckContainerResources(json::Value resources, const std::set<std::string_view>& claims,
                             const FieldPath& path, FieldErrors& errors) {
  CheckRequirements(
      resources, claims,
      [&](std::string_view name, const FieldPath& at) {
        CheckNameOfContainerResource(name, at, errors);
      },
      path, errors);
}

void CheckPodResources(const PodContext& pod, const FieldPath& path, FieldErrors& errors) {
  const json::Value resources = pod.spec["resources"];
  if (resources.is_null()) return;
  if (pod.spec["os"]["name"].AsString() == "windows") {
    errors.push_back(api::Forbidden(path, "may not be set for a windows pod"));
    return;
  }
  if (!resources["claims"].is_null() || IsSentEmpty(pod.sent["resources"]["claims"])) {
    errors.push_back(
        api::Forbidden(path.Child("claims"), "claims may not be set for Resources at pod-level"));
  }
  CheckRequirements(
      resources, pod.claims,
      [&](std::string_view name, const FieldPath& at) { CheckPodResourceName(name, at, errors); },
      path, errors);
  CheckAggregates(pod, path, errors);
  const json::Value limits = resources["limits"];
  std::size_t index = 0;
  for (const json::Value& container : pod.spec["containers"].elements()) {
    const FieldPath at = path.Child("containers").Index(index++);
    for (const json::Member* limit : json::MembersByName(container["resources"]["limits"])) {
      const json::Value* most = limits.Find(limit->name());
      if (most == nullptr || QuantityOf(limit->value) <= QuantityOf(*most)) continue;
      errors.push_back(api::Invalid(at.Key(limit->name()).Child("limits"),
                                    QuantityOf(limit->value).ToString(),
                                    base::StrCat("must be less than or equal to pod limits of ",
                                                 QuantityOf(*most).ToString())));
    }
  }
}

}  // namespace portcullis::registry
