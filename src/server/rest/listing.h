// Listing: the objects of a collection as a list shows them, whole or a page of it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "server/call.h"
#include "server/rest/present.h"
#include "server/rest/selection.h"
#include "server/rest_options.h"
#include "store/object.h"

namespace portcullis::server::rest {

struct Listing {
  std::vector<store::ObjectPtr> objects;  // in the request's version
  ListMeta meta;
};

// What the options ask for: resourceVersion, limit, continue. Errors have Kubernetes' texts: a
// version of the future, a token that cannot be read, a history that no longer reaches back.
base::Result<Listing> ListObjects(Call& call, const ListOptions& options,
                                  const Selection& selection);

// The store has not come as far as the version asked for. `retry_after`: seconds, 0 if waiting will
// not help.
base::Status TooLargeVersion(std::int64_t wanted, std::int64_t current, int retry_after = 1);

}  // namespace portcullis::server::rest
