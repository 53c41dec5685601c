// SPDX-License-Identifier: Apache-2.0

#include "engine/definitions/custom_resource_conditions.h"

#include <string>
#include <vector>

#include "api/condition.h"
#include "api/domain.h"
#include "api/field_error.h"
#include "authn/aggregate.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "registry/custom_resources/definition_parts.h"
#include "registry/custom_resources/structural_schema.h"

namespace portcullis::engine {
namespace {

using json::Value;

constexpr std::string_view kApproval = "api-approved.kubernetes.io";

// Validation has seen to it that a definition of a protected group says something.
Value WithApproval(json::Arena& arena, Value definition, std::string_view now) {
  if (!api::IsInDomainOfKubernetes(definition["spec"]["group"].AsString())) return definition;
  constexpr std::string_view kType = "KubernetesAPIApprovalPolicyConformant";
  const std::string_view text = definition["metadata"]["annotations"][kApproval].AsString();
  const std::string message = text.starts_with("unapproved")
                                  ? base::StrCat("not approved: ", base::GoQuote(text))
                                  : base::StrCat("approved in ", text);
  const bool approved = !text.starts_with("unapproved");
  return WithCondition(
      arena, definition,
      {kType, approved, approved ? "ApprovedAnnotation" : "UnapprovedAnnotation", message}, now);
}

constexpr std::string_view kNonStructural = "NonStructuralSchema";

bool IsNonStructural(Value condition) { return condition["type"].AsString() == kNonStructural; }

// What older releases have let into etcd. Only definitions that preserve unknown fields may have schemas
// that are not structural.
Value WithStructure(json::Arena& arena, Value definition, std::string_view now) {
  const Value spec = definition["spec"];
  if (spec["preserveUnknownFields"].AsBool()) {
    api::FieldErrors errors = {
        api::Invalid(api::FieldPath("spec", "preserveUnknownFields"), true, "must be false")};
    std::size_t index = 0;
    for (const Value& version : spec["versions"].elements()) {
      const api::FieldPath path = api::FieldPath("spec", "versions").Index(index++);
      const Value schema = version["schema"]["openAPIV3Schema"];
      if (!schema.is_object()) continue;
      registry::ValidateStructuralSchema(schema, path.Child("schema", "openAPIV3Schema"), errors);
    }
    std::vector<std::string> texts;
    for (const api::FieldError& error : errors) texts.push_back(error.ToString());
    const std::string message = authn::Aggregate(texts);
    return WithCondition(arena, definition, {kNonStructural, true, "Violations", message}, now);
  }
  const Value conditions = definition["status"]["conditions"];
  std::vector<Value> kept;
  for (const Value& condition : conditions.elements()) {
    if (!IsNonStructural(condition)) kept.push_back(condition);
  }
  if (kept.size() == conditions.size()) return definition;
  return json::SetPath(arena, definition, {"status", "conditions"}, json::MakeArray(arena, kept));
}

}  // namespace

Value WithCondition(json::Arena& arena, Value definition, const DefinitionCondition& condition,
                    std::string_view now) {
  const auto make = [&](Value time) {
    return json::ObjectBuilder(arena)
        .Set("type", condition.type)
        .Set("status", condition.status ? "True" : "False")
        .Set("lastTransitionTime", time)
        .Set("reason", condition.reason)
        .Set("message", condition.message)
        .Build();
  };
  json::ArrayBuilder out(arena);
  bool placed = false;
  for (const Value& old : definition["status"]["conditions"].elements()) {
    if (old["type"].AsString() != condition.type) {
      out.Add(old);
      continue;
    }
    placed = true;
    const bool same = (old["status"].AsString() == "True") == condition.status;
    const Value time = same ? old["lastTransitionTime"] : json::String(arena, now);
    const Value made = make(time);
    out.Add(old["reason"] == made["reason"] && old["message"] == made["message"] && same ? old
                                                                                         : made);
  }
  if (!placed) out.Add(make(json::String(arena, now)));
  return json::SetPath(arena, definition, {"status", "conditions"}, out.Build());
}

Value WithVerdict(json::Arena& arena, Value definition, const NamesVerdict& verdict,
                  std::string_view now) {
  Value out = WithCondition(arena, definition,
                            {"NamesAccepted", verdict.all, verdict.reason, verdict.message}, now);
  const std::string_view bundle =
      definition["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].AsString();
  const bool bad_bundle = !bundle.empty() && !registry::IsCaBundle(bundle);
  if (!api::HasTrueCondition(definition, "Established")) {
    DefinitionCondition established{"Established", true, "InitialNamesAccepted",
                                    "the initial names have been accepted"};
    if (!verdict.all) {
      established = {"Established", false, "NotAccepted", "not all names are accepted"};
    } else if (bad_bundle) {
      established = {"Established", false, "InvalidCABundle",
                     "The conversion webhook CABundle is invalid"};
    }
    out = WithCondition(arena, out, established, now);
  }
  out = WithStructure(arena, WithApproval(arena, out, now), now);
  const Value names = WriteNames(arena, verdict.accepted);
  if (out["status"]["acceptedNames"] == names) return out;
  return json::SetPath(arena, out, {"status", "acceptedNames"}, names);
}

}  // namespace portcullis::engine
