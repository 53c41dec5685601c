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
#include "server/discovery/documents.h"
#include "server/reply.h"
#include "server/rest/connect_options.h"
#include "server/rest/present.h"
#include "server/rest/verbs.h"
#include "server/rest_options.h"
#include "store/readable.h"
#include "store/store.h"

namespace portcullis::server::rest {

namespace {

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

// Kubernetes reads no version that is asked for, and calls them by their singular name when there is none.
VerbResult GetComponent(Call& call) {
  const auto found = call.env.documents->Components(call.arena, call.name);
  if (found.empty()) {
    return api::NotFoundStatus({call.kind().group, call.resource->singular}, call.name);
  }
  return PresentValue(call, 200, found.front());
}

// They have no version, and come in one page whatever is asked for.
VerbResult ListComponents(Call& call, const engine::Selection& selection) {
  std::vector<json::Value> found = call.env.documents->Components(call.arena, "");
  std::erase_if(found, [&](json::Value object) { return !selection.Matches(object); });
  return ValuesReply(call, found);
}

}  // namespace

bool AsksComponents(const Call& call) {
  const auto& resource = *call.resource;
  if (call.verb != engine::Verb::kGet && call.verb != engine::Verb::kList) return false;
  return !resource.custom && !resource.legacy && resource.storage_version_hash.empty() &&
         call.subresource == nullptr && engine::FindFunction(call) == nullptr;
}

VerbResult Get(Call& call) {
  if (const engine::Function function = engine::FindFunction(call)) {
    return OutcomeReply(call, TRY(engine::Finish(call, *function(call, {}))));
  }
  if (call.info.query.GetBool("export")) {
    return base::BadRequest("the export parameter, deprecated since v1.14, is no longer supported");
  }
  if (AsksComponents(call)) return GetComponent(call);
  TRY(CheckWantedRevision(call));
  const store::ObjectPtr object = TRY(store::GetReadable(*call.env.store, KeyOf(call, call.name)));
  if (object == nullptr) return api::NotFoundStatus(call.group_resource(), call.name);
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
  const engine::ListOptions options = TRY(ReadListOptions(call, false));
  const engine::Selection selection = TRY(ReadSelection(call, options));
  if (AsksComponents(call)) return ListComponents(call, selection);
  engine::Listing listing = TRY(ListObjects(call, options, selection));
  call.fetched = listing.fetched;
  call.returned = listing.objects.size();
  return ListReply(call, std::move(listing.objects), listing.meta);
}

}  // namespace portcullis::server::rest
