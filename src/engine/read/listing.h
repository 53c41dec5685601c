// SPDX-License-Identifier: Apache-2.0

// Listing: the objects of a collection as a list shows them, whole or a page of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "engine/read/selection.h"
#include "store/object.h"

namespace portcullis::engine {

struct ListMeta {
  std::string resource_version;
  std::string continue_token;
  std::size_t remaining = 0;  // not written if 0
  std::string shard;          // the selector that lists repeat; not written if ""
};

struct Listing {
  std::vector<store::ObjectPtr> objects;  // in the request's version
  ListMeta meta;
  std::size_t fetched = 0;  // so many have been looked at
};

// What the options ask for: resourceVersion, limit, continue. Errors have Kubernetes' texts: a
// version of the future, a token that cannot be read, a history that no longer reaches back.
base::Result<Listing> ListObjects(Operation& op, const ListOptions& options,
                                  const Selection& selection);

// Whether Kubernetes reads the resource from its watch cache: it has none of events.
bool IsCached(const api::catalog::ResourceInfo& resource);

// A resourceVersion as a number, 0 for "". An internal error as Kubernetes has it: callers that
// know better say so.
base::Result<std::int64_t> ReadRevision(std::string_view text);

// The store has not come as far as the version asked for. `retry_after`: seconds, 0 if waiting will
// not help.
base::Status TooLargeVersion(std::int64_t wanted, std::int64_t current, int retry_after = 1);

}  // namespace portcullis::engine
