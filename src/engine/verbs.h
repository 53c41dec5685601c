// The verbs that write, each the whole way from the bytes of a request to the committed object.
// Errors are those of kube-apiserver. The operation has its resource, subresource, user and catalog
// filled in and has been authorized.
#pragma once

#include "base/status.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "engine/outcome.h"
#include "engine/read/listing.h"
#include "engine/read/selection.h"

namespace portcullis::engine {

// Of a resource or a subresource; functions of subresources.h do what is no plain write.
base::Result<Outcome> Create(Operation& op, const Input& input);
base::Result<Outcome> Update(Operation& op, const Input& input);
base::Result<Outcome> Patch(Operation& op, const Input& input);

base::Result<Outcome> Delete(Operation& op, const DeleteOptions& options);
// What has been deleted, in the state before.
base::Result<Listing> DeleteCollection(Operation& op, const ListOptions& list,
                                       const DeleteOptions& options);

}  // namespace portcullis::engine
