// SPDX-License-Identifier: Apache-2.0

#include "registry/flow_control/flow_status.h"

#include <set>

#include "base/strings.h"
#include "flow_control/bootstrap.h"
#include "json/edit.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/semantic_equality.h"

namespace portcullis::registry {

void CheckMandatory(const Context& ctx, std::string_view kind, json::Value object,
                    FieldErrors& errors) {
  const std::string_view name = object["metadata"]["name"].AsString();
  for (const flow_control::BootstrapObject& one : flow_control::BootstrapObjects(ctx.arena)) {
    if (!one.mandatory || one.object["kind"].AsString() != kind ||
        one.object["metadata"]["name"].AsString() != name) {
      continue;
    }
    // What it says of "exempt" is the operator's.
    const bool exempt = one.object["spec"].Has("exempt");
    const auto fixed_part = [&](json::Value spec) {
      return exempt ? json::Without(ctx.arena, spec, "exempt") : spec;
    };
    const json::Value spec = object["spec"];
    if (SemanticallyEqual(fixed_part(spec), fixed_part(one.object["spec"]))) return;
    const std::string type = base::StrCat("io.k8s.api.flowcontrol.v1.", kind, "Spec");
    errors.push_back(api::Invalid(
        FieldPath("spec"), GoValue(ctx, type, spec, ctx.sent["spec"]),
        base::StrCat("spec of '", name, "' ",
                     exempt ? "except the 'spec.exempt' field must equal the fixed value"
                            : "must equal the fixed value")));
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
