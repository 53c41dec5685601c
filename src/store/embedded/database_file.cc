// SPDX-License-Identifier: Apache-2.0

#include "store/embedded/database_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "json/reader.h"
#include "store/embedded/checksum.h"
#include "store/embedded/messages.h"

namespace portcullis::store {
namespace {

constexpr std::int64_t kApplicationId = 0x50435354;  // "PCST"

constexpr const char* kSettings =
    "PRAGMA locking_mode=EXCLUSIVE;"
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"
    "PRAGMA cache_size=-2048;"
    "PRAGMA wal_autocheckpoint=2000;";

// The file is put in place when it is complete, so nothing has to be undone on the way.
constexpr const char* kNewFile =
    "PRAGMA page_size=16384;"
    "PRAGMA journal_mode=OFF;"
    "PRAGMA synchronous=OFF;"
    "BEGIN;"
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL,"
    " checksum INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE collections(id INTEGER PRIMARY KEY, api_group TEXT NOT NULL,"
    " resource TEXT NOT NULL, checksum INTEGER NOT NULL, UNIQUE(api_group, resource));"
    "CREATE TABLE objects(revision INTEGER PRIMARY KEY, collection INTEGER NOT NULL,"
    " namespace TEXT NOT NULL, name TEXT NOT NULL, revision_at INTEGER NOT NULL,"
    " bytes BLOB NOT NULL, checksum INTEGER NOT NULL);"
    "PRAGMA application_id=1346589524;"  // kApplicationId
    "COMMIT;";

constexpr const char* kChecksumColumns =
    "ALTER TABLE meta ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE collections ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE objects ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;";

base::Result<std::int64_t> Pragma(sqlite3* db, std::string_view sql, const std::string& path) {
  Statement row(db, sql);
  const int code = row.Step();
  if (code != SQLITE_ROW) return OpenError(db, code == SQLITE_DONE ? SQLITE_ERROR : code, path);
  return row.Int(0);
}

base::Status SystemError(const std::string& path) {
  return base::ConfigError(messages::CannotOpen(path, std::strerror(errno)));
}

// Flushes a file, or the entries of a folder, to the disk.
bool Sync(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  errno = error;
  return done;
}

base::Status Fill(const std::string& path) {
  const Database db = TRY(OpenFile(path));
  TRY(Execute(db.get(), kNewFile, path));
  TRY(SetMeta(db.get(), "format", kFormat, path));
  return SetMeta(db.get(), "revision", 1, path);
}

// Makes the file under another name first: a file of its own name is always complete, and an empty
// one therefore never ours.
base::Status Make(const std::string& path) {
  const std::string unfinished = path + ".new";
  ::unlink(unfinished.c_str());
  // Objects hold secrets; no other user may read them.
  const int fd = ::open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return SystemError(path);
  ::close(fd);
  base::Status filled = Fill(unfinished);
  if (!filled.ok()) {
    ::unlink(unfinished.c_str());
    return filled;
  }
  if (!Sync(unfinished, O_RDONLY)) return SystemError(path);
  return PlaceFile(unfinished, path, true);
}

// Whether there is a file; none that cannot be a database of ours.
base::Result<bool> IsThere(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) {
    if (S_ISREG(found.st_mode) && found.st_size == 0) {
      return base::ConfigError(messages::Empty(path));
    }
    return true;
  }
  if (errno != ENOENT) return SystemError(path);
  if (::stat((path + "-wal").c_str(), &found) == 0 && found.st_size > 0) {
    return base::ConfigError(messages::LogWithoutDatabase(path));
  }
  return false;
}

// Rows of format 1 have no checksums; the least that can be asked of them is looked at here.
bool IsSound(const Statement& row) {
  const std::string revision = std::to_string(row.Int(0));
  const std::string_view bytes = row.Bytes(5);
  const auto at = static_cast<std::size_t>(row.Int(4));
  json::Arena arena;
  return at <= bytes.size() && bytes.substr(at, revision.size()) == revision &&
         json::Parse(arena, bytes, {.borrow_text = true}).ok();
}

// Gives every row of format 1 its checksum, and those that are unsound a wrong one.
base::Status AddChecksums(sqlite3* db, const std::string& path) {
  TRY(Execute(db, kChecksumColumns, path));
  std::vector<std::pair<std::int64_t, std::int64_t>> checksums;
  Statement rows(db,
                 "SELECT revision, collection, namespace, name, revision_at, bytes FROM objects");
  int code = rows.Step();
  for (; code == SQLITE_ROW; code = rows.Step()) {
    const ObjectRow row{rows.Int(0),   rows.Int(1), rows.Bytes(2),
                        rows.Bytes(3), rows.Int(4), rows.Bytes(5)};
    checksums.emplace_back(row.revision, IsSound(rows) ? ChecksumOf(row) : -1);
  }
  if (code != SQLITE_DONE) return OpenError(db, code, path);
  Statement set(db, "UPDATE objects SET checksum=? WHERE revision=?");
  for (const auto& [revision, checksum] : checksums) {
    if (code = set.Bind(1, checksum).Bind(2, revision).Run(); code != SQLITE_DONE) {
      return OpenError(db, code, path);
    }
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> of_collections;
  Statement names(db, "SELECT id, api_group, resource FROM collections");
  while ((code = names.Step()) == SQLITE_ROW) {
    of_collections.emplace_back(names.Int(0),
                                ChecksumOfCollection(names.Int(0), names.Bytes(1), names.Bytes(2)));
  }
  Statement name(db, "UPDATE collections SET checksum=? WHERE id=?");
  for (const auto& [id, checksum] : of_collections) {
    if (code = name.Bind(1, checksum).Bind(2, id).Run(); code != SQLITE_DONE) break;
  }
  return code == SQLITE_DONE ? base::OkStatus() : OpenError(db, code, path);
}

base::Status Upgrade(sqlite3* db, std::int64_t format, const std::string& path) {
  const auto revision = TRY(Pragma(db, "SELECT value FROM meta WHERE name='revision'", path));
  // Format 3 only adds that values may be encrypted.
  if (format == 1) TRY(AddChecksums(db, path));
  TRY(SetMeta(db, "format", kFormat, path));
  return SetMeta(db, "revision", revision, path);
}

// A row that does not match its checksum is taken for one of this format; reading the content
// finds it again.
base::Result<std::int64_t> FormatOf(sqlite3* db, const std::string& path) {
  Statement row(db, "SELECT * FROM meta WHERE name='format'");
  const int code = row.Step();
  if (code == SQLITE_DONE) return kFormat;
  if (code != SQLITE_ROW) return OpenError(db, code, path);
  const bool has_checksum = row.columns() == 3;
  const bool damaged = has_checksum && row.Int(2) != ChecksumOfMeta("format", row.Int(1));
  return damaged ? kFormat : row.Int(1);
}

// That pages fit together. Rows are looked at when they are read.
base::Status CheckPages(sqlite3* db, const std::string& path) {
  Statement row(db, "PRAGMA quick_check(1)");
  const int code = row.Step();
  if (code != SQLITE_ROW) return OpenError(db, code, path);
  if (row.Bytes(0) == "ok") return base::OkStatus();
  return base::ConfigError(messages::Corrupt(path, row.Bytes(0)));
}

}  // namespace

base::Status OpenError(sqlite3* db, int code, const std::string& path) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return base::ConfigError(messages::InUse(path));
    case SQLITE_NOTADB:
      return base::ConfigError(messages::NotADatabase(path));
    case SQLITE_CORRUPT:
      return base::ConfigError(messages::Corrupt(path, sqlite3_errmsg(db)));
    case SQLITE_FULL:
      return base::ConfigError(messages::DiskFull(path));
    default: {
      const int os_error = sqlite3_system_errno(db);
      const char* why = os_error != 0 ? std::strerror(os_error) : sqlite3_errmsg(db);
      return base::ConfigError(messages::CannotOpen(path, why));
    }
  }
}

