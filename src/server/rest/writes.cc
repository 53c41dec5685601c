// POST, PUT and PATCH of a resource or a subresource, and connections: reads the options and hands
// the body to the engine.

#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/subresources/subresources.h"
#include "engine/verbs.h"
#include "engine/write/patching.h"
#include "json/reader.h"
#include "server/rest/connect_options.h"
#include "server/rest/present.h"
#include "server/rest/verbs.h"
#include "server/rest_options.h"

namespace portcullis::server::rest {
namespace {

base::Result<engine::Input> ReadInput(Call& call, WriteKind kind) {
  engine::Input input;
  input.options = TRY(ReadWriteOptions(call, kind));
  input.type = TRY(NegotiateInput(call.headers().Get("Content-Type")));
  input.body = call.body;
  return input;
}

base::Result<engine::PatchType> ReadPatchType(const Call& call, bool strategic) {
  const std::string type = BareMediaType(call.headers().Get("Content-Type"));
  if (type == "application/json-patch+json") return engine::PatchType::kJson;
  if (type == "application/merge-patch+json") return engine::PatchType::kMerge;
  if (type == "application/apply-patch+yaml") return engine::PatchType::kApply;
  if (type == "application/strategic-merge-patch+json" && strategic) {
    return engine::PatchType::kStrategic;
  }
  return base::Status(
      base::Reason::kUnsupportedMediaType,
      base::StrCat("the body of the request was in an unknown format - accepted media types "
                   "include: application/json-patch+json, application/merge-patch+json, ",
                   strategic ? "application/strategic-merge-patch+json, " : "",
                   "application/apply-patch+yaml"));
}

}  // namespace

VerbResult Create(Call& call) {
  const engine::Input input = TRY(ReadInput(call, WriteKind::kCreate));
  return OutcomeReply(call, TRY(engine::Create(call, input)));
}

VerbResult Update(Call& call) {
  const engine::Input input = TRY(ReadInput(call, WriteKind::kUpdate));
  return OutcomeReply(call, TRY(engine::Update(call, input)));
}

VerbResult Patch(Call& call) {
  engine::Input input;
  input.patch = TRY(ReadPatchType(call, engine::PatchTargetOf(call).strategic));
  input.options = TRY(ReadWriteOptions(call, WriteKind::kPatch));
  input.body = call.body;
  if (call.audit && call.audit->wants_request_object()) {
    const auto patch = json::Parse(call.arena, call.body);
    if (patch.ok()) call.audit->SetRequestPatch(*patch);
  }
  return OutcomeReply(call, TRY(engine::Patch(call, input)));
}

VerbResult Connect(Call& call) {
  if (call.info.query.Has("dryRun")) return base::BadRequest("dryRun is not supported");
  engine::Input input;
  input.parameters = TRY(ConnectOptions(call));
  return OutcomeReply(call, TRY(engine::Connect(call, input)));
}

}  // namespace portcullis::server::rest
