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

namespace {

// Component statuses are found out anew for each read: Kubernetes reads no version that is asked for, gives
// their lists none, and calls them by their singular name when there is none.
bool IsStored(const api::catalog::ResourceInfo& resource) {
  return resource.custom || resource.legacy || !resource.storage_version_hash.empty();
}

}  // namespace

VerbResult Get(Call& call) {
  if (const engine::Function function = engine::FindFunction(call)) {
    return OutcomeReply(call, TRY(engine::Finish(call, *function(call, {}))));
  }
  if (call.info.query.GetBool("export")) {
    return base::BadRequest("the export parameter, deprecated since v1.14, is no longer supported");
  }
  if (!IsStored(*call.resource)) {
    return api::NotFoundStatus({call.kind().group, call.resource->singular}, call.name);
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
  engine::ListOptions options = TRY(ReadListOptions(call, false));
  if (!IsStored(*call.resource)) options.resource_version.clear();
  const engine::Selection selection = TRY(ReadSelection(call, options));
  engine::Listing listing = TRY(ListObjects(call, options, selection));
  if (!IsStored(*call.resource)) listing.meta.resource_version.clear();
  return ListReply(call, std::move(listing.objects), listing.meta);
}

}  // namespace portcullis::server::rest
