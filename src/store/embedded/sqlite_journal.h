// SqliteJournal keeps the objects in one SQLite file; see docs/internals/store.md for the format.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "store/engine/journal.h"

namespace portcullis::store {

class SqliteJournal : public Journal {
 public:
  struct Opened {
    std::unique_ptr<Journal> journal;
    Content content;
  };
  // Opens or makes the file and reads all of it. For errors see OpenEmbedded().
  static base::Result<Opened> Open(const std::string& path);
};

}  // namespace portcullis::store
