// SPDX-License-Identifier: Apache-2.0

// GET of one object, of what a subresource shows of it, of a log, and of a collection.

#include "api/api_status.h"
#include "base/strings.h"
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

// What is wrong with the version that is asked for. The store says it of what the watch cache does not have,
// and knows no time to try again after.
base::Status CheckWantedRevision(const Call& call) {
  const bool cached = engine::IsCached(*call.resource);
  const auto wanted = ReadRevision(call.info.query.Get("resourceVersion"));
  const std::int64_t current = call.env.store->revision();
  if (wanted.ok()) {
    return *wanted > current ? engine::TooLargeVersion(*wanted, current, cached ? 1 : 0)
                             : base::OkStatus();
  }
  if (cached) return wanted.status();
  return base::BadRequest(base::StrCat("invalid resource version: ", wanted.status().message()));
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
  TRY(CheckWantedRevision(call));
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
  Reply none;
  none.status = 204;
  none.content_type.clear();
  return none;
}

VerbResult List(Call& call) {
  engine::ListOptions options = TRY(ReadListOptions(call, false));
  if (!IsStored(*call.resource)) options.resource_version.clear();
  const engine::Selection selection = TRY(ReadSelection(call, options));
  engine::Listing listing = TRY(ListObjects(call, options, selection));
  if (!IsStored(*call.resource)) listing.meta.resource_version.clear();
  call.fetched = listing.fetched;
  call.returned = listing.objects.size();
  return ListReply(call, std::move(listing.objects), listing.meta);
}

}  // namespace portcullis::server::rest
