// Deletion: the way of an object out of the store, with preconditions, admission, grace period and
// finalizers (k8s.io/apiserver/pkg/registry/generic/registry, Store.Delete; rest.BeforeDelete).
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"
#include "server/call.h"
#include "server/rest_options.h"
#include "store/object.h"

namespace portcullis::server::rest {

struct Deleted {
  bool gone = false;   // for good, not merely marked
  json::Value object;  // the last state, in the request's version
};

base::Result<Deleted> DeleteObject(Call& call, std::string_view name, const DeleteOptions& options);

// The same for a removal that is part of another request, which has been reviewed itself.
base::Result<Deleted> DeleteUnreviewed(Call& call, std::string_view name,
                                       const DeleteOptions& options);

// Deletes one after the other, as a deletecollection does; what is no longer there is no error.
// Ends at the first failure: what came before it is deleted. What admission has let pass is
// committed many at a time.
base::Status DeleteEach(Call& call, const std::vector<store::ObjectPtr>& objects,
                        const DeleteOptions& options);

}  // namespace portcullis::server::rest
