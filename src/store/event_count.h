// SPDX-License-Identifier: Apache-2.0

// How much has happened, for metrics. REQUIRES: the store is one of those that keep all objects in
// memory (store/cache/cache.h), as all have that this module opens. Thread-safe.
#pragma once

#include <cstdint>

#include "store/store.h"

namespace portcullis::store {

// Writes to the collection that have become visible since the store was opened.
std::uint64_t CountEvents(const Store& store, const Collection& collection);

}  // namespace portcullis::store
