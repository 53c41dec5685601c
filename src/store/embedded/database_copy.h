// SPDX-License-Identifier: Apache-2.0

// A copy of an open database, made while it is written to: Journal::StartBackup() of the SQLite
// journal. Pages are copied as they are, encrypted values stay encrypted.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "store/embedded/sqlite_statement.h"
#include "store/engine/journal.h"

namespace portcullis::store {

// `source` is not inside a transaction between two steps, and outlives the result. The file at
// `path` is made, readable for its owner alone. Errors: `open /x: file exists`, the disk is full.
base::Result<std::unique_ptr<JournalBackup>> CopyDatabase(sqlite3* source, const std::string& path);

}  // namespace portcullis::store
