// What codec.h offers to requests, who give their place away while a webhook converts.

#include <optional>
#include <utility>

#include "admission/recorder.h"
#include "api/conversion/custom_converter.h"
#include "server/codec.h"

namespace portcullis::server {
namespace {

using Waiting = std::optional<admission::WaitingForOthers>;

void LeaveForStored(Call& call, std::span<const store::ObjectPtr> objects, Waiting& waiting) {
  if (NeedsWebhook(*call.resource, objects)) waiting.emplace(call.recorder);
}

void LeaveForValue(Call& call, json::Value object, Waiting& waiting) {
  const api::catalog::ResourceInfo& resource = *call.resource;
  if (resource.definition == nullptr || !resource.definition->converter().blocks()) return;
  if (object["apiVersion"].AsString() == ApiVersion(resource.storage_kind)) return;
  waiting.emplace(call.recorder);
}

}  // namespace

base::Result<store::Encoded> EncodeForStore(Call& call, json::Value object) {
  Waiting waiting;
  LeaveForValue(call, object, waiting);
  return EncodeForStore(call.arena, object, *call.resource);
}

base::Result<std::vector<store::ObjectPtr>> InVersion(Call& call,
                                                      std::vector<store::ObjectPtr> objects) {
  Waiting waiting;
  LeaveForStored(call, objects, waiting);
  return InVersion(*call.resource, std::move(objects));
}

base::Result<json::Value> FromStore(Call& call, const store::ObjectPtr& object) {
  Waiting waiting;
  LeaveForStored(call, std::span(&object, 1), waiting);
  return FromStore(call.arena, object, *call.resource);
}

base::Result<json::Value> ThroughStore(Call& call, json::Value object) {
  Waiting waiting;
  LeaveForValue(call, object, waiting);
  return ThroughStore(call.arena, object, *call.resource);
}

base::Result<std::string_view> BytesAs(Call& call, const store::ObjectPtr& object,
                                       std::string& scratch) {
  Waiting waiting;
  LeaveForStored(call, std::span(&object, 1), waiting);
  return BytesAs(object, *call.resource, scratch);
}

}  // namespace portcullis::server
