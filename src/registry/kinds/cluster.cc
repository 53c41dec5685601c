// Nodes, priority classes and runtime classes.

#include <set>
#include <tuple>
#include <utility>

#include "api/api_status.h"
#include "base/strings.h"
#include "registry/kind_table.h"
#include "registry/pod_warnings.h"
#include "registry/validation/addresses.h"
#include "registry/validation/pod_parts.h"
#include "registry/validation/resource_names.h"

namespace portcullis::registry {
namespace {

constexpr FieldRule kPriorityClassRules[] = {
    {"value", FieldRuleKind::kFrozen, "may not be changed in an update."},
    {"preemptionPolicy", FieldRuleKind::kImmutable},
};

constexpr FieldRule kRuntimeClassRules[] = {
    {"handler", FieldRuleKind::kRequired},
    {"handler", FieldRuleKind::kDnsLabel},
    {"handler", FieldRuleKind::kImmutable},
};

constexpr std::int64_t kHighestUserPriority = 1000000000;

struct SystemPriority {
  std::string_view name;
  std::int64_t value;
};
constexpr SystemPriority kSystemPriorities[] = {{"system-node-critical", 2000001000},
                                                {"system-cluster-critical", 2000000000}};

// What two tolerations may not have in common.
using TolerationKey =
    std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;

TolerationKey KeyOf(json::Value toleration) {
  return {toleration["key"].AsString(), toleration["operator"].AsString(),
          toleration["value"].AsString(), toleration["effect"].AsString()};
}

// As Go prints the internal type.
std::string TolerationJson(json::Value toleration) {
  return StructJson({{"Key", Quoted(toleration["key"].AsString())},
                     {"Operator", Quoted(toleration["operator"].AsString())},
                     {"Value", Quoted(toleration["value"].AsString())},
                     {"Effect", Quoted(toleration["effect"].AsString())},
                     {"TolerationSeconds", Json(toleration["tolerationSeconds"])}});
}

void ValidatePriorityClass(const Context&, json::Value object, FieldErrors& errors) {
  const std::string_view name = object["metadata"]["name"].AsString();
  const std::int64_t value = object["value"].AsInt();
  if (name.starts_with("system-")) {
    bool known = false;
    for (const SystemPriority& system : kSystemPriorities) {
      known |= system.name == name && system.value == value;
    }
    if (!known) {
      errors.push_back(api::Forbidden(
          FieldPath("metadata", "name"),
          base::StrCat("priority class names with 'system-' prefix are reserved for system use "
                       "only. error: ",
                       name, " is not a known system priority class")));
    }
  } else if (value > kHighestUserPriority) {
    errors.push_back(api::Forbidden(
        FieldPath("value"), base::StrCat("maximum allowed value of a user defined priority is ",
                                         std::to_string(kHighestUserPriority))));
  }
  if (const json::Value policy = object["preemptionPolicy"]; !policy.is_null()) {
    CheckOneOf(policy, FieldPath("preemptionPolicy"), {"PreemptLowerPriority", "Never"}, errors);
  }
}

void ValidateRuntimeClass(const Context&, json::Value object, FieldErrors& errors) {
  for (const json::Member* amount : SortedMembers(object["overhead"]["podFixed"])) {
    const FieldPath at = FieldPath("overhead", "limits").Key(amount->name());
    CheckNameOfContainerResource(amount->name(), at, errors);
    CheckAmountOfResource(amount->name(), QuantityOf(amount->value), at, errors);
  }
  const json::Value scheduling = object["scheduling"];
  const FieldPath path("scheduling");
  CheckLabels(scheduling["nodeSelector"], path.Child("nodeSelector"), errors);
  const json::Value tolerations = scheduling["tolerations"];
  CheckTolerations(tolerations, path.Child("tolerations"), errors);
  std::set<TolerationKey> seen;
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    if (seen.insert(KeyOf(tolerations[i])).second) continue;
    errors.push_back(api::Duplicate(path.Child("tolerations").Index(i),
                                    api::BadValue::Raw(TolerationJson(tolerations[i]))));
  }
}

void CheckNodeResources(json::Value status, FieldErrors& errors) {
  for (const std::string_view field : {"capacity", "allocatable"}) {
    for (const json::Member* amount : SortedMembers(status[field])) {
      CheckAmountOfResource(amount->name(), QuantityOf(amount->value),
                            FieldPath("status", field, amount->name()), errors);
    }
  }
}

void CheckPodCidrs(json::Value cidrs, const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  bool has_v4 = false;
  bool has_v6 = false;
  for (const json::Value& cidr : cidrs.elements()) {
    CheckCidr(cidr.AsString(), path.Index(index++), errors);
    (cidr.AsString().find(':') != std::string_view::npos ? has_v6 : has_v4) = true;
  }
  if (cidrs.size() < 2) return;
  if (!has_v4 || !has_v6 || cidrs.size() > 2) {
    errors.push_back(
        api::Invalid(path, cidrs, "may specify no more than one CIDR for each IP family"));
  }
  std::set<std::string_view> seen;
  index = 0;
  for (const json::Value& cidr : cidrs.elements()) {
    const FieldPath at = path.Index(index++);
    if (!seen.insert(cidr.AsString()).second) {
      errors.push_back(api::Duplicate(at, cidr.AsString()));
    }
  }
}

void ValidateNode(const Context&, json::Value object, FieldErrors& errors) {
  CheckTaints(object["spec"]["taints"], FieldPath("metadata", "taints"), errors);
  CheckNodeResources(object["status"], errors);
  CheckPodCidrs(object["spec"]["podCIDRs"], FieldPath("spec", "podCIDRs"), errors);
}

void CheckNodeAddresses(json::Value addresses, FieldErrors& errors) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  std::size_t index = 0;
  for (const json::Value& address : addresses.elements()) {
    const FieldPath at = FieldPath("status", "addresses").Index(index++);
    const std::string_view type = address["type"].AsString();
    const std::string_view text = address["address"].AsString();
    if (seen.emplace(type, text).second) continue;
    errors.push_back(api::Duplicate(
        at, api::BadValue::Raw(StructJson({{"Type", Quoted(type)}, {"Address", Quoted(text)}}))));
  }
}

