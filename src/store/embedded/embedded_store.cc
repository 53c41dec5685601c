#include "store/embedded/embedded_store.h"

#include "store/embedded/sqlite_journal.h"
#include "store/engine/engine.h"

namespace portcullis::store {

base::Result<std::unique_ptr<Store>> OpenEmbedded(const std::string& path, const Options& options) {
  SqliteJournal::Opened opened = TRY(SqliteJournal::Open(path));
  return std::unique_ptr<Store>(
      std::make_unique<Engine>(std::move(opened.journal), std::move(opened.content), options));
}

}  // namespace portcullis::store
