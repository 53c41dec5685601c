// SPDX-License-Identifier: Apache-2.0

#include "registry/flow_control/flow_status.h"

#include <set>

#include "base/strings.h"
#include "json/edit.h"
#include "json/reader.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/semantic_equality.h"

namespace portcullis::registry {
namespace {

struct Mandatory {
  std::string_view kind;
  std::string_view name;
  std::string_view spec;
  std::string_view free_field;  // of the spec; what it says does not matter
  std::string_view text;
};

#define PORTCULLIS_ALL_REQUESTS                                                                 \
  R"("resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,)" \
  R"("namespaces":["*"]}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]})"

constexpr std::string_view kFixed = "must equal the fixed value";
constexpr Mandatory kMandatory[] = {
    {"FlowSchema", "exempt",
     R"({"priorityLevelConfiguration":{"name":"exempt"},"matchingPrecedence":1,"rules":[{"subjects":)"
     R"([{"kind":"Group","group":{"name":"system:masters"}}],)" PORTCULLIS_ALL_REQUESTS,
     "", kFixed},
    {"FlowSchema", "catch-all",
     R"({"priorityLevelConfiguration":{"name":"catch-all"},"matchingPrecedence":10000,)"
     R"("distinguisherMethod":{"type":"ByUser"},"rules":[{"subjects":[{"kind":"Group","group":)"
     R"({"name":"system:unauthenticated"}},{"kind":"Group","group":)"
     R"({"name":"system:authenticated"}}],)" PORTCULLIS_ALL_REQUESTS,
     "", kFixed},
    {"PriorityLevelConfiguration", "exempt", R"({"type":"Exempt"})", "exempt",
     "except the 'spec.exempt' field must equal the fixed value"},
    {"PriorityLevelConfiguration", "catch-all",
     R"({"type":"Limited","limited":{"nominalConcurrencyShares":5,"limitResponse":{"type":"Reject"},)"
     R"("lendablePercent":0}})",
     "", kFixed},
};
#undef PORTCULLIS_ALL_REQUESTS

}  // namespace

void CheckMandatory(const Context& ctx, std::string_view kind, json::Value object,
                    FieldErrors& errors) {
  const std::string_view name = object["metadata"]["name"].AsString();
  for (const Mandatory& one : kMandatory) {
    if (one.kind != kind || one.name != name) continue;
    const json::Value spec = object["spec"];
    const json::Value fixed = json::Parse(ctx.arena, one.spec).value();
    if (SemanticallyEqual(json::Without(ctx.arena, spec, one.free_field), fixed)) return;
    const std::string type = base::StrCat("io.k8s.api.flowcontrol.v1.", kind, "Spec");
    errors.push_back(api::Invalid(FieldPath("spec"), GoValue(ctx, type, spec, ctx.sent["spec"]),
                                  base::StrCat("spec of '", name, "' ", one.text)));
  }
}

void CheckFlowConditions(json::Value conditions, FieldErrors& errors) {
  std::set<std::string_view> types;
  std::size_t index = 0;
  for (const json::Value& condition : conditions.elements()) {
    const FieldPath at = FieldPath("status", "conditions").Index(index++).Child("type");
    const std::string_view type = condition["type"].AsString();
    if (!types.insert(type).second) errors.push_back(api::Duplicate(at, type));
    if (type.empty()) errors.push_back(api::Required(at, ""));
  }
}

}  // namespace portcullis::registry
