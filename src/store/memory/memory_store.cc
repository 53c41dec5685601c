// SPDX-License-Identifier: Apache-2.0

#include "store/memory/memory_store.h"

#include "store/engine/engine.h"

namespace portcullis::store {

std::unique_ptr<Store> OpenMemory(const Options& options) {
  return std::make_unique<Engine>(std::make_unique<NullJournal>(), Content(), options);
}

}  // namespace portcullis::store
