// SPDX-License-Identifier: Apache-2.0

// What a store gives back when memory is short. REQUIRES for all: the store was opened by
// OpenMemory() or OpenEmbedded(). Thread-safe.
#pragma once

#include "store/store.h"

namespace portcullis::store {

// Drops the older half of every collection's history, but not what watchers have hardly had the
// time to see (Options::fresh_events). Watches and lists that reach back further end with kExpired.
void ShrinkHistory(Store& store);

// Drops the parsed documents and the encodings (Object::document(), encoding()) of the objects that
// only the store holds.
void ForgetDocuments(Store& store);

}  // namespace portcullis::store
