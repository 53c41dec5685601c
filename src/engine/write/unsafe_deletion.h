// SPDX-License-Identifier: Apache-2.0

// Deletions of objects that cannot be read (gate AllowUnsafeMalformedObjectDeletion; apiserver,
// registry/generic/registry/corrupt_obj_deleter.go).
#pragma once

#include "base/status.h"
#include "engine/operation.h"

namespace portcullis::engine {

// Whether one may go on, before anything else is looked at: the user needs a right of its own, and an object
// that can be read, or is not there, is refused.
base::Status CheckUnsafeDeletion(Operation& op);

}  // namespace portcullis::engine
