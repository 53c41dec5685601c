// TokenRequest: tokens of service accounts (Kubernetes docs, "Managing Service Accounts"; the
// checks and their order are those of pkg/registry/core/serviceaccount/storage/token.go).

#include <algorithm>

#include "api/api_status.h"
#include "authn/authenticator.h"
#include "authn/service_account.h"
#include "base/strings.h"
#include "server/codec.h"
#include "server/options.h"
#include "server/reply.h"
#include "server/rest/admit.h"
#include "server/rest/subresource_body.h"
#include "server/rest/system_fields.h"
#include "server/rest/verbs.h"
#include "server/rest/write.h"
#include "store/store.h"

namespace portcullis::server::rest {
namespace {

constexpr std::int64_t kDefaultSeconds = 3600;
constexpr std::int64_t kLeastSeconds = 600;
constexpr std::int64_t kMostSeconds = std::int64_t{1} << 32;
// What the kubelet asks for on behalf of pods: clients that never read the token again get a year,
// and are noted once they are late.
constexpr std::int64_t kPodSeconds = 3607;
constexpr std::int64_t kExtendedSeconds = 365 * 24 * 3600;

std::vector<std::string> ApiAudiences(const Call& call) {
  const Options& options = *call.env.options;
  if (!options.api_audiences.empty()) return options.api_audiences;
  return {options.service_account_issuer};
}

base::Status CheckNames(Call& call, json::Value metadata) {
  const std::string_view name = metadata["name"].AsString();
  if (name.empty() || name == call.info.name) return base::OkStatus();
  const api::FieldErrors errors = {
      api::Invalid(api::FieldPath("metadata", "name"), name,
                   "must match the service account name if specified")};
  return api::InvalidStatus(call.kind().group_kind(), call.info.name, errors);
}

base::Status CheckSeconds(Call& call, std::int64_t seconds) {
  const std::string_view wrong =
      seconds < kLeastSeconds  ? "may not specify a duration less than 10 minutes"
      : seconds > kMostSeconds ? "may not specify a duration larger than 2^32 seconds"
                               : "";
  if (wrong.empty()) return base::OkStatus();
  const api::FieldErrors errors = {
      api::Invalid(api::FieldPath("spec", "expirationSeconds"), seconds, wrong)};
  return api::InvalidStatus(call.kind().group_kind(), "", errors);
}

authn::ObjectRef RefTo(const store::ObjectPtr& object) {
  return {std::string(object->name()), std::string(object->uid())};
}

// A pod's token also names the pod's node; by its name only if it is not there.
authn::ObjectRef NodeOf(Call& call, const store::ObjectPtr& pod) {
  const std::string name(pod->document()["spec"]["nodeName"].AsString());
  if (name.empty()) return {};
  const store::ObjectPtr node = call.env.store->Get({"", "nodes", "", name});
  return node == nullptr ? authn::ObjectRef{name, ""} : RefTo(node);
}

// Finds the object the token is to live and die with, and puts it into the claims.
base::Status Bind(Call& call, json::Value ref, authn::ServiceAccountClaims& claims) {
  const std::string_view kind = ref["kind"].AsString();
  const auto version = api::ParseGroupVersion(ref["apiVersion"].AsString());
  const bool core = !version.ok() || version->group.empty();
  const std::string_view resource = !core              ? ""
                                    : kind == "Pod"    ? "pods"
                                    : kind == "Node"   ? "nodes"
                                    : kind == "Secret" ? "secrets"
                                                       : "";
  if (resource.empty()) {
    return base::BadRequest(base::StrCat("cannot bind token to object of type ",
                                         version.ok() ? version->group : "", "/",
                                         version.ok() ? version->version : "", ", Kind=", kind));
  }
  const std::string_view name = ref["name"].AsString();
  const std::string_view ns = resource == "nodes" ? "" : std::string_view(call.info.name_space);
  const store::ObjectPtr object = call.env.store->Get({"", resource, ns, name});
  if (object == nullptr) return api::NotFoundStatus({"", std::string(resource)}, name);
  if (resource == "pods") {
    if (object->document()["spec"]["serviceAccountName"].AsString() != call.info.name) {
      return base::BadRequest(
          base::StrCat("cannot bind token for serviceaccount \"", call.info.name,
                       "\" to pod running with different serviceaccount name."));
    }
    claims.pod = RefTo(object);
    claims.node = NodeOf(call, object);
  } else {
    (resource == "nodes" ? claims.node : claims.secret) = RefTo(object);
  }
  const std::string_view uid = ref["uid"].AsString();
  if (!uid.empty() && uid != object->uid()) {
    return api::ConflictStatus(
        {"", std::string(kind)}, name,
        base::StrCat("the UID in the bound object reference (", uid,
                     ") does not match the UID in record. The object might have been deleted and "
                     "then recreated"));
  }
  return base::OkStatus();
}

// The request as it is judged by validating admission: complete but for the token.
base::Result<json::Value> Complete(Call& call, json::Value request, const store::Object& account) {
  const json::Value metadata = request["metadata"];
  const std::string_view uid = metadata["uid"].AsString();
  if (!uid.empty() && uid != account.uid()) {
    return api::ConflictStatus(
        {call.kind().group, call.kind().kind}, call.info.name,
        base::StrCat("the UID in the token request (", uid,
                     ") does not match the UID of the service account (", account.uid(), ")"));
  }
  json::ObjectBuilder complete(call.arena, metadata);
  complete.Set("name", call.info.name);
  complete.Set("namespace", call.info.name_space);
  complete.Set("uid", account.uid());
  complete.Set("creationTimestamp", std::string_view(base::FormatTime(call.env.clock->Now())));
  request = json::With(call.arena, request, "metadata", complete.Build());
  json::Value spec = request["spec"];
  if (spec["audiences"].empty()) {
    json::ArrayBuilder audiences(call.arena);
    for (const std::string& audience : ApiAudiences(call)) audiences.Add(audience);
    spec = json::With(call.arena, spec, "audiences", audiences.Build());
  }
  const std::int64_t seconds = spec["expirationSeconds"].AsInt(kDefaultSeconds);
  spec = json::With(call.arena, spec, "expirationSeconds", json::Value::Int(seconds));
  TRY(CheckSeconds(call, seconds));
  return json::With(call.arena, request, "spec", spec);
}

}  // namespace

VerbResult CreateToken(Call& call) {
  WriteOptions options;
  json::Value request = TRY(ReadSubresourceBody(call, options));
  request = TRY(RunMutating(call, {.operation = admission::kCreate,
                                   .name = call.info.name,
                                   .object = request,
                                   .options = options.as_create}));
  TRY(CheckNames(call, request["metadata"]));
  const store::ObjectPtr account = call.env.store->Get(KeyOf(call, call.info.name));
  if (account == nullptr) return api::NotFoundStatus(call.group_resource(), call.info.name);
  request = TRY(Complete(call, request, *account));
  TRY(RunValidating(call, {.operation = admission::kCreate,
                           .name = call.info.name,
                           .object = request,
                           .options = options.as_create}));
  if (call.env.signer == nullptr) return UnknownResource();
  authn::ServiceAccountClaims claims;
  claims.ns = call.info.name_space;
  claims.service_account = RefTo(account);
  for (const json::Value& audience : request["spec"]["audiences"].elements()) {
    claims.audiences.emplace_back(audience.AsString());
  }
  const json::Value bound = request["spec"]["boundObjectRef"];
  if (!bound.is_null()) TRY(Bind(call, bound, claims));
  std::int64_t seconds = request["spec"]["expirationSeconds"].AsInt();
  const std::int64_t most = std::chrono::duration_cast<std::chrono::seconds>(
                                call.env.options->service_account_max_token_expiration)
                                .count();
  if (most > 0 && seconds > most) {
    call.recorder.Warn(base::StrCat("requested expiration of ", std::to_string(seconds),
                                    " seconds shortened to ", std::to_string(most), " seconds"));
    seconds = most;
    request =
        json::SetPath(call.arena, request, {"spec", "expirationSeconds"}, json::Value::Int(most));
  }
  std::int64_t lifetime = seconds;
  const std::vector<std::string> own = ApiAudiences(call);
  const bool for_api = std::all_of(
      claims.audiences.begin(), claims.audiences.end(), [&](const std::string& audience) {
        return std::find(own.begin(), own.end(), audience) != own.end();
      });
  if (call.env.options->service_account_extend_token_expiration && !claims.pod.empty() &&
      seconds == kPodSeconds && for_api) {
    claims.warn_after = seconds;
    lifetime = kExtendedSeconds;
  }
  const std::string token = TRY(call.env.signer->Sign(claims, std::chrono::seconds(lifetime)));
  const auto expires =
      std::chrono::system_clock::from_time_t(static_cast<std::time_t>(claims.issued_at + seconds));
  request = json::With(call.arena, request, "status",
                       json::ObjectBuilder(call.arena)
                           .Set("token", token)
                           .Set("expirationTimestamp", std::string_view(base::FormatTime(expires)))
                           .Build());
  static_cast<void>(call.recorder.Annotate("authentication.kubernetes.io/issued-credential-id",
                                           base::StrCat("JTI=", claims.id),
                                           admission::AuditLevel::kMetadata));
  return ValueReply(call, 201, Ordered(call.arena, request));
}

}  // namespace portcullis::server::rest
