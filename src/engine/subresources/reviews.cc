// SPDX-License-Identifier: Apache-2.0

// Questions put as objects: TokenReview and the access reviews.
// Nothing is stored (Kubernetes docs: Authorization, "Checking API access").

#include <algorithm>

#include "api/schema/order.h"
#include "authn/authenticator.h"
#include "authn/service_account.h"
#include "authz/authorizer.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/subresources/review_checks.h"
#include "engine/subresources/subresources.h"
#include "engine/write/admit.h"
#include "engine/write/system_fields.h"
#include "engine/write/write.h"
#include "store/store.h"

namespace portcullis::engine {
namespace {

json::Value Strings(json::Arena& arena, const std::vector<std::string>& list) {
  json::ArrayBuilder array(arena);
  for (const std::string& text : list) array.Add(text);
  return array.Build();
}

// What went wrong: with the decision itself, and with the selectors that it was to look at.
std::string EvaluationError(const authz::Decision& decision, const authz::Selectors& selectors) {
  std::vector<std::string> errors;
  if (!decision.error.empty()) errors.push_back(decision.error);
  const auto add = [&errors](std::string_view field, bool partly) {
    errors.push_back(base::StrCat("spec.resourceAttributes.", field, partly ? " partially" : "",
                                  " ignored due to parse error"));
  };
  if (selectors.fields_failed) add("fieldSelector", !selectors.fields.empty());
  if (selectors.labels_failed) add("labelSelector", !selectors.labels.empty());
  return base::Join(errors, "; ");
}

// The status of an access review: what the authorizer says of `user` and the attributes of `spec`.
base::Result<json::Value> ReviewAccess(Operation& op, json::Value spec, const api::UserInfo& user) {
  const json::Value resource = spec["resourceAttributes"];
  const json::Value path = spec["nonResourceAttributes"];
  const authz::Selectors selectors = authz::ReadSelectors(resource);
  authz::Attributes attributes;
  attributes.user = &user;
  if (!resource.is_null()) {
    const std::string_view version = resource["version"].AsString();
    attributes.verb = resource["verb"].AsString();
    attributes.group = resource["group"].AsString();
    attributes.version = version.empty() ? "*" : version;
    attributes.resource = resource["resource"].AsString();
    attributes.subresource = resource["subresource"].AsString();
    attributes.ns = resource["namespace"].AsString();
    attributes.name = resource["name"].AsString();
    if (!selectors.empty()) attributes.selectors = &selectors;
  } else {
    attributes.resource_request = false;
    attributes.path = path["path"].AsString();
    attributes.verb = path["verb"].AsString();
  }
  const authz::Decision decision = op.world.authorizer->Authorize(attributes);
  const std::string error = EvaluationError(decision, selectors);
  json::ObjectBuilder status(op.arena);
  status.Set("allowed", decision.allowed());
  if (decision.verdict == authz::Verdict::kDenied) status.Set("denied", true);
  if (!decision.reason.empty()) status.Set("reason", decision.reason);
  if (!error.empty()) status.Set("evaluationError", error);
  return status.Build();
}

api::UserInfo UserOfSpec(json::Value spec) {
  api::UserInfo user;
  user.name = std::string(spec["user"].AsString());
  user.uid = std::string(spec["uid"].AsString());
  for (const json::Value& group : spec["groups"].elements()) {
    user.groups.emplace_back(group.AsString());
  }
  for (const json::Member& extra : spec["extra"].members()) {
    auto& values = user.extra[std::string(extra.name())];
    for (const json::Value& value : extra.value.elements()) values.emplace_back(value.AsString());
  }
  return user;
}

json::Value RulesStatus(Operation& op, json::Value spec) {
  json::Arena& arena = op.arena;
  const authz::Rules rules = op.world.authorizer->RulesFor(op.user, spec["namespace"].AsString());
  json::ArrayBuilder resources(arena);
  for (const authz::ResourceRule& rule : rules.resource_rules) {
    json::ObjectBuilder entry(arena);
    entry.Set("verbs", Strings(arena, rule.verbs));
    if (!rule.api_groups.empty()) entry.Set("apiGroups", Strings(arena, rule.api_groups));
    if (!rule.resources.empty()) entry.Set("resources", Strings(arena, rule.resources));
    if (!rule.resource_names.empty()) {
      entry.Set("resourceNames", Strings(arena, rule.resource_names));
    }
    resources.Add(entry.Build());
  }
  json::ArrayBuilder paths(arena);
  for (const authz::NonResourceRule& rule : rules.non_resource_rules) {
    json::ObjectBuilder entry(arena);
    entry.Set("verbs", Strings(arena, rule.verbs));
    if (!rule.urls.empty()) entry.Set("nonResourceURLs", Strings(arena, rule.urls));
    paths.Add(entry.Build());
  }
  json::ObjectBuilder status(arena);
  status.Set("resourceRules", resources.Build());
  status.Set("nonResourceRules", paths.Build());
  status.Set("incomplete", rules.incomplete);
  if (!rules.error.empty()) status.Set("evaluationError", rules.error);
  return status.Build();
}

// What the client has put into the status stays where the answer has nothing to say.
base::Result<json::Value> ReviewToken(Operation& op, json::Value spec, json::Value given) {
  std::vector<std::string> audiences;
  for (const json::Value& audience : spec["audiences"].elements()) {
    audiences.emplace_back(audience.AsString());
  }
  if (audiences.empty()) audiences = ApiAudiences(op);
  json::ObjectBuilder status(op.arena, given);
  status.Remove("authenticated");
  json::Value user = given["user"];
  if (!user.is_object()) user = json::MakeObject(op.arena, {});
  if (op.world.tokens != nullptr) {
    const auto identity =
        op.world.tokens->AuthenticateToken(spec["token"].AsString(), audiences, op.deadline);
    if (!identity.ok()) {
      status.Set("error", identity.status().message());
    } else if (*identity) {
      status.Set("authenticated", true);
      for (const std::string& warning : (*identity)->notes.warnings) op.recorder.Warn(warning);
      for (const auto& [key, value] : (*identity)->notes.audit_annotations) {
        (void)op.recorder.Annotate(key, value, admission::AuditLevel::kMetadata);
      }
      user = api::UserInfoToJson(op.arena, (*identity)->user);
      status.Remove("audiences");
      if (!(*identity)->audiences.empty()) {
        status.Set("audiences", Strings(op.arena, (*identity)->audiences));
      }
    }
  }
  status.Set("user", user);
  return status.Build();
}

base::Result<json::Value> StatusOf(Operation& op, json::Value object) {
  const std::string& resource = op.resource->resource.resource;
  const json::Value spec = object["spec"];
  if (resource == "tokenreviews") return ReviewToken(op, spec, object["status"]);
  if (resource == "selfsubjectrulesreviews") return RulesStatus(op, spec);
  if (resource == "selfsubjectaccessreviews") {
    return ReviewAccess(op, spec, op.user);
  }
  if (resource == "selfsubjectreviews") {
    return json::MakeObject(op.arena, {{"userInfo", api::UserInfoToJson(op.arena, op.user)}});
  }
  const api::UserInfo user = UserOfSpec(spec);
  return ReviewAccess(op, spec, user);
}

// What comes back besides the status: the question, but not of the reviews that ask for nothing but
// oneself.
json::Value Answer(Operation& op, json::Value object) {
  const std::string& resource = op.resource->resource.resource;
  json::ObjectBuilder metadata(op.arena);
  if (resource == "selfsubjectreviews") {
    metadata.Set("creationTimestamp", std::string_view(base::FormatTime(op.world.clock->Now())));
  } else if (resource != "selfsubjectrulesreviews") {
    return object;
  }
  if (object.Has("spec")) {
    object = json::With(op.arena, object, "spec", json::MakeObject(op.arena, {}));
  }
  return json::With(op.arena, object, "metadata", metadata.Build());
}

}  // namespace

base::Result<Outcome> CreateReview(Operation& op, const Input& input) {
  const WriteOptions& options = input.options;
  json::Value object = TRY(DecodeInput(op, input));
  object = TRY(PrepareMetadata(op, object));
  object = DeduplicateOwners(op, object, When::kBeforeAdmission);
  object = TrackFields(op, {}, object, options.field_manager);
  const std::string name(object["metadata"]["name"].AsString());
  object = TRY(RunMutating(op, {.operation = admission::kCreate,
                                .name = name,
                                .object = object,
                                .options = options.as_create}));
  object = DeduplicateOwners(op, object, When::kAfterAdmission);
  TRY(CheckReview(op, object));
  TRY(RunValidating(op, {.operation = admission::kCreate,
                         .name = name,
                         .object = object,
                         .options = options.as_create}));
  const json::Value status = TRY(StatusOf(op, object));
  object = Answer(op, object);
  object = json::With(op.arena, object, "status", status);
  if (op.resource->schema != nullptr) {
    object = api::schema::InGoOrder(op.arena, *op.resource->schema, object);
  }
  return PlainOutcome(201, Ordered(op.arena, object));
}

}  // namespace portcullis::engine
