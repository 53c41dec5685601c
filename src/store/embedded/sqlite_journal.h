// SPDX-License-Identifier: Apache-2.0

// SqliteJournal keeps the objects in one SQLite file; see docs/internals/store.md for the format.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "store/cache/cache.h"
#include "store/engine/journal.h"
#include "store/options.h"

namespace portcullis::store {

class SqliteJournal : public Journal {
 public:
  struct Opened {
    std::unique_ptr<Journal> journal;
    Content content;
    std::size_t set_aside = 0;  // rows of the table `damaged`
  };
  // Opens or makes the file and reads all of it. See OpenEmbedded().
  static base::Result<Opened> Open(const std::string& path, const Options& options);
};

}  // namespace portcullis::store
