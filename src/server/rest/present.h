// SPDX-License-Identifier: Apache-2.0

// How objects and lists are shown: as they are, as a Table, or as PartialObjectMetadata.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/outcome.h"
#include "engine/read/listing.h"
#include "json/value.h"
#include "server/call.h"
#include "store/object.h"

namespace portcullis::server::rest {

// One object of the call's resource.
base::Result<Reply> ObjectReply(Call& call, int http_status, const store::ObjectPtr& object);
// `stored`: what the object was read from, if anything.
base::Result<Reply> PresentValue(Call& call, int http_status, json::Value object,
                                 const store::ObjectPtr& stored = nullptr);
// What became of an operation, in the form asked for.
base::Result<Reply> OutcomeReply(Call& call, const engine::Outcome& outcome);

base::Result<Reply> ListReply(Call& call, std::vector<store::ObjectPtr> objects,
                              const engine::ListMeta& meta);

// A short list of objects that are not stored.
base::Result<Reply> ValuesReply(Call& call, const std::vector<json::Value>& objects);

// The `object` of one watch event: JSON text in the form asked for. `first` tells tables to bring
// their column definitions.
base::Result<std::string> WatchObjectText(Call& call, const store::ObjectPtr& object, bool first);
// The object of a bookmark.
std::string BookmarkText(Call& call, std::int64_t revision, bool initial_events_end);

json::Value PartialMetadata(json::Arena& arena, const api::catalog::ResourceInfo& resource,
                            json::Value object, std::string_view version);

}  // namespace portcullis::server::rest
