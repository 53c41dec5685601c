// SPDX-License-Identifier: Apache-2.0

// The table of objects is keyed by revision: each write puts its row at the end, so that a batch
// touches one or two pages however many objects it has, and the row an update or a deletion
// replaces is found by the revision the engine already knows. Only a deletion leaves no row, hence
// the counter in `meta`, which is written when the last write of a batch is one.

#include "store/embedded/sqlite_journal.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "store/embedded/checksum.h"
#include "store/embedded/content_reader.h"
#include "store/embedded/database_file.h"
#include "store/embedded/messages.h"
#include "store/embedded/sqlite_statement.h"

namespace portcullis::store {
namespace {

// The row cannot be written, but others can.
bool IsAboutTheRow(int code) {
  switch (code & 0xff) {
    case SQLITE_TOOBIG:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_NOMEM:
    case SQLITE_RANGE:
      return true;
    default:
      return false;
  }
}

class OpenJournal final : public SqliteJournal {
 public:
  OpenJournal(Database db, std::string path, const ContentReader::Names& names)
      : db_(std::move(db)),
        path_(std::move(path)),
        begin_(db_.get(), "BEGIN"),
        commit_(db_.get(), "COMMIT"),
        rollback_(db_.get(), "ROLLBACK"),
        insert_(db_.get(), "INSERT INTO objects VALUES(?,?,?,?,?,?,?)"),
        remove_(db_.get(), "DELETE FROM objects WHERE revision=?"),
        set_revision_(db_.get(), "UPDATE meta SET value=?, checksum=? WHERE name='revision'"),
        add_collection_(db_.get(), "INSERT INTO collections VALUES(?,?,?,?)") {
    for (const auto& [id, name] : names) {
      ids_[{name->group, name->resource}] = id;
      next_id_ = std::max(next_id_, id + 1);
    }
  }

  base::Status Commit(std::span<const EventPtr> events,
                      std::optional<std::size_t>& culprit) override {
    const std::int64_t first_new = next_id_;
    int code = begin_.Run();
    if (code == SQLITE_DONE) code = Write(events, culprit);
    if (code == SQLITE_DONE) code = commit_.Run();
    if (code == SQLITE_DONE) return base::OkStatus();

    base::Status error = WriteError(code);
    if (sqlite3_get_autocommit(db_.get()) == 0) rollback_.Run();
    Forget(first_new);
    return error;
  }

 private:
  int Write(std::span<const EventPtr> events, std::optional<std::size_t>& culprit) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      const int code = Write(*events[i]);
      if (code == SQLITE_DONE) continue;
      if (IsAboutTheRow(code)) culprit = i;
      return code;
    }
    if (events.back()->type != EventType::kDeleted) return SQLITE_DONE;
    const std::int64_t revision = events.back()->revision;
    return set_revision_.Bind(1, revision).Bind(2, ChecksumOfMeta("revision", revision)).Run();
  }

  int Write(const Event& event) {
    if (event.previous != nullptr) {
      const int code = remove_.Bind(1, event.previous->revision()).Run();
      if (code != SQLITE_DONE) return code;
    }
    return event.type == EventType::kDeleted ? SQLITE_DONE : Insert(*event.object);
  }

  int Insert(const Object& object) {
    auto [it, added] = ids_.try_emplace({object.group(), object.resource()}, next_id_);
    if (added) {
      ++next_id_;
      add_collection_.Bind(1, it->second).Bind(2, object.group()).Bind(3, object.resource());
      add_collection_.Bind(4, ChecksumOfCollection(it->second, object.group(), object.resource()));
      if (int code = add_collection_.Run(); code != SQLITE_DONE) return code;
    }
    const ObjectRow row{object.revision(),
                        it->second,
                        object.ns(),
                        object.name(),
                        static_cast<std::int64_t>(object.revision_at()),
                        object.bytes()};
    return insert_.Bind(1, row.revision)
        .Bind(2, row.collection)
        .Bind(3, row.ns)
        .Bind(4, row.name)
        .Bind(5, row.revision_at)
        .BindBlob(6, row.bytes)
        .Bind(7, ChecksumOf(row))
        .Run();
  }

  // Takes back the collections a failed batch has numbered.
  void Forget(std::int64_t first_new) {
    if (next_id_ == first_new) return;
    std::erase_if(ids_, [&](const auto& entry) { return entry.second >= first_new; });
    next_id_ = first_new;
  }

  base::Status WriteError(int code) const {
    const bool full = (code & 0xff) == SQLITE_FULL || sqlite3_system_errno(db_.get()) == ENOSPC;
    if (full) return base::InternalError(messages::DiskFull(path_));
    return base::InternalError(messages::CannotWrite(path_, sqlite3_errmsg(db_.get())));
  }

  const Database db_;
  const std::string path_;
  Statement begin_, commit_, rollback_, insert_, remove_, set_revision_, add_collection_;
  std::map<std::pair<std::string, std::string>, std::int64_t> ids_;
  std::int64_t next_id_ = 1;
};

// `a, b, c and 17 more`
std::string Listed(const std::vector<std::string>& damaged) {
  constexpr std::size_t kNamed = 10;
  const auto end = damaged.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, damaged.size()));
  std::string text = base::Join(std::vector<std::string>(damaged.begin(), end), ", ");
  if (damaged.size() > kNamed) {
    text += base::StrCat(" and ", std::to_string(damaged.size() - kNamed), " more");
  }
  return text;
}

base::Status SetAside(ContentReader& reader, const std::string& path) {
  for (const std::string& what : reader.damaged()) {
    base::LogError("damaged in the database; going on without it",
                   {{"database", path}, {"what", what}});
  }
  TRY(reader.SetDamagedAside());
  return reader.Read();
}

}  // namespace

base::Result<SqliteJournal::Opened> SqliteJournal::Open(const std::string& path,
                                                        bool skip_damaged) {
  Database db = TRY(OpenDatabaseFile(path));
  ContentReader reader(db.get(), path);
  TRY(reader.Read());
  if (!reader.damaged().empty()) {
    if (!skip_damaged) {
      return base::ConfigError(messages::DamagedRows(path, Listed(reader.damaged())));
    }
    TRY(SetAside(reader, path));
  }
  Opened opened;
  opened.set_aside = TRY(reader.CountSetAside());
  if (opened.set_aside > 0) {
    base::LogWarning(
        "objects that were found damaged are not served; they are in the table damaged",
        {{"database", path}, {"count", std::to_string(opened.set_aside)}});
  }
  TRY(Execute(db.get(), "COMMIT", path));
  opened.content = reader.TakeContent();
  opened.journal = std::make_unique<OpenJournal>(std::move(db), path, reader.names());
  return opened;
}

}  // namespace portcullis::store
