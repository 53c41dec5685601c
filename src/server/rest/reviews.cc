// Questions put as objects: TokenReview, the access reviews, and TokenRequest of service accounts.
// Nothing is stored (Kubernetes docs: Authorization, "Checking API access").

#include <algorithm>

#include "api/api_status.h"
#include "authn/authenticator.h"
#include "authn/service_account.h"
#include "authz/authorizer.h"
#include "base/strings.h"
#include "server/codec.h"
#include "server/options.h"
#include "server/reply.h"
#include "server/rest/admit.h"
#include "server/rest/system_fields.h"
#include "server/rest/verbs.h"
#include "server/rest/write.h"
#include "store/store.h"

namespace portcullis::server::rest {
namespace {

json::Value Strings(json::Arena& arena, const std::vector<std::string>& list) {
  json::ArrayBuilder array(arena);
  for (const std::string& text : list) array.Add(text);
  return array.Build();
}

// The status of an access review: what the authorizer says of `user` and the attributes of `spec`.
base::Result<json::Value> ReviewAccess(Call& call, json::Value spec, const api::UserInfo& user) {
  const json::Value resource = spec["resourceAttributes"];
  const json::Value path = spec["nonResourceAttributes"];
  if (resource.is_null() == path.is_null()) {
    const api::FieldErrors errors = {api::Invalid(
        api::FieldPath("spec"), resource.is_null() ? resource : path,
        resource.is_null() ? "exactly one of nonResourceAttributes or resourceAttributes must be "
                             "specified"
                           : "cannot be specified in combination with resourceAttributes")};
    return api::InvalidStatus(call.kind().group_kind(), "", errors);
  }
  authz::Attributes attributes;
  attributes.user = &user;
  if (!resource.is_null()) {
    attributes.verb = resource["verb"].AsString();
    attributes.group = resource["group"].AsString();
    attributes.version = resource["version"].AsString();
    attributes.resource = resource["resource"].AsString();
    attributes.subresource = resource["subresource"].AsString();
    attributes.ns = resource["namespace"].AsString();
    attributes.name = resource["name"].AsString();
  } else {
    attributes.resource_request = false;
    attributes.path = path["path"].AsString();
    attributes.verb = path["verb"].AsString();
  }
  const authz::Decision decision = call.env.authorizer->Authorize(attributes);
  json::ObjectBuilder status(call.arena);
  status.Set("allowed", decision.allowed());
  if (decision.verdict == authz::Verdict::kDenied) status.Set("denied", true);
  if (!decision.reason.empty()) status.Set("reason", decision.reason);
  if (!decision.error.empty()) status.Set("evaluationError", decision.error);
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

json::Value RulesStatus(Call& call, json::Value spec) {
  json::Arena& arena = call.arena;
  const authz::Rules rules = call.env.authorizer->RulesFor(call.user, spec["namespace"].AsString());
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

base::Result<json::Value> ReviewToken(Call& call, json::Value spec) {
  json::ObjectBuilder status(call.arena);
  const std::string_view token = spec["token"].AsString();
  if (token.empty()) {
    return base::BadRequest("token is required for TokenReview in authentication");
  }
  std::vector<std::string> audiences;
  for (const json::Value& audience : spec["audiences"].elements()) {
    audiences.emplace_back(audience.AsString());
  }
  json::Value user = json::MakeObject(call.arena, {});
  if (call.env.tokens != nullptr) {
    const auto identity = call.env.tokens->AuthenticateToken(token, audiences);
    if (!identity.ok() || !*identity) {
      status.Set("error", "invalid bearer token");
    } else {
      status.Set("authenticated", true);
      user = api::UserInfoToJson(call.arena, (*identity)->user);
      if (!(*identity)->audiences.empty()) {
        status.Set("audiences", Strings(call.arena, (*identity)->audiences));
      }
    }
  }
  status.Set("user", user);
  return status.Build();
}

base::Result<json::Value> StatusOf(Call& call, json::Value object) {
  const std::string& resource = call.resource->resource.resource;
  const json::Value spec = object["spec"];
  if (resource == "tokenreviews") return ReviewToken(call, spec);
  if (resource == "selfsubjectrulesreviews") return RulesStatus(call, spec);
  if (resource == "selfsubjectaccessreviews") return ReviewAccess(call, spec, call.user);
  if (resource == "selfsubjectreviews") {
    return json::MakeObject(call.arena, {{"userInfo", api::UserInfoToJson(call.arena, call.user)}});
  }
  const api::UserInfo user = UserOfSpec(spec);
  if (user.name.empty() && user.groups.empty()) {
    const api::FieldErrors errors = {api::Invalid(api::FieldPath("spec", "user"), user.name,
                                                  "at least one of user or group must be "
                                                  "specified")};
    return api::InvalidStatus(call.kind().group_kind(), "", errors);
  }
  if (resource == "localsubjectaccessreviews" &&
      spec["resourceAttributes"]["namespace"].AsString() != call.info.name_space) {
    return base::BadRequest(base::StrCat("spec.resourceAttributes.namespace must match namespace: ",
                                         call.info.name_space));
  }
  return ReviewAccess(call, spec, user);
}

}  // namespace

VerbResult CreateReview(Call& call) {
  const WriteOptions options = TRY(ReadWriteOptions(call, WriteKind::kCreate));
  call.dry_run = options.dry_run;
  const MediaType type = TRY(NegotiateInput(call.headers().Get("Content-Type")));
  json::Value object = TRY(DecodeBody(call, call.kind(), call.body, type, options.validation));
  object = TRY(PrepareMetadata(call, object));
  if (call.audit) call.audit->SetRequestObject(object);
  const std::string name(object["metadata"]["name"].AsString());
  object = TRY(RunMutating(call, {.operation = admission::kCreate,
                                  .name = name,
                                  .object = object,
                                  .options = options.as_create}));
  TRY(RunValidating(call, {.operation = admission::kCreate,
                           .name = name,
                           .object = object,
                           .options = options.as_create}));
  const json::Value status = TRY(StatusOf(call, object));
  if (call.resource->resource.resource == "selfsubjectreviews") {
    object = json::SetPath(call.arena, object, {"metadata", "creationTimestamp"},
                           json::String(call.arena, base::FormatTime(call.env.clock->Now())));
  }
  object = json::With(call.arena, object, "status", status);
  return ValueReply(call, 201, Ordered(call.arena, object));
}

namespace {

constexpr std::int64_t kDefaultTokenSeconds = 3600;
constexpr std::int64_t kLeastTokenSeconds = 600;

}  // namespace

VerbResult CreateToken(Call& call) {
  const WriteOptions options = TRY(ReadWriteOptions(call, WriteKind::kCreate));
  call.dry_run = options.dry_run;
  const MediaType type = TRY(NegotiateInput(call.headers().Get("Content-Type")));
  json::Value request = TRY(DecodeBody(call, call.kind(), call.body, type, options.validation));
  request = TRY(MatchNamespace(call, request));
  request = TRY(RunMutating(call, {.operation = admission::kCreate,
                                   .name = call.info.name,
                                   .object = request,
                                   .options = options.as_create}));
  const store::ObjectPtr account = call.env.store->Get(KeyOf(call, call.info.name));
  if (account == nullptr) return api::NotFoundStatus(call.group_resource(), call.info.name);
  json::ObjectBuilder metadata(call.arena, request["metadata"]);
  metadata.Set("name", call.info.name);
  metadata.Set("namespace", call.info.name_space);
  metadata.Set("uid", account->uid());
  metadata.Set("creationTimestamp", std::string_view(base::FormatTime(call.env.clock->Now())));
  request = json::With(call.arena, request, "metadata", metadata.Build());
  json::Value spec = request["spec"];
  const std::int64_t seconds = spec["expirationSeconds"].AsInt(kDefaultTokenSeconds);
  if (seconds < kLeastTokenSeconds) {
    const api::FieldErrors errors = {
        api::Invalid(api::FieldPath("spec", "expirationSeconds"), seconds,
                     "may not specify a duration less than 10 minutes")};
    return api::InvalidStatus(call.kind().group_kind(), call.info.name, errors);
  }
  if (call.env.signer == nullptr) return UnknownResource();
  authn::ServiceAccountClaims claims;
  claims.ns = call.info.name_space;
  claims.service_account = {call.info.name, std::string(account->uid())};
  for (const json::Value& audience : spec["audiences"].elements()) {
    claims.audiences.emplace_back(audience.AsString());
  }
  if (claims.audiences.empty()) {
    claims.audiences = call.env.options->api_audiences.empty()
                           ? std::vector<std::string>{call.env.options->service_account_issuer}
                           : call.env.options->api_audiences;
  }
  const json::Value bound = spec["boundObjectRef"];
  if (!bound.is_null()) {
    const authn::ObjectRef ref{std::string(bound["name"].AsString()),
                               std::string(bound["uid"].AsString())};
    if (bound["kind"].AsString() == "Pod") claims.pod = ref;
    if (bound["kind"].AsString() == "Secret") claims.secret = ref;
    if (bound["kind"].AsString() == "Node") claims.node = ref;
  }
  spec = json::With(call.arena, spec, "audiences", Strings(call.arena, claims.audiences));
  spec = json::With(call.arena, spec, "expirationSeconds", json::Value::Int(seconds));
  request = json::With(call.arena, request, "spec", spec);
  TRY(RunValidating(call, {.operation = admission::kCreate,
                           .name = call.info.name,
                           .object = request,
                           .options = options.as_create}));
  const std::string token = TRY(call.env.signer->Sign(claims, std::chrono::seconds(seconds)));
  const auto expires =
      std::chrono::system_clock::from_time_t(static_cast<std::time_t>(claims.expires_at));
  request = json::With(call.arena, request, "status",
                       json::ObjectBuilder(call.arena)
                           .Set("token", token)
                           .Set("expirationTimestamp", std::string_view(base::FormatTime(expires)))
                           .Build());
  return ValueReply(call, 201, Ordered(call.arena, request));
}

}  // namespace portcullis::server::rest
