// SPDX-License-Identifier: Apache-2.0

// The verbs that write, each the whole way from the bytes of a request to the committed object.
// Errors are those of kube-apiserver. The operation has its resource, subresource, user and catalog
// filled in and has been authorized.
#pragma once

#include <memory>

#include "admission/asks_outside.h"
#include "base/status.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "engine/outcome.h"
#include "engine/read/listing.h"
#include "engine/read/selection.h"
#include "engine/write/execution.h"

namespace portcullis::engine {

// Creates, updates or patches, by op.verb, a resource or a subresource; functions of subresources.h
// do what is no plain write. REQUIRES: op.verb is one of the three.
base::Result<Outcome> Write(Operation& op, const Input& input);
// The same as an execution: it stops at each commit, so that no thread is held while the store
// writes.
std::unique_ptr<Execution> BeginWrite(Operation& op, const Input& input);

base::Result<Outcome> Delete(Operation& op, const DeleteOptions& options);
// The same as an execution.
std::unique_ptr<Execution> BeginDelete(Operation& op, DeleteOptions options);
// What has been deleted, in the state before.
base::Result<Listing> DeleteCollection(Operation& op, const ListOptions& list,
                                       const DeleteOptions& options);

// What the operation may have to wait for besides the commits at which it stops: for an answer from
// outside the process (webhook, authorizer, the other end of a connection), for controllers, or for
// writes within, as DeleteCollection does. Known before it starts, from its verb and resource. One
// that waits for nothing runs from commit to commit on any thread; one that waits for calls, on any
// thread or fiber.
admission::Waits WaitsOf(const Operation& op);

// Whether the operation may calculate for long although its request is small: it lists, writes what
// has expressions to compile or to evaluate, concerns a large stored object, or reviews access. Known
// as WaitsOf() is, for the same purpose: such an operation must not hold up the thread of others.
bool MayTakeLong(const Operation& op);

}  // namespace portcullis::engine
