// SPDX-License-Identifier: Apache-2.0

// Reads all objects below the prefix, as they are at one revision.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/status.h"
#include "etcd/client.h"
#include "store/cache/cache.h"
#include "store/etcd/value_reader.h"

namespace portcullis::store {

struct Listing {
  Content content;
  std::int64_t rules_revision = 0;  // see rules.h
};

// Waits for etcd, page by page, each until the time `per_page` has passed. Not on the client's loop.
// An object that cannot be read becomes one of Content::unreadable. `at_new_revision`: the key of the
// rules is written before, so that the state is newer than any that has been seen.
base::Result<Listing> ReadAll(etcd::Client& client, ValueReader& reader, const base::Clock& clock,
                              base::Duration per_page, bool at_new_revision = false);

}  // namespace portcullis::store
