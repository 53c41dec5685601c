// DELETE of one object and of a collection.

#include "api/api_status.h"
#include "server/codec.h"
#include "server/reply.h"
#include "server/rest/deletion.h"
#include "server/rest/listing.h"
#include "server/rest/present.h"
#include "server/rest/selection.h"
#include "server/rest/system_fields.h"
#include "server/rest/verbs.h"

namespace portcullis::server::rest {

VerbResult Delete(Call& call) {
  const DeleteOptions options = TRY(ReadDeleteOptions(call));
  call.dry_run = options.dry_run;
  if (call.audit) call.audit->SetRequestObject(options.value);
  const Deleted deleted = TRY(DeleteObject(call, call.info.name, options));
  const registry::Strategy& strategy = StrategyOf(call);
  if (deleted.gone && !strategy.ReturnsDeletedObject()) {
    return ValueReply(call, 200,
                      api::SuccessStatus(call.arena, call.group_resource(), call.info.name,
                                         deleted.object["metadata"]["uid"].AsString()));
  }
  const bool accepted = !deleted.gone && options.orphan_dependents && !*options.orphan_dependents;
  return PresentValue(call, accepted ? 202 : 200, Ordered(call.arena, deleted.object));
}

VerbResult DeleteCollection(Call& call) {
  const ListOptions list_options = TRY(ReadListOptions(call, false));
  const Selection selection = TRY(ReadSelection(call, list_options));
  const DeleteOptions options = TRY(ReadDeleteOptions(call));
  call.dry_run = options.dry_run;
  if (call.audit) call.audit->SetRequestObject(options.value);
  const Listing listing = TRY(ListObjects(call, list_options, selection));
  TRY(DeleteEach(call, listing.objects, options));
  return ListReply(call, listing.objects, listing.meta);
}

}  // namespace portcullis::server::rest
