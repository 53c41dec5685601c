// LimitRanges and ResourceQuotas.

#include <algorithm>
#include <array>
#include <set>

#include "base/strings.h"
#include "registry/validation/kinds.h"

namespace portcullis::registry {
namespace {

using api::Quantity;

constexpr std::array<std::string_view, 13> kStandardResources = {"cpu",
                                                                 "memory",
                                                                 "ephemeral-storage",
                                                                 "requests.cpu",
                                                                 "requests.memory",
                                                                 "requests.ephemeral-storage",
                                                                 "limits.cpu",
                                                                 "limits.memory",
                                                                 "limits.ephemeral-storage",
                                                                 "pods",
                                                                 "resourcequotas",
                                                                 "services",
                                                                 "replicationcontrollers"};
constexpr std::array<std::string_view, 9> kStandardCounts = {
    "secrets",          "configmaps",         "persistentvolumeclaims", "storage",
    "requests.storage", "services.nodeports", "services.loadbalancers", "pods",
    "services"};

bool IsStandard(std::string_view name) {
  return std::find(kStandardResources.begin(), kStandardResources.end(), name) !=
             kStandardResources.end() ||
         std::find(kStandardCounts.begin(), kStandardCounts.end(), name) != kStandardCounts.end() ||
         name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
}

// Names of resources in quotas and limits: qualified, and standard where they have no prefix.
void CheckResourceName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  const auto texts = api::IsQualifiedName(name);
  AddInvalid(path, name, texts, errors);
  if (texts.empty() && name.find('/') == std::string_view::npos && !IsStandard(name)) {
    errors.push_back(
        api::Invalid(path, name, "must be a standard resource type or fully qualified"));
  }
}

std::string Ratio(const Quantity& quantity) { return quantity.ToString(); }

struct LimitItem {
  json::Value item;
  FieldPath path;

  const json::Value* Find(std::string_view list, std::string_view resource) const {
    return item[list].Find(resource);
  }
  FieldPath At(std::string_view list, std::string_view resource) const {
    return path.Child(list).Key(resource);
  }
};

// "<what> value a is greater than <other> value b" if it is.
void CheckNotGreater(const LimitItem& item, std::string_view resource, std::string_view low,
                     std::string_view low_name, std::string_view high, std::string_view high_name,
                     std::string_view blamed, FieldErrors& errors) {
  const json::Value* a = item.Find(low, resource);
  const json::Value* b = item.Find(high, resource);
  if (a == nullptr || b == nullptr) return;
  const Quantity x = QuantityOf(*a);
  const Quantity y = QuantityOf(*b);
  if (x <= y) return;
  // Kubernetes shows the other value where it blames the default limit.
  const bool show_low = (blamed == low) != (blamed == "default");
  const Quantity& shown = show_low ? x : y;
  errors.push_back(api::Invalid(item.At(blamed, resource), shown.ToString(),
                                base::StrCat(low_name, " value ", x.ToString(), " is greater than ",
                                             high_name, " value ", y.ToString())));
}

void CheckRatio(const LimitItem& item, std::string_view resource, FieldErrors& errors) {
  const json::Value* value = item.Find("maxLimitRequestRatio", resource);
  if (value == nullptr) return;
  const Quantity ratio = QuantityOf(*value);
  const FieldPath path = item.At("maxLimitRequestRatio", resource);
  if (ratio < Quantity::FromInt(1)) {
    errors.push_back(
        api::Invalid(path, Ratio(ratio), base::StrCat("ratio ", Ratio(ratio), " is less than 1")));
  }
  const json::Value* low = item.Find("min", resource);
  const json::Value* high = item.Find("max", resource);
  if (low == nullptr || high == nullptr) return;
  const double limit = QuantityOf(*high).AsDouble() / QuantityOf(*low).AsDouble();
  if (ratio.AsDouble() > limit) {
    std::string text = std::to_string(limit);
    errors.push_back(
        api::Invalid(path, Ratio(ratio),
                     base::StrCat("ratio ", Ratio(ratio), " is greater than max/min = ", text)));
  }
}

void CheckLimitItem(const LimitItem& item, FieldErrors& errors) {
  const std::string_view type = item.item["type"].AsString();
  std::set<std::string_view> names;
  for (const std::string_view list :
       {"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"}) {
    if (type == "Pod" && list.starts_with("default")) {
      if (!item.item[list].empty()) {
        errors.push_back(
            api::Forbidden(item.path.Child(list), "may not be specified when `type` is 'Pod'"));
      }
      continue;
    }
    for (const json::Member* member : SortedMembers(item.item[list])) {
      CheckResourceName(member->name(), item.path.Child(list).Key(member->name()), errors);
      names.insert(member->name());
    }
  }
  if (type == "PersistentVolumeClaim" && item.Find("min", "storage") == nullptr &&
      item.Find("max", "storage") == nullptr) {
    errors.push_back(api::Required(item.path.Child("limits"),
                                   "either minimum or maximum storage value is required, but "
                                   "neither was provided"));
  }
  for (const std::string_view name : names) {
    CheckNotGreater(item, name, "min", "min", "max", "max", "min", errors);
    CheckNotGreater(item, name, "min", "min", "defaultRequest", "default request", "defaultRequest",
                    errors);
    CheckNotGreater(item, name, "defaultRequest", "default request", "max", "max", "defaultRequest",
                    errors);
    CheckNotGreater(item, name, "defaultRequest", "default request", "default", "default limit",
                    "defaultRequest", errors);
    CheckNotGreater(item, name, "min", "min", "default", "default", "default", errors);
    CheckNotGreater(item, name, "default", "default", "max", "max", "default", errors);
    CheckRatio(item, name, errors);
  }
}

}  // namespace

