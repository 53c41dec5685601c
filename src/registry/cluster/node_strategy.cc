// SPDX-License-Identifier: Apache-2.0

// Nodes (pkg/apis/core/validation).

#include <set>
#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "golang/netip.h"
#include "json/sorted.h"
#include "registry/kind_table.h"
#include "registry/pods/pod_parts.h"
#include "registry/validation/addresses.h"
#include "registry/validation/resource_names.h"

namespace portcullis::registry {
namespace {

void CheckNodeResources(json::Value status, FieldErrors& errors) {
  for (const std::string_view field : {"capacity", "allocatable"}) {
    for (const json::Member* amount : json::MembersByName(status[field])) {
      CheckAmountOfResource(amount->name(), QuantityOf(amount->value),
                            FieldPath("status", field, amount->name()), errors);
    }
  }
}

// The path is that of the metadata in Kubernetes, too.
void CheckSwap(json::Value status, FieldErrors& errors) {
  const json::Value capacity = status["nodeInfo"]["swap"]["capacity"];
  if (capacity.is_null() || capacity.AsInt() > 0) return;
  errors.push_back(api::Invalid(FieldPath("metadata", "nodeSwapStatus", "capacity"),
                                capacity.AsInt(), "must be greater than zero"));
}

// Segments of letters and digits that begin with a letter, the first one with a capital.
bool IsFeatureName(std::string_view name) {
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto letter = [&](char c) { return upper(c) || (c >= 'a' && c <= 'z'); };
  bool begins = true;
  for (const char c : name) {
    if (begins ? !letter(c) : !letter(c) && c != '/' && !(c >= '0' && c <= '9')) return false;
    begins = c == '/';
  }
  return !begins && upper(name[0]);
}

void CheckDeclaredFeatures(json::Value status, FieldErrors& errors) {
  constexpr std::size_t kLongest = 253;
  const auto features = status["declaredFeatures"].elements();
  const FieldPath path("status", "declaredFeatures");
  for (std::size_t i = 0; i < features.size(); ++i) {
    const std::string_view name = features[i].AsString();
    std::string_view fault;
    if (name.size() > kLongest) {
      fault = "must be no more than 253 characters";
    } else if (!IsFeatureName(name)) {
      fault =
          "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
          "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters "
          "and slashes";
    }
    if (!fault.empty()) {
      errors.push_back(
          api::Invalid(path.Index(i), name,
                       base::StrCat("invalid feature name ", base::GoQuote(name), ": ", fault)));
    }
    if (i + 1 == features.size()) break;
    const std::string_view next = features[i + 1].AsString();
    if (name == next) {
      errors.push_back(api::Duplicate(path.Index(i + 1), next));
    } else if (name > next) {
      errors.push_back(api::Invalid(path.Index(i + 1), next, "list must be sorted alphabetically"));
    }
  }
}

void CheckPodCidrs(const Context& ctx, json::Value cidrs, const FieldPath& path,
                   FieldErrors& errors) {
  bool has_v4 = false;
  bool has_v6 = false;
  std::string unreadable;
  for (std::size_t i = 0; i < cidrs.size(); ++i) {
    const std::string_view text = cidrs[i].AsString();
    CheckCidr(ctx, text, path.Index(i), errors);
    const auto network = golang::ParsePrefixSloppy(text);
    if (network) {
      (network->address.Unmap().is_v6 ? has_v6 : has_v4) = true;
    } else if (unreadable.empty()) {
      unreadable = base::StrCat("invalid CIDR[", std::to_string(i),
                                "]: <nil> (invalid CIDR address: ", text, ")");
    }
  }
  if (cidrs.size() < 2) return;
  if (!unreadable.empty()) {
    errors.push_back(
        {.type = api::FieldErrorType::kInternal,
         .field = path.ToString(),
         .detail = base::StrCat("invalid PodCIDRs. failed to check with dual stack with error:",
                                unreadable)});
  }
  if (!unreadable.empty() || !has_v4 || !has_v6 || cidrs.size() > 2) {
    errors.push_back(
        api::Invalid(path, cidrs, "may specify no more than one CIDR for each IP family"));
  }
}

void ValidateNode(const Context& ctx, json::Value object, FieldErrors& errors) {
  CheckTaints(object["spec"]["taints"], FieldPath("metadata", "taints"), errors);
  CheckNodeResources(object["status"], errors);
  CheckSwap(object["status"], errors);
  CheckDeclaredFeatures(object["status"], errors);
  CheckPodCidrs(ctx, object["spec"]["podCIDRs"], FieldPath("spec", "podCIDRs"), errors);
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

void ValidateNodeUpdate(const Context&, json::Value object, json::Value old, FieldErrors& errors) {
  CheckNodeResources(object["status"], errors);
  CheckDeclaredFeatures(object["status"], errors);
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

constexpr DisabledField kDisabledOfNodes[] = {{"DynamicKubeletConfig", "spec.configSource"},
                                              {"NodeDeclaredFeatures", "status.declaredFeatures"},
                                              {"SupplementalGroupsPolicy", "status.features"}};

// Nodes make themselves known with their status.
class Nodes final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    const json::Value status = WithoutDisabled(ctx, object, {})["status"];
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    if (!status.is_object()) return object;
    return json::With(ctx.arena, object, "status", json::Without(ctx.arena, status, "config"));
  }

  // A write of the status keeps the fields of gates that are off.
  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    object = ctx.subresource == "status" ? OnlyStatus(ctx.arena, object, old)
                                         : DefaultStrategy::PrepareForUpdate(ctx, object, old);
    if (!object["status"].Has("config") || old["status"].Has("config")) return object;
    return json::RemovePath(ctx.arena, object, {"status", "config"});
  }
};

}  // namespace

void AddNodeStrategy(KindTable& table) {
  table.Add({.group = "",
             .resource = "nodes",
             .validate = &ValidateNode,
             .validate_between = &AsNew<&ValidateNode>,
             .validate_update = &ValidateNodeUpdate,
             .warn = &WarnOfNode,
             .metadata = {.update = "FU"},
             .disabled = kDisabledOfNodes,
             .make = &Make<Nodes>});
}

}  // namespace portcullis::registry