void ValidateNodeUpdate(const Context& ctx, json::Value object, json::Value old,
                        FieldErrors& errors) {
  // An update of the node itself is judged like a new node as well.
  if (ctx.subresource.empty()) ValidateNode(ctx, object, errors);
  CheckNodeResources(object["status"], errors);
  CheckNodeAddresses(object["status"]["addresses"], errors);
  const json::Value spec = object["spec"];
  const json::Value before = old["spec"];
  const FieldPath path("spec");
  if (!before["podCIDRs"].empty() && !(before["podCIDRs"] == spec["podCIDRs"])) {
    errors.push_back(api::Forbidden(
        path.Child("podCIDRs"), "node updates may not change podCIDR except from \"\" to valid"));
  }
  if (!before["providerID"].AsString().empty() && !(before["providerID"] == spec["providerID"])) {
    errors.push_back(
        api::Forbidden(path.Child("providerID"),
                       "node updates may not change providerID except from \"\" to valid"));
  }
  CheckTaints(spec["taints"], FieldPath("metadata", "taints"), errors);
  if (spec["externalID"].AsString() != before["externalID"].AsString()) {
    errors.push_back(api::Forbidden(path.Child("externalID"), "may not be updated"));
  }
}

// The two classes of the system cannot be deleted.
class PriorityClasses final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  base::Status CheckDelete(const Context& ctx) const override {
    if (ctx.name != "system-node-critical" && ctx.name != "system-cluster-critical") {
      return base::OkStatus();
    }
    return api::ForbiddenStatus(ctx.resource.group_resource(), ctx.name,
                                "this is a system priority class and cannot be deleted");
  }
};

void WarnOfRuntimeClass(const Context&, json::Value object, json::Value,
                        std::vector<std::string>& warnings) {
  for (const json::Member* label : SortedMembers(object["scheduling"]["nodeSelector"])) {
    const std::string text = DeprecatedNodeLabel(label->name());
    if (!text.empty()) warnings.push_back(base::StrCat("scheduling.nodeSelector: ", text));
  }
}

void WarnOfNode(const Context&, json::Value object, json::Value,
                std::vector<std::string>& warnings) {
  const json::Value spec = object["spec"];
  if (!spec["configSource"].is_null()) {
    warnings.emplace_back("spec.configSource: the feature is removed");
  }
  if (!spec["externalID"].AsString().empty()) {
    warnings.emplace_back("spec.externalID: this field is deprecated, and is unused by Kubernetes");
  }
  std::size_t index = 0;
  for (const json::Value& cidr : spec["podCIDRs"].elements()) {
    WarnOfCidr(cidr.AsString(), FieldPath("spec", "podCIDRs").Index(index++), warnings);
  }
}

// Nodes make themselves known with their status.
class Nodes final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    const json::Value status = object["status"];
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    if (!status.is_object()) return object;
    return json::With(ctx.arena, object, "status", json::Without(ctx.arena, status, "config"));
  }
};

constexpr DisabledField kDisabledOfNodes[] = {{"DynamicKubeletConfig", "spec.configSource"}};

}  // namespace

void AddCluster(KindTable& table) {
  table.Add({.group = "",
             .resource = "nodes",
             .validate = &ValidateNode,
             .validate_update = &ValidateNodeUpdate,
             .warn = &WarnOfNode,
             .disabled = kDisabledOfNodes,
             .make = &Make<Nodes>});
  table.Add({.group = "node.k8s.io",
             .resource = "runtimeclasses",
             .validate = &ValidateRuntimeClass,
             .rules = kRuntimeClassRules,
             .warn = &WarnOfRuntimeClass,
             .traits = {.created_by_put = true, .needs_version = true}});
  table.Add({.group = "scheduling.k8s.io",
             .resource = "priorityclasses",
             .validate = &ValidatePriorityClass,
             .rules = kPriorityClassRules,
             .traits = {.counts_generation = true},
             .make = &Make<PriorityClasses>});
}

}  // namespace portcullis::registry
