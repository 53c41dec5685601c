// SPDX-License-Identifier: Apache-2.0

// GET of one object, of what a subresource shows of it, of a log, and of a collection.

#include "api/api_status.h"
#include "engine/codec/codec.h"
#include "engine/codec/hidden_fields.h"
#include "engine/read/listing.h"
#include "engine/read/selection.h"
#include "engine/subresources/subresources.h"
#include "engine/write/write.h"
#include "server/reply.h"
#include "server/rest/connect_options.h"
#include "server/rest/present.h"
#include "server/rest/verbs.h"
#include "server/rest_options.h"
#include "store/at_rest.h"
#include "store/store.h"

namespace portcullis::server::rest {

VerbResult Get(Call& call) {
  if (const engine::Function function = engine::FindFunction(call)) {
    return OutcomeReply(call, TRY(engine::Finish(call, *function(call, {}))));
  }
  if (call.info.query.GetBool("export")) {
    return base::BadRequest("the export parameter, deprecated since v1.14, is no longer supported");
  }
  const std::int64_t wanted = TRY(ReadRevision(call.info.query.Get("resourceVersion")));
  if (wanted > call.env.store->revision())
    return engine::TooLargeVersion(wanted, call.env.store->revision());
  const store::ObjectPtr object = call.env.store->Get(KeyOf(call, call.name));
  if (object == nullptr) {
    TRY(store::Unreadable(*call.env.store, KeyOf(call, call.name)));
    return api::NotFoundStatus(call.group_resource(), call.name);
  }
  if (call.subresource != nullptr) return ObjectReply(call, 200, object);
  return ObjectReply(call, 200, TRY(engine::Shown(*call.resource, object)));
}

VerbResult GetLog(Call& call) {
  TRY(CheckLogOptions(call));
  engine::Input input;
  input.parameters =
      json::ObjectBuilder(call.arena).Set("container", call.info.query.Get("container")).Build();
  TRY(engine::GetLog(call, input));
  return TextReply(200, "");
}

VerbResult List(Call& call) {
  const engine::ListOptions options = TRY(ReadListOptions(call, false));
  const engine::Selection selection = TRY(ReadSelection(call, options));
  engine::Listing listing = TRY(ListObjects(call, options, selection));
  return ListReply(call, std::move(listing.objects), listing.meta);
}

}  // namespace portcullis::server::rest
