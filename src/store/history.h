// The history of a store, which watches that resume and lists that continue read (Options).
#pragma once

#include "store/store.h"

namespace portcullis::store {

// Memory is short: drops the older half of every collection's history, but not what watchers have
// hardly had the time to see (Options::fresh_events). Watches and lists that reach back further end
// with kExpired. REQUIRES: the store was opened by OpenMemory() or OpenEmbedded(). Thread-safe.
void ShrinkHistory(Store& store);

}  // namespace portcullis::store
