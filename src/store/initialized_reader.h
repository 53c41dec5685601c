// SPDX-License-Identifier: Apache-2.0

// The store as plugins and authorizers see it where there are initializers (docs/legacy.md): their lists lack the
// objects that are not initialized, as those of Kubernetes' informers do. A get by name shows them.
#pragma once

#include <memory>

#include "store/store.h"

namespace portcullis::store {

// Thread-safe, as `all`, which outlives it.
std::unique_ptr<Reader> MakeInitializedReader(const Reader& all);

}  // namespace portcullis::store
