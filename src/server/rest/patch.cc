// PATCH of a stored object.

#include "server/codec.h"
#include "server/rest/patching.h"
#include "server/rest/verbs.h"
#include "server/rest/write.h"

namespace portcullis::server::rest {

VerbResult Patch(Call& call) {
  const bool strategic = !call.resource->custom && call.resource->schema != nullptr;
  const PatchType type = TRY(ReadPatchType(call, strategic));
  const WriteOptions options = TRY(ReadWriteOptions(call, WriteKind::kPatch));
  const PatchTarget target{call.resource->kind, call.resource->schema};
  UpdateSpec spec;
  spec.name = call.info.name;
  spec.transform = TRY(MakePatch(call, type, target, options));
  spec.create_if_absent = type == PatchType::kApply && call.info.subresource.empty();
  spec.track_fields = type != PatchType::kApply;
  return WrittenReply(call, TRY(UpdateObject(call, spec, options)));
}

}  // namespace portcullis::server::rest