void ValidateLimitRange(const Context&, json::Value object, FieldErrors& errors) {
  const FieldPath limits("spec", "limits");
  std::set<std::string_view> types;
  std::size_t index = 0;
  for (const json::Value& limit : object["spec"]["limits"].elements()) {
    const LimitItem item{limit, limits.Index(index++)};
    const std::string_view type = limit["type"].AsString();
    const FieldPath type_path = item.path.Child("type");
    const auto texts = api::IsQualifiedName(type);
    AddInvalid(type_path, type, texts, errors);
    if (texts.empty() && type.find('/') == std::string_view::npos && type != "Pod" &&
        type != "Container" && type != "PersistentVolumeClaim") {
      errors.push_back(
          api::Invalid(type_path, type, "must be a standard limit type or fully qualified"));
    }
    if (!types.insert(type).second) errors.push_back(api::Duplicate(type_path, type));
    CheckLimitItem(item, errors);
  }
}

namespace {

void CheckQuotaList(json::Value list, const FieldPath& path, FieldErrors& errors) {
  for (const json::Member* member : SortedMembers(list)) {
    const FieldPath at = path.Key(member->name());
    CheckResourceName(member->name(), at, errors);
    const Quantity quantity = QuantityOf(member->value);
    if (quantity.Sign() < 0) {
      errors.push_back(api::Invalid(at, quantity.ToString(), "must be greater than or equal to 0"));
    }
    const bool whole =
        member->name().starts_with("count/") || member->name() == "pods" ||
        member->name() == "services" || member->name() == "secrets" ||
        member->name() == "configmaps" || member->name() == "replicationcontrollers" ||
        member->name() == "resourcequotas" || member->name() == "persistentvolumeclaims" ||
        member->name() == "services.nodeports" || member->name() == "services.loadbalancers";
    if (whole && !quantity.IsInteger()) {
      errors.push_back(api::Invalid(at, quantity.ToString(), "must be an integer"));
    }
  }
}

constexpr std::array<std::string_view, 7> kScopes = {
    "BestEffort",  "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass",
    "Terminating", "VolumeAttributesClass"};

}  // namespace

void ValidateResourceQuota(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  CheckQuotaList(spec["hard"], FieldPath("spec", "hard"), errors);
  std::set<std::string_view> scopes;
  const FieldPath path("spec", "scopes");
  for (const json::Value& scope : spec["scopes"].elements()) {
    if (std::find(kScopes.begin(), kScopes.end(), scope.AsString()) == kScopes.end()) {
      errors.push_back(api::Invalid(path, spec["scopes"], "unsupported scope"));
    }
    scopes.insert(scope.AsString());
  }
  for (const auto& [one, other] :
       {std::pair<std::string_view, std::string_view>{"BestEffort", "NotBestEffort"},
        std::pair<std::string_view, std::string_view>{"Terminating", "NotTerminating"}}) {
    if (scopes.contains(one) && scopes.contains(other)) {
      errors.push_back(api::Invalid(path, spec["scopes"], "conflicting scopes"));
    }
  }
}

void ValidateResourceQuotaUpdate(const Context& ctx, json::Value object, json::Value old,
                                 FieldErrors& errors) {
  if (ctx.subresource == "status") {
    CheckQuotaList(object["status"]["hard"], FieldPath("status", "hard"), errors);
    CheckQuotaList(object["status"]["used"], FieldPath("status", "used"), errors);
    return;
  }
  ValidateResourceQuota(ctx, object, errors);
  const auto set_of = [](json::Value scopes) {
    std::set<std::string_view> out;
    for (const json::Value& scope : scopes.elements()) out.insert(scope.AsString());
    return out;
  };
  if (set_of(object["spec"]["scopes"]) != set_of(old["spec"]["scopes"])) {
    errors.push_back(
        api::Invalid(FieldPath("spec", "scopes"), object["spec"]["scopes"], "field is immutable"));
  }
}

}  // namespace portcullis::registry
