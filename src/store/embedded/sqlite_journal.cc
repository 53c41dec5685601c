// The table of objects is keyed by revision: each write puts its row at the end, so that a batch
// touches one or two pages however many objects it has, and the row an update or a deletion
// replaces is found by the revision the engine already knows. Only a deletion leaves no row, hence
// the counter in `meta`, which is written when the last write of a batch is one.

#include "store/embedded/sqlite_journal.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "base/strings.h"
#include "store/embedded/messages.h"
#include "store/embedded/sqlite_statement.h"

namespace portcullis::store {
namespace {

constexpr std::int64_t kFormat = 1;
constexpr std::int64_t kApplicationId = 0x50435354;  // "PCST"

constexpr const char* kSettings =
    "PRAGMA page_size=16384;"
    "PRAGMA locking_mode=EXCLUSIVE;"
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"
    "PRAGMA cache_size=-2048;"
    "PRAGMA wal_autocheckpoint=2000;";

constexpr const char* kTables =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE collections(id INTEGER PRIMARY KEY, api_group TEXT NOT NULL,"
    " resource TEXT NOT NULL, UNIQUE(api_group, resource));"
    "CREATE TABLE objects(revision INTEGER PRIMARY KEY, collection INTEGER NOT NULL,"
    " namespace TEXT NOT NULL, name TEXT NOT NULL, revision_at INTEGER NOT NULL,"
    " bytes BLOB NOT NULL);"
    "INSERT INTO meta VALUES('format', 1), ('revision', 1);"
    "PRAGMA application_id=1346589524;";  // kApplicationId

// The status for an error code while opening or reading `path`.
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

class ContentReader {
 public:
  ContentReader(sqlite3* db, const std::string& path) : db_(db), path_(path) {}

  // Names of collections by their number in the file.
  using Names = std::map<std::int64_t, std::shared_ptr<const CollectionName>>;

  base::Result<Names> ReadNames() {
    Names names;
    Statement rows(db_, "SELECT id, api_group, resource FROM collections");
    int code = rows.Step();
    for (; code == SQLITE_ROW; code = rows.Step()) {
      names[rows.Int(0)] = std::make_shared<const CollectionName>(
          CollectionName{std::string(rows.Bytes(1)), std::string(rows.Bytes(2))});
    }
    if (code != SQLITE_DONE) return OpenError(db_, code, path_);
    return names;
  }

  base::Result<Content> ReadContent(const Names& names) {
    Content content;
    content.revision = TRY(Meta("revision"));
    Statement rows(db_,
                   "SELECT revision, collection, namespace, name, revision_at, bytes"
                   " FROM objects ORDER BY revision");
    int code = rows.Step();
    for (; code == SQLITE_ROW; code = rows.Step()) {
      ObjectPtr object = TRY(ReadObject(rows, names));
      content.revision = std::max(content.revision, object->revision());
      content.objects.push_back(std::move(object));
    }
    if (code != SQLITE_DONE) return OpenError(db_, code, path_);
    return content;
  }

  base::Result<std::int64_t> Meta(std::string_view name) {
    Statement row(db_, "SELECT value FROM meta WHERE name=?");
    const int code = row.Bind(1, name).Step();
    if (code == SQLITE_ROW) return row.Int(0);
    if (code == SQLITE_DONE) {
      return base::ConfigError(messages::Corrupt(path_, base::StrCat("no ", name, " in meta")));
    }
    return OpenError(db_, code, path_);
  }

 private:
  base::Result<ObjectPtr> ReadObject(Statement& row, const Names& names) {
    const std::int64_t revision = row.Int(0);
    const std::string_view bytes = row.Bytes(5);
    const auto revision_at = static_cast<std::size_t>(row.Int(4));
    auto name = names.find(row.Int(1));
    // SQLite does not notice a flipped bit inside a value; this finds the worst of them.
    const std::string text = std::to_string(revision);
    if (name == names.end() || revision_at > bytes.size() ||
        bytes.substr(revision_at, text.size()) != text) {
      return base::ConfigError(
          messages::Corrupt(path_, base::StrCat("the object of revision ", text, " is garbled")));
    }
    return ObjectPtr(Object::Make(name->second, row.Bytes(2), row.Bytes(3), revision,
                                  bytes.substr(0, revision_at),
                                  bytes.substr(revision_at + text.size())));
  }

  sqlite3* db_;
  const std::string& path_;
};

class OpenJournal final : public SqliteJournal {
 public:
  OpenJournal(Database db, std::string path, const ContentReader::Names& names)
      : db_(std::move(db)),
        path_(std::move(path)),
        begin_(db_.get(), "BEGIN"),
        commit_(db_.get(), "COMMIT"),
        rollback_(db_.get(), "ROLLBACK"),
        insert_(db_.get(), "INSERT INTO objects VALUES(?,?,?,?,?,?)"),
        remove_(db_.get(), "DELETE FROM objects WHERE revision=?"),
        set_revision_(db_.get(), "UPDATE meta SET value=? WHERE name='revision'"),
        add_collection_(db_.get(), "INSERT INTO collections VALUES(?,?,?)") {
    for (const auto& [id, name] : names) ids_[{name->group, name->resource}] = id;
  }

  base::Status Commit(std::span<const EventPtr> events) override {
    const std::size_t known = ids_.size();
    int code = begin_.Run();
    if (code == SQLITE_DONE) code = Write(events);
    if (code == SQLITE_DONE) code = commit_.Run();
    if (code == SQLITE_DONE) return base::OkStatus();

    base::Status error = WriteError(code);
    if (sqlite3_get_autocommit(db_.get()) == 0) rollback_.Run();
    if (ids_.size() != known) Forget(known);
    return error;
  }

 private:
  int Write(std::span<const EventPtr> events) {
    int code = SQLITE_DONE;
    for (const EventPtr& event : events) {
      if (event->previous != nullptr) code = remove_.Bind(1, event->previous->revision()).Run();
      if (code == SQLITE_DONE && event->type != EventType::kDeleted) code = Insert(*event->object);
      if (code != SQLITE_DONE) return code;
    }
    if (events.back()->type == EventType::kDeleted) {
      code = set_revision_.Bind(1, events.back()->revision).Run();
    }
    return code;
  }

  int Insert(const Object& object) {
    auto [it, added] = ids_.try_emplace({object.group(), object.resource()}, std::int64_t{0});
    if (added) {
      it->second = static_cast<std::int64_t>(ids_.size());
      add_collection_.Bind(1, it->second).Bind(2, object.group()).Bind(3, object.resource());
      if (int code = add_collection_.Run(); code != SQLITE_DONE) return code;
    }
    return insert_.Bind(1, object.revision())
        .Bind(2, it->second)
        .Bind(3, object.ns())
        .Bind(4, object.name())
        .Bind(5, static_cast<std::int64_t>(object.revision_at()))
        .BindBlob(6, object.bytes())
        .Run();
  }

  // Takes back the collections a failed batch has numbered.
  void Forget(std::size_t known) {
    std::erase_if(
        ids_, [&](const auto& entry) { return entry.second > static_cast<std::int64_t>(known); });
  }

  base::Status WriteError(int code) const {
    const bool full = (code & 0xff) == SQLITE_FULL || sqlite3_system_errno(db_.get()) == ENOSPC;
    if (full) return base::InternalError(messages::DiskFull(path_));
    return base::InternalError(messages::CannotWrite(path_, sqlite3_errmsg(db_.get())));
  }

  const Database db_;
  const std::string path_;
  Statement begin_, commit_, rollback_, insert_, remove_, set_revision_, add_collection_;
  std::map<std::pair<std::string, std::string>, std::int64_t> ids_;  // 1, 2, 3 … without gaps
};

base::Result<std::int64_t> Pragma(sqlite3* db, std::string_view sql, const std::string& path) {
  Statement row(db, sql);
  const int code = row.Step();
  if (code != SQLITE_ROW) return OpenError(db, code == SQLITE_DONE ? SQLITE_ERROR : code, path);
  return row.Int(0);
}

base::Status Execute(sqlite3* db, const char* sql, const std::string& path) {
  if (int code = sqlite3_exec(db, sql, nullptr, nullptr, nullptr); code != SQLITE_OK) {
    return OpenError(db, code, path);
  }
  return base::OkStatus();
}

// Makes the tables in an empty file, or checks that they are ours.
base::Status Prepare(sqlite3* db, const std::string& path) {
  // Takes the lock, which locking_mode then keeps.
  TRY(Execute(db, "BEGIN EXCLUSIVE", path));
  const bool empty = TRY(Pragma(db, "SELECT count(*) FROM sqlite_schema", path)) == 0;
  if (empty) {
    TRY(Execute(db, kTables, path));
  } else {
    if (TRY(Pragma(db, "PRAGMA application_id", path)) != kApplicationId) {
      return base::ConfigError(messages::Foreign(path));
    }
    const std::int64_t format = TRY(ContentReader(db, path).Meta("format"));
    if (format > kFormat) {
      return base::ConfigError(
          messages::Newer(path, std::to_string(format), std::to_string(kFormat)));
    }
  }
  return Execute(db, "COMMIT", path);
}

}  // namespace

base::Result<SqliteJournal::Opened> SqliteJournal::Open(const std::string& path) {
  sqlite3* raw = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database db(raw);
  if (code != SQLITE_OK) return OpenError(db.get(), code, path);
  if (sqlite3_db_readonly(db.get(), "main") == 1) {
    return base::ConfigError(messages::CannotOpen(path, std::strerror(EACCES)));
  }
  // Objects hold secrets; nobody else may read them.
  ::chmod(path.c_str(), S_IRUSR | S_IWUSR);
  sqlite3_extended_result_codes(db.get(), 1);
  TRY(Execute(db.get(), kSettings, path));
  TRY(Prepare(db.get(), path));
  ContentReader reader(db.get(), path);
  ContentReader::Names names = TRY(reader.ReadNames());
  Content content = TRY(reader.ReadContent(names));
  return Opened{std::make_unique<OpenJournal>(std::move(db), path, names), std::move(content)};
}

}  // namespace portcullis::store
