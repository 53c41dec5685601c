// SPDX-License-Identifier: Apache-2.0

#include "store/embedded/maintenance.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "json/reader.h"
#include "store/embedded/content_reader.h"
#include "store/embedded/database_copy.h"
#include "store/embedded/database_file.h"
#include "store/embedded/messages.h"
#include "store/embedded/sqlite_journal.h"
#include "store/storage_key.h"

namespace portcullis::store {
namespace {

constexpr std::size_t kEventsAtOnce = 1000;
constexpr const char* kPageCheck = "PRAGMA integrity_check(100)";

// Locks a database that is only read: what is in its log is left there. Without a log, closing
// removes the empty one that locking makes.
base::Result<Database> LockToRead(const std::string& path) {
  struct stat log {};
  const bool has_log = ::stat((path + "-wal").c_str(), &log) == 0 && log.st_size > 0;
  Database db = TRY(LockDatabaseFile(path));
  if (has_log) sqlite3_db_config(db.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return db;
}

void CheckPages(sqlite3* db, std::vector<std::string>& damaged) {
  Statement rows(db, kPageCheck);
  int code = rows.Step();
  for (; code == SQLITE_ROW; code = rows.Step()) {
    if (rows.Bytes(0) != "ok") damaged.emplace_back(rows.Bytes(0));
  }
  if (code != SQLITE_DONE) damaged.emplace_back(sqlite3_errmsg(db));
}

// What is wrong with an object although its row is as it was written; "" if nothing is.
std::string WrongContent(const Object& object) {
  json::Arena arena;
  const auto parsed = json::Parse(arena, object.bytes(), {.borrow_text = true});
  if (!parsed.ok()) return base::StrCat("is no JSON: ", parsed.status().message());
  const json::Value metadata = (*parsed)["metadata"];
  if (metadata["name"].AsString() != object.name() ||
      metadata["namespace"].AsString() != object.ns()) {
    return base::StrCat("says that it is ", base::GoQuote(metadata["namespace"].AsString()), "/",
                        base::GoQuote(metadata["name"].AsString()));
  }
  if (metadata["resourceVersion"].AsString() != std::to_string(object.revision())) {
    return base::StrCat("has another resourceVersion than its row");
  }
  return {};
}

void CheckContent(const Content& content, DatabaseReport& report) {
  std::set<std::string> seen;
  for (const ObjectPtr& object : content.objects) {
    const std::string key =
        StorageKey({object->group(), object->resource(), object->ns(), object->name()});
    std::string wrong = WrongContent(*object);
    if (wrong.empty() && !seen.insert(key).second) wrong = "is there twice";
    if (!wrong.empty()) {
      report.damaged.push_back(
          base::StrCat(key, " of revision ", std::to_string(object->revision()), " ", wrong));
      continue;
    }
    ++report.objects;
  }
  for (const UnreadableObject& object : content.unreadable) {
    report.unreadable.push_back(base::StrCat(StorageKey(object.key()), ": ", object.error));
    ++report.encrypted;
  }
}

// Takes what can be taken of an old database that is about to be replaced out of its log, so that
// replacing the file replaces all of it.
base::Status FoldLog(const std::string& path) {
  const std::string log = path + "-wal";
  if (::access(log.c_str(), F_OK) != 0) return base::OkStatus();
  if (auto old = LockDatabaseFile(path); old.ok()) {
    TRY(Execute(old->get(), "COMMIT", path));
    (void)Execute(old->get(), "PRAGMA wal_checkpoint(TRUNCATE)", path);
  } else if (old.status().message() == messages::InUse(path)) {
    return old.status();
  }
  ::unlink(log.c_str());
  return base::OkStatus();
}

base::Status PutInPlace(const std::string& unfinished, const std::string& path, bool replace) {
  if (replace) {
    if (base::Status folded = FoldLog(path); !folded.ok()) {
      ::unlink(unfinished.c_str());
      return folded;
    }
  }
  return PlaceFile(unfinished, path, replace);
}

base::Status CheckFree(const std::string& path, bool replace) {
  if (replace || ::access(path.c_str(), F_OK) != 0) return base::OkStatus();
  return base::ConfigError(base::StrCat("cannot write ", path, ": there is a file of this name"));
}

base::Status Fill(const std::string& path, const Content& content, const Transformer* transformer) {
  std::vector<EventPtr> events;
  for (const ObjectPtr& object : content.objects) {
    events.push_back(std::make_shared<const Event>(
        Event{EventType::kAdded, object->revision(), object, nullptr}));
  }
  std::sort(events.begin(), events.end(),
            [](const EventPtr& a, const EventPtr& b) { return a->revision < b->revision; });
  Options options;
  // Not owned: the caller's outlives this.
  if (transformer != nullptr) {
    options.transformer = std::shared_ptr<const Transformer>(std::shared_ptr<void>(), transformer);
  }
  const auto opened = TRY(SqliteJournal::Open(path, options));
  for (std::span<const EventPtr> rest = events; !rest.empty();) {
    const auto batch = rest.first(std::min(rest.size(), kEventsAtOnce));
    std::optional<std::size_t> culprit;
    TRY(opened.journal->Commit(batch, culprit));
    rest = rest.subspan(batch.size());
  }
  return base::OkStatus();
}

base::Status SetRevision(const std::string& path, std::int64_t revision) {
  const Database db = TRY(LockDatabaseFile(path));
  TRY(SetMeta(db.get(), "revision", revision, path));
  return Execute(db.get(), "COMMIT", path);
}

}  // namespace

base::Result<DatabaseReport> CheckDatabase(const std::string& path,
                                           const Transformer* transformer) {
  const Database db = TRY(LockToRead(path));
  DatabaseReport report;
  CheckPages(db.get(), report.damaged);
  if (!report.damaged.empty()) return report;
  report.format = TRY(BringUpToDate(db.get(), path));
  ContentReader reader(db.get(), path, transformer);
  TRY(reader.Read());
  report.damaged = reader.damaged();
  report.set_aside = TRY(reader.CountSetAside());
  report.encrypted = reader.TakeSeals().size();
  const Content content = reader.TakeContent();
  report.revision = content.revision;
  CheckContent(content, report);
  return report;
}

base::Result<Content> ReadDatabase(const std::string& path, const Transformer* transformer) {
  const Database db = TRY(LockToRead(path));
  TRY(BringUpToDate(db.get(), path));
  ContentReader reader(db.get(), path, transformer);
  TRY(reader.Read());
  if (!reader.damaged().empty()) {
    return base::ConfigError(
        messages::Corrupt(path, base::StrCat(reader.damaged().front(), ", …; see store check")));
  }
  return reader.TakeContent();
}

base::Status WriteDatabase(const std::string& path, const Content& content,
                           const Transformer* transformer, bool replace) {
  TRY(CheckFree(path, replace));
  const std::string unfinished = path + ".unfinished";
  const auto remove = [&unfinished] {
    ::unlink(unfinished.c_str());
    ::unlink((unfinished + "-wal").c_str());
  };
  remove();
  base::Status done = Fill(unfinished, content, transformer);
  if (done.ok()) done = SetRevision(unfinished, content.revision);
  if (done.ok()) done = SyncFile(unfinished);
  if (!done.ok()) {
    remove();
    return done;
  }
  return PutInPlace(unfinished, path, replace);
}

base::Status CopyDatabaseFile(const std::string& from, const std::string& to, bool replace) {
  TRY(CheckFree(to, replace));
  const std::string unfinished = to + ".unfinished";
  ::unlink(unfinished.c_str());
  {
    const Database db = TRY(LockToRead(from));
    TRY(Execute(db.get(), "COMMIT", from));
    const auto copy = TRY(CopyDatabase(db.get(), unfinished));
    while (!TRY(copy->Step())) {
    }
    TRY(copy->Finish());
  }
  return PutInPlace(unfinished, to, replace);
}

base::Status CompactDatabase(const std::string& path) {
  const Database db = TRY(LockDatabaseFile(path));
  TRY(BringUpToDate(db.get(), path));
  TRY(Execute(db.get(), "COMMIT", path));
  TRY(Execute(db.get(), "VACUUM", path));
  return Execute(db.get(), "PRAGMA wal_checkpoint(TRUNCATE)", path);
}

}  // namespace portcullis::store
