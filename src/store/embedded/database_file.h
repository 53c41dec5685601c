// SPDX-License-Identifier: Apache-2.0

// The database file: found or made, locked, of a format this version can read and intact as far as
// SQLite can tell. The format is in docs/internals/store.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/embedded/sqlite_statement.h"

namespace portcullis::store {

// Opens the file at `path`; one that is not there is made, whole or not at all. The result is
// inside a transaction that holds the lock, in the newest format (older ones have been upgraded in
// that transaction): commit it when the content has been read, or close the database to change
// nothing.
base::Result<Database> OpenDatabaseFile(const std::string& path);

// The same of a file that is there, as it is: pages have not been looked at, nothing has been
// upgraded. For tools.
base::Result<Database> LockDatabaseFile(const std::string& path);
// Upgrades an older format, inside the transaction; the format that it had. Error: a newer one.
base::Result<std::int64_t> BringUpToDate(sqlite3* db, const std::string& path);
// Gives a complete file its name. Without `replace`, a file of this name is an error. On errors the
// unfinished file is removed.
base::Status PlaceFile(const std::string& unfinished, const std::string& path, bool replace);

// Opens a file that is there, whatever it is.
base::Result<Database> OpenFile(const std::string& path);
// Brings a file's content to the disk.
base::Status SyncFile(const std::string& path);
// Brings the name of a file to the disk.
base::Status SyncFolderOf(const std::string& path);
// The status for an error code while opening or reading `path`.
base::Status OpenError(sqlite3* db, int code, const std::string& path);
// The format this version writes, and a row of `meta` with its checksum.
inline constexpr std::int64_t kFormat = 3;
base::Status SetMeta(sqlite3* db, std::string_view name, std::int64_t value,
                     const std::string& path);
// Runs statements without results.
base::Status Execute(sqlite3* db, const char* sql, const std::string& path);

}  // namespace portcullis::store
