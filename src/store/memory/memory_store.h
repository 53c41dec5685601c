// SPDX-License-Identifier: Apache-2.0

// A store without durability: everything is gone when it is destroyed. For tests, the offline
// commands and `--store=memory`; behaves otherwise exactly as the embedded store, whose engine it
// is.
#pragma once

#include <memory>

#include "store/options.h"
#include "store/store.h"

namespace portcullis::store {

std::unique_ptr<Store> OpenMemory(const Options& options = {});

}  // namespace portcullis::store
