// SPDX-License-Identifier: Apache-2.0

// MakeStoreFeed lets plugins watch collections of a store: the ObjectFeed of a real server.
#pragma once

#include <memory>

#include "admission/plugin.h"

namespace portcullis::store {
class Store;
}

namespace portcullis::admission {

// `store` outlives the feed and all its watches. `initializers`: objects that have initializers left
// (docs/legacy.md) count as absent. Thread-safe.
std::unique_ptr<ObjectFeed> MakeStoreFeed(store::Store& store, bool initializers = false);

}  // namespace portcullis::admission
