// SPDX-License-Identifier: Apache-2.0

// The store as plugins see it where there are initializers (docs/legacy.md): their lists lack the
// objects that are not initialized, as those of Kubernetes' informers do. A get by name shows them.
#pragma once

#include <memory>

#include "store/store.h"

namespace portcullis::engine {

// Thread-safe, as `all`, which outlives it.
std::unique_ptr<store::Reader> MakeInitializedReader(const store::Reader& all);

}  // namespace portcullis::engine