base::Status SetMeta(sqlite3* db, std::string_view name, std::int64_t value,
                     const std::string& path) {
  Statement set(db, "INSERT OR REPLACE INTO meta VALUES(?,?,?)");
  const int code = set.Bind(1, name).Bind(2, value).Bind(3, ChecksumOfMeta(name, value)).Run();
  return code == SQLITE_DONE ? base::OkStatus() : OpenError(db, code, path);
}

base::Status Execute(sqlite3* db, const char* sql, const std::string& path) {
  if (int code = sqlite3_exec(db, sql, nullptr, nullptr, nullptr); code != SQLITE_OK) {
    return OpenError(db, code, path);
  }
  return base::OkStatus();
}

base::Result<Database> OpenFile(const std::string& path) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database db(raw);
  if (code != SQLITE_OK) return OpenError(db.get(), code, path);
  sqlite3_extended_result_codes(db.get(), 1);
  return db;
}

base::Status SyncFile(const std::string& path) {
  return Sync(path, O_RDONLY) ? base::OkStatus() : SystemError(path);
}

base::Status SyncFolderOf(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return Sync(parent.empty() ? "." : parent.string(), O_RDONLY | O_DIRECTORY) ? base::OkStatus()
                                                                              : SystemError(path);
}

base::Status PlaceFile(const std::string& unfinished, const std::string& path, bool replace) {
  // Without `replace` a hard link: unlike rename() it never overwrites.
  const bool placed = replace ? ::rename(unfinished.c_str(), path.c_str()) == 0
                              : ::link(unfinished.c_str(), path.c_str()) == 0;
  const int error = errno;
  if (!placed || !replace) ::unlink(unfinished.c_str());
  if (!placed) {
    return base::ConfigError(
        base::StrCat("cannot write ", path, ": ",
                     error == EEXIST ? "there is a file of this name" : std::strerror(error)));
  }
  return SyncFolderOf(path);
}

base::Result<Database> LockDatabaseFile(const std::string& path) {
  if (!TRY(IsThere(path))) return base::ConfigError(messages::NotThere(path));
  Database db = TRY(OpenFile(path));
  if (sqlite3_db_readonly(db.get(), "main") == 1) {
    return base::ConfigError(messages::CannotOpen(path, std::strerror(EACCES)));
  }
  TRY(Execute(db.get(), kSettings, path));
  // Takes the lock, which locking_mode then keeps.
  TRY(Execute(db.get(), "BEGIN EXCLUSIVE", path));
  if (TRY(Pragma(db.get(), "PRAGMA application_id", path)) != kApplicationId) {
    return base::ConfigError(messages::Foreign(path));
  }
  return db;
}

base::Result<std::int64_t> BringUpToDate(sqlite3* db, const std::string& path) {
  const auto format = TRY(FormatOf(db, path));
  if (format > kFormat) {
    return base::ConfigError(
        messages::Newer(path, std::to_string(format), std::to_string(kFormat)));
  }
  if (format < kFormat) TRY(Upgrade(db, format, path));
  return format;
}

base::Result<Database> OpenDatabaseFile(const std::string& path) {
  if (!TRY(IsThere(path))) TRY(Make(path));
  ::chmod(path.c_str(), S_IRUSR | S_IWUSR);
  Database db = TRY(LockDatabaseFile(path));
  TRY(CheckPages(db.get(), path));
  TRY(BringUpToDate(db.get(), path));
  return db;
}

}  // namespace portcullis::store
