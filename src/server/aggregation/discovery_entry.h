// SPDX-License-Identifier: Apache-2.0

// The entry of a version in an APIGroupDiscoveryList, without its freshness, of what an aggregated API
// server tells of itself: only the fields that the kind has.
#pragma once

#include <string_view>

#include "json/value.h"

namespace portcullis::server {

json::Value EmptyEntry(json::Arena& arena, std::string_view version);
// Of the entry in its own APIGroupDiscoveryList.
json::Value EntryOfAggregated(json::Arena& arena, json::Value entry);
// Of its APIResourceList.
json::Value EntryOfLegacy(json::Arena& arena, json::Value list, std::string_view version);

}  // namespace portcullis::server
