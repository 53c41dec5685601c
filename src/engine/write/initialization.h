// SPDX-License-Identifier: Apache-2.0

// What initializers change about writes (Kubernetes 1.7 to 1.13, docs/legacy.md). A create that
// leaves metadata.initializers in its object waits until controllers have worked off the names in
// it; an object whose initialization has failed is removed by the write that says so. All of this
// only where World::initializers is set: there the field exists.
#pragma once

#include "api/field_error.h"
#include "base/status.h"
#include "engine/operation.h"
#include "engine/outcome.h"
#include "json/value.h"
#include "store/object.h"

namespace portcullis::engine {

// Whether the object has initializers left; false where there are none at all.
bool IsBeingInitialized(const Operation& op, json::Value object);
// Whether initialization has ended with a result, which is a failure.
bool HasFailedInitialization(const Operation& op, json::Value object);

// Waits until the object that `created` has stored is initialized, and returns it as it is then. At most 30 seconds, and not longer than the operation
// has or the process runs (World::ending). Errors: the result of the initialization, the object's deletion, a timeout; the object of a
// create that has failed so is not removed. REQUIRES: the thread may wait.
base::Result<Outcome> AwaitInitialization(Operation& op, Outcome created);

// Checks metadata.initializers, of an update against the stored object too (null: of a create).
void CheckInitialization(const Operation& op, json::Value object, json::Value old,
                         api::FieldErrors& errors);
// Pods that are not initialized may change as new ones, except for their status. False: the update
// is judged as others are.
bool JudgesAsNew(const Operation& op, json::Value old, api::FieldErrors& errors);

}  // namespace portcullis::engine
