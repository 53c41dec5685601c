// SPDX-License-Identifier: Apache-2.0

// Discovery of groups of which some version is served by an aggregated API server, in the order that the
// priorities of APIServices say (k8s.io/kube-aggregator/pkg/apiserver, apisHandler and apiGroupHandler;
// k8s.io/apiserver/pkg/endpoints/discovery/aggregated).
#pragma once

#include <string_view>

#include "json/value.h"
#include "server/aggregation/aggregation.h"
#include "store/store.h"

namespace portcullis::server {

// GET /apis, as all APIServices say.
json::Value MergedGroupList(json::Arena& arena, const store::Reader& store);
// GET /apis/<group>; null if no aggregated API server serves a version of it.
json::Value MergedGroup(json::Arena& arena, const store::Reader& store,
                        const Aggregation& aggregation, std::string_view group);
// An APIGroupDiscoveryList of what is served here, with what is known of the others.
json::Value WithAggregated(json::Arena& arena, json::Value list, const store::Reader& store,
                           const Aggregation& aggregation);

}  // namespace portcullis::server
