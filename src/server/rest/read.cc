// GET of one object and of a collection.

#include "api/api_status.h"
#include "server/rest/listing.h"
#include "server/rest/present.h"
#include "server/rest/selection.h"
#include "server/rest/verbs.h"
#include "server/rest/write.h"
#include "server/rest_options.h"
#include "store/store.h"

namespace portcullis::server::rest {

VerbResult Get(Call& call) {
  const store::ObjectPtr object = call.env.store->Get(KeyOf(call, call.info.name));
  if (object == nullptr) return api::NotFoundStatus(call.group_resource(), call.info.name);
  const std::int64_t wanted = TRY(ReadRevision(call.info.query.Get("resourceVersion")));
  if (wanted > call.env.store->revision())
    return TooLargeVersion(wanted, call.env.store->revision());
  return ObjectReply(call, 200, object);
}

VerbResult List(Call& call) {
  const ListOptions options = TRY(ReadListOptions(call, false));
  const Selection selection = TRY(ReadSelection(call, options));
  const Listing listing = TRY(ListObjects(call, options, selection));
  return ListReply(call, listing.objects, listing.meta);
}

}  // namespace portcullis::server::rest
