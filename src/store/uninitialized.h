// SPDX-License-Identifier: Apache-2.0

// Whether an object in the store waits for initializers (docs/legacy.md).
#pragma once

#include "store/object.h"

namespace portcullis::store {

// Whether metadata.initializers is there. Mostly a search in the bytes; the document of an object
// that has such a field somewhere is kept. Asked only where there are initializers: in other servers
// the field means nothing.
bool IsUninitialized(const Object& object);

}  // namespace portcullis::store
