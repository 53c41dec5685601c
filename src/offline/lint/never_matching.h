// SPDX-License-Identifier: Apache-2.0

// Rules of webhooks and policies that name no resource. Pure functions.
#pragma once

#include "api/catalog/catalog.h"
#include "json/value.h"

namespace portcullis::offline {

// Whether the groups of the rule are known, and none of their resources is named by it. Of a group that the
// catalog does not have nothing is said: it may be a custom resource's.
bool MatchesNothing(const api::catalog::Catalog& catalog, json::Value rule);

}  // namespace portcullis::offline
