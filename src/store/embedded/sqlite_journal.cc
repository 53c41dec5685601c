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
#include "base/mutex.h"
#include "base/strings.h"
#include "store/embedded/checksum.h"
#include "store/embedded/content_reader.h"
#include "store/embedded/database_copy.h"
#include "store/embedded/database_file.h"
#include "store/embedded/messages.h"
#include "store/embedded/sqlite_statement.h"
#include "store/encryption/transformer.h"
#include "store/storage_key.h"

namespace portcullis::store {
namespace {

// A value could not be encrypted; SQLite has no such code.
constexpr int kNotEncrypted = -1;

// The row cannot be written, but others can.
bool IsAboutTheRow(int code) {
  if (code == kNotEncrypted) return true;
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
  OpenJournal(Database db, std::string path, const ContentReader::Names& names,
              std::shared_ptr<const Transformer> transformer, ContentReader::Seals seals)
      : db_(std::move(db)),
        path_(std::move(path)),
        transformer_(std::move(transformer)),
        begin_(db_.get(), "BEGIN"),
        commit_(db_.get(), "COMMIT"),
        rollback_(db_.get(), "ROLLBACK"),
        insert_(db_.get(), "INSERT INTO objects VALUES(?,?,?,?,?,?,?)"),
        remove_(db_.get(), "DELETE FROM objects WHERE revision=?"),
        set_revision_(db_.get(), "UPDATE meta SET value=?, checksum=? WHERE name='revision'"),
        add_collection_(db_.get(), "INSERT INTO collections VALUES(?,?,?,?)") {
    seals_ = std::move(seals);
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
    if (code == SQLITE_DONE) {
      if (transformer_ != nullptr) NoteSeals(events);
      return base::OkStatus();
    }

    base::Status error = WriteError(code);
    if (sqlite3_get_autocommit(db_.get()) == 0) rollback_.Run();
    Forget(first_new);
    return error;
  }

  bool IsStale(const Object& object) const override {
    if (transformer_ == nullptr) return false;
    Seal seal = kPlain;
    {
      const base::MutexLock lock(seals_mutex_);
      const auto it = seals_.find(object.revision());
      if (it != seals_.end()) seal = it->second;
    }
    return transformer_->IsStale({object.group(), object.resource()}, seal);
  }

  base::Result<std::unique_ptr<JournalBackup>> StartBackup(const std::string& path) override {
    return CopyDatabase(db_.get(), path);
  }

 private:
  // What the batch has written stands in the file now, what it has replaced does not.
  void NoteSeals(std::span<const EventPtr> events) {
    const base::MutexLock lock(seals_mutex_);
    seals_.insert(new_seals_.begin(), new_seals_.end());
    for (const EventPtr& event : events) {
      if (event->previous != nullptr) seals_.erase(event->previous->revision());
    }
  }

  int Write(std::span<const EventPtr> events, std::optional<std::size_t>& culprit) {
    new_seals_.clear();
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
    const std::string noted = WithNote(object);
    ObjectRow row{object.revision(),
                  it->second,
                  object.ns(),
                  object.name(),
                  static_cast<std::int64_t>(object.revision_at()),
                  noted.empty() ? object.bytes() : noted};
    std::string encrypted;
    if (transformer_ != nullptr && transformer_->Encrypts({object.group(), object.resource()})) {
      if (!Encrypt(object, row.bytes, encrypted)) return kNotEncrypted;
      row.bytes = encrypted;
    }
    return insert_.Bind(1, row.revision)
        .Bind(2, row.collection)
        .Bind(3, row.ns)
        .Bind(4, row.name)
        .Bind(5, row.revision_at)
        .BindBlob(6, row.bytes)
        .Bind(7, ChecksumOf(row))
        .Run();
  }

  // The bytes of an object with a blank behind them that stands for lacks_defaults(); "" without.
  static std::string WithNote(const Object& object) {
    return object.lacks_defaults() ? base::StrCat(object.bytes(), " ") : std::string();
  }

  bool Encrypt(const Object& object, std::string_view bytes, std::string& encrypted) {
    const Key key{object.group(), object.resource(), object.ns(), object.name()};
    auto sealed = transformer_->ToStorage(key.collection(), StorageKey(key), bytes);
    if (!sealed.ok()) {
      encryption_error_ = sealed.status().message();
      return false;
    }
    encrypted = std::move(sealed->bytes);
    new_seals_[object.revision()] = sealed->seal;
    return true;
  }

  // Takes back the collections a failed batch has numbered.
  void Forget(std::int64_t first_new) {
    if (next_id_ == first_new) return;
    std::erase_if(ids_, [&](const auto& entry) { return entry.second >= first_new; });
    next_id_ = first_new;
  }

  base::Status WriteError(int code) const {
    if (code == kNotEncrypted) return base::InternalError(encryption_error_);
    const bool full = (code & 0xff) == SQLITE_FULL || sqlite3_system_errno(db_.get()) == ENOSPC;
    if (full) return base::InternalError(messages::DiskFull(path_));
    return base::InternalError(messages::CannotWrite(path_, sqlite3_errmsg(db_.get())));
  }

  const Database db_;
  const std::string path_;
  const std::shared_ptr<const Transformer> transformer_;  // null: nothing is encrypted
  std::string encryption_error_;                          // of the last failure
  ContentReader::Seals new_seals_;                        // of the batch, by revision
  mutable base::Mutex seals_mutex_;
  ContentReader::Seals seals_ PC_GUARDED_BY(seals_mutex_);  // of all encrypted objects
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
                                                        const Options& options) {
  Database db = TRY(OpenDatabaseFile(path));
  // Else what is replaced by an encrypted value would remain readable in free pages.
  if (options.transformer != nullptr) TRY(Execute(db.get(), "PRAGMA secure_delete=ON", path));
  ContentReader reader(db.get(), path, options.transformer.get());
  TRY(reader.Read());
  if (!reader.damaged().empty()) {
    if (!options.skip_damaged) {
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
  for (const UnreadableObject& object : opened.content.unreadable) {
    base::LogError("an object cannot be decrypted; going on without it",
                   {{"database", path}, {"key", StorageKey(object.key())}, {"err", object.error}});
  }
  opened.journal = std::make_unique<OpenJournal>(std::move(db), path, reader.names(),
                                                 options.transformer, reader.TakeSeals());
  return opened;
}

}  // namespace portcullis::store
