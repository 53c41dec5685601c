#include "engine/verbs.h"

#include "api/api_status.h"
#include "engine/codec/codec.h"
#include "engine/subresources/subresources.h"
#include "engine/write/deletion.h"
#include "engine/write/patching.h"
#include "engine/write/system_fields.h"
#include "engine/write/write.h"

namespace portcullis::engine {
namespace {

// What was not stored is shown with its fields in the order of stored objects.
Outcome Shown(Operation& op, Outcome outcome) {
  if (outcome.stored == nullptr) outcome.object = Ordered(op.arena, outcome.object);
  return outcome;
}

}  // namespace

base::Result<Outcome> Create(Operation& op, const Input& input) {
  if (const Function function = FindFunction(op)) return function(op, input);
  const json::Value object = TRY(DecodeInput(op, input));
  return Shown(op, TRY(CreateObject(op, object, input.options)));
}

base::Result<Outcome> Update(Operation& op, const Input& input) {
  if (const Function function = FindFunction(op)) return function(op, input);
  const json::Value object = TRY(DecodeInput(op, input));
  TRY(MatchNameForUpdate(op, object));
  UpdateSpec spec;
  spec.name = op.name;
  spec.transform = [&](json::Value) -> base::Result<json::Value> { return object; };
  spec.create_if_absent = CreatesOnUpdate(op);
  return Shown(op, TRY(UpdateObject(op, spec, input.options)));
}

base::Result<Outcome> Patch(Operation& op, const Input& input) {
  if (const Function function = FindFunction(op)) return function(op, input);
  UpdateSpec spec;
  spec.name = op.name;
  spec.transform = TRY(MakePatch(op, input, PatchTargetOf(op)));
  spec.create_if_absent = input.patch == PatchType::kApply && op.subresource == nullptr;
  spec.track_fields = input.patch != PatchType::kApply;
  return Shown(op, TRY(UpdateObject(op, spec, input.options)));
}

base::Result<Outcome> Delete(Operation& op, const DeleteOptions& options) {
  op.request_object = options.value;
  const Deleted deleted = TRY(DeleteObject(op, options));
  if (deleted.gone && !StrategyOf(op).ReturnsDeletedObject()) {
    return PlainOutcome(200, api::SuccessStatus(op.arena, op.group_resource(), op.name,
                                                deleted.object["metadata"]["uid"].AsString()));
  }
  const bool accepted = !deleted.gone && options.orphan_dependents && !*options.orphan_dependents;
  Outcome outcome;
  outcome.code = accepted ? 202 : 200;
  outcome.object = Ordered(op.arena, deleted.object);
  return outcome;
}

base::Result<Listing> DeleteCollection(Operation& op, const ListOptions& list,
                                       const DeleteOptions& options) {
  const Selection selection = TRY(ReadSelection(op, list));
  op.request_object = options.value;
  Listing listing = TRY(ListObjects(op, list, selection));
  TRY(DeleteEach(op, listing.objects, options));
  return listing;
}

}  // namespace portcullis::engine
