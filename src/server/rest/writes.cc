// SPDX-License-Identifier: Apache-2.0

// POST, PUT, PATCH and DELETE of a resource or a subresource, and connections: reads the options and
// hands the body to the engine.

#include "api/api_status.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/subresources/subresources.h"
#include "engine/verbs.h"
#include "engine/write/patching.h"
#include "json/reader.h"
#include "server/filters/access.h"
#include "server/rest/connect_options.h"
#include "server/rest/issued_certificates.h"
#include "server/rest/present.h"
#include "server/rest/verbs.h"
#include "server/rest_options.h"

namespace portcullis::server::rest {
namespace {

constexpr std::string_view kApplyCbor = "application/apply-patch+cbor";

base::Result<engine::PatchType> ReadPatchType(const Call& call, bool strategic) {
  const std::string type = BareMediaType(call.headers().Get("Content-Type"));
  if (type == "application/json-patch+json") return engine::PatchType::kJson;
  if (type == "application/merge-patch+json") return engine::PatchType::kMerge;
  if (type == "application/apply-patch+yaml") return engine::PatchType::kApply;
  if (type == kApplyCbor && call.takes_cbor) return engine::PatchType::kApply;
  if (type == "application/strategic-merge-patch+json" && strategic) {
    return engine::PatchType::kStrategic;
  }
  return base::Status(
      base::Reason::kUnsupportedMediaType,
      base::StrCat("the body of the request was in an unknown format - accepted media types "
                   "include: application/json-patch+json, application/merge-patch+json, ",
                   strategic ? "application/strategic-merge-patch+json, " : "",
                   "application/apply-patch+yaml", call.takes_cbor ? ", " : "",
                   call.takes_cbor ? kApplyCbor : ""));
}

base::Result<engine::Input> ReadPatch(Call& call) {
  engine::Input input;
  input.patch = TRY(ReadPatchType(call, engine::PatchTargetOf(call).strategic));
  input.options = TRY(ReadWriteOptions(call, WriteKind::kPatch));
  input.body = call.body;
  if (call.takes_cbor && BareMediaType(call.headers().Get("Content-Type")) == kApplyCbor) {
    input.type = MediaType::kCbor;
  }
  if (call.audit && call.audit->wants_request_object()) {
    const auto patch = json::Parse(call.arena, call.body);
    if (patch.ok()) call.audit->SetRequestPatch(*patch);
  }
  return input;
}

base::Result<engine::Input> ReadInput(Call& call) {
  if (call.verb == engine::Verb::kPatch) return ReadPatch(call);
  const bool creates = call.verb == engine::Verb::kCreate;
  engine::Input input;
  input.options = TRY(ReadWriteOptions(call, creates ? WriteKind::kCreate : WriteKind::kUpdate));
  input.type = TRY(NegotiateInput(call.headers().Get("Content-Type"), call.takes_cbor));
  input.body = call.body;
  return input;
}

base::Result<std::unique_ptr<engine::Execution>> Begin(Call& call) {
  if (call.verb != engine::Verb::kDelete)
    return CountIssued(call, engine::BeginWrite(call, TRY(ReadInput(call))));
  const engine::DeleteOptions options = TRY(ReadDeleteOptions(call));
  call.dry_run = options.dry_run;
  return engine::BeginDelete(call, options);
}

// A GET of exec, attach or portforward, as WebSockets begin with one, needs the right to create, too. Roles
// were written for clients that begin with a POST: the right to get alone must not open a shell.
base::Status CheckMayCreate(const Call& call) {
  if (call.info.verb == "create" || call.subresource_name() == "proxy" ||
      !call.world.release->GateEnabled("AuthorizePodWebsocketUpgradeCreatePermission")) {
    return base::OkStatus();
  }
  authz::Attributes attributes = filters::AuthorizationAttributes(call);
  attributes.verb = "create";
  const authz::Decision decision = call.env.authorizer->Authorize(attributes);
  if (decision.allowed()) return base::OkStatus();
  if (!decision.error.empty()) return base::Status(base::Reason::kUnknown, decision.error);
  return api::ForbiddenStatus(call.group_resource(), call.name, decision.reason);
}

}  // namespace

VerbResult Write(Call& call) {
  const auto execution = TRY(Begin(call));
  return OutcomeReply(call, TRY(engine::Finish(call, *execution)));
}

void BeginWrite(Call& call, engine::Resume resume, std::function<void(VerbResult)> done) {
  auto execution = Begin(call);
  if (!execution.ok()) return done(std::move(execution).status());
  engine::Finish(call, *std::move(execution), std::move(resume),
                 [&call, done = std::move(done)](base::Result<engine::Outcome> outcome) {
                   if (!outcome.ok()) return done(std::move(outcome).status());
                   done(OutcomeReply(call, *outcome));
                 });
}

VerbResult Connect(Call& call) {
  if (call.info.query.Has("dryRun")) return base::BadRequest("dryRun is not supported");
  engine::Input input;
  input.parameters = TRY(ConnectOptions(call));
  const json::Value admitted = TRY(engine::AdmitConnection(call, input));
  TRY(CheckMayCreate(call));
  return engine::Unreachable(call, admitted);
}

}  // namespace portcullis::server::rest
