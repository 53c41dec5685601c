// SPDX-License-Identifier: Apache-2.0

#include "store/embedded/database_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "store/embedded/database_file.h"

namespace portcullis::store {
namespace {

// 4 MiB of pages; less than a commit to a slow disk takes.
constexpr int kPagesAtOnce = 256;

class DatabaseCopy final : public JournalBackup {
 public:
  DatabaseCopy(Database target, std::string path)
      : target_(std::move(target)), path_(std::move(path)) {}
  ~DatabaseCopy() override {
    if (finished_) return;
    sqlite3_backup_finish(backup_);
    target_.reset();
    ::unlink(path_.c_str());
  }

  base::Status Start(sqlite3* source) {
    // An unfinished copy is removed, so nothing has to be undone or to survive meanwhile.
    TRY(Execute(target_.get(), "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", path_));
    backup_ = sqlite3_backup_init(target_.get(), "main", source, "main");
    return backup_ != nullptr ? base::OkStatus() : Error(sqlite3_errcode(target_.get()));
  }

  base::Result<bool> Step() override {
    const int code = sqlite3_backup_step(backup_, kPagesAtOnce);
    if (code == SQLITE_OK) return false;
    if (code == SQLITE_DONE) return true;
    return Error(code);
  }

  base::Status Finish() override {
    const int code = sqlite3_backup_finish(std::exchange(backup_, nullptr));
    if (code != SQLITE_OK) return Error(code);
    target_.reset();
    TRY(SyncFile(path_));
    TRY(SyncFolderOf(path_));
    finished_ = true;
    return base::OkStatus();
  }

 private:
  base::Status Error(int code) const { return OpenError(target_.get(), code, path_); }

  Database target_;
  const std::string path_;
  sqlite3_backup* backup_ = nullptr;
  bool finished_ = false;
};

}  // namespace

base::Result<std::unique_ptr<JournalBackup>> CopyDatabase(sqlite3* source,
                                                          const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return base::ConfigError(base::StrCat("open ", path, ": ", base::ErrnoText(errno)));
  ::close(fd);
  auto target = OpenFile(path);
  if (!target.ok()) {
    ::unlink(path.c_str());
    return target.status();
  }
  auto copy = std::make_unique<DatabaseCopy>(*std::move(target), path);
  TRY(copy->Start(source));
  return std::unique_ptr<JournalBackup>(std::move(copy));
}

}  // namespace portcullis::store
