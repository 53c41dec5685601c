// SPDX-License-Identifier: Apache-2.0

#include "store/embedded/embedded_store.h"

#include "store/embedded/sqlite_journal.h"
#include "store/engine/engine.h"

namespace portcullis::store {

base::Result<std::unique_ptr<Store>> OpenEmbedded(const std::string& path, const Options& options,
                                                  std::size_t* set_aside) {
  SqliteJournal::Opened opened = TRY(SqliteJournal::Open(path, options));
  if (set_aside != nullptr) *set_aside = opened.set_aside;
  return std::unique_ptr<Store>(
      std::make_unique<Engine>(std::move(opened.journal), std::move(opened.content), options));
}

}  // namespace portcullis::store
