// SPDX-License-Identifier: Apache-2.0

// The log file, renamed to "<name>-<time><extension>" when it has grown to its size, as the library
// kube-apiserver uses does it, and compressed if that is wanted; old ones go by age and number.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>
#include <thread>
#include <utility>

#include "audit/sink.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/mutex.h"
#include "base/strings.h"

namespace portcullis::audit {
namespace {

namespace fs = std::filesystem;

base::Status FileError(std::string_view verb, const std::string& path) {
  return base::ConfigError(base::StrCat(verb, " ", path, ": ", std::strerror(errno)));
}

// "2026-01-02T03-04-05.678"
std::string BackupTime(base::WallTime time) {
  std::string text = base::FormatMicroTime(time);
  std::replace(text.begin(), text.end(), ':', '-');
  return text.substr(0, text.size() - 4);
}

// Replaces `file` by `file`.gz, readable by the owner only.
base::Status Compress(const std::string& file) {
  const std::string packed = file + ".gz";
  const int in = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (in < 0) return FileError("open", file);
  const int out = ::open(packed.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  gzFile writer = out < 0 ? nullptr : gzdopen(out, "wb");
  base::Status status = writer == nullptr ? FileError("open", packed) : base::OkStatus();
  std::array<char, 64 * 1024> buffer;  // NOLINT(*-member-init): read fills it
  while (status.ok()) {
    const ssize_t got = ::read(in, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) status = FileError("read", file);
    if (got <= 0) break;
    if (gzwrite(writer, buffer.data(), static_cast<unsigned>(got)) != got) {
      status = FileError("write", packed);
    }
  }
  ::close(in);
  if (writer != nullptr && gzclose(writer) != Z_OK && status.ok()) {
    status = FileError("write", packed);
  }
  if (writer == nullptr && out >= 0) ::close(out);
  if (status.ok() && ::unlink(file.c_str()) != 0) status = FileError("remove", file);
  return status;
}

class LogFile final : public Sink {
 public:
  LogFile(LogFileOptions options, const base::Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        limit_(options_.max_size_mb > 0 ? static_cast<std::uintmax_t>(options_.max_size_mb) << 20
                                        : std::numeric_limits<std::uintmax_t>::max()),
        to_stdout_(options_.path == "-") {}
  ~LogFile() override {
    base::MutexLock lock(mutex_);
    Close();
    if (compression_.joinable()) compression_.join();
  }

  base::Status Open() {
    base::MutexLock lock(mutex_);
    if (to_stdout_) {
      fd_ = STDOUT_FILENO;
      return base::OkStatus();
    }
    std::error_code ignored;
    fs::create_directories(fs::path(options_.path).parent_path(), ignored);
    return Reopen();
  }

  base::Status Write(std::string event) override {
    event += '\n';
    base::MutexLock lock(mutex_);
    if (!to_stdout_ && size_ > 0 && size_ + event.size() > limit_) TRY(Rotate());
    if (fd_ < 0) TRY(Reopen());
    // A line that an earlier error has cut off stays as it is; this event begins a new one.
    if (in_line_) event.insert(event.begin(), '\n');
    std::string_view rest = event;
    while (!rest.empty()) {
      const ssize_t written = ::write(fd_, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return FileError("write", options_.path);
      in_line_ = !rest.substr(0, static_cast<std::size_t>(written)).ends_with('\n');
      rest.remove_prefix(static_cast<std::size_t>(written));
      size_ += static_cast<std::uintmax_t>(written);
    }
    return base::OkStatus();
  }
  void Flush() override {}

 private:
  base::Status Reopen() PC_REQUIRES(mutex_) {
    fd_ = ::open(options_.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd_ < 0) return FileError("open", options_.path);
    struct stat info {};
    size_ = ::fstat(fd_, &info) == 0 ? static_cast<std::uintmax_t>(info.st_size) : 0;
    in_line_ = S_ISREG(info.st_mode) && size_ > 0 && !EndsLine(options_.path, info.st_size);
    return base::OkStatus();
  }

  // Whether the last byte is the end of a line: an earlier process may have been killed, or its disk
  // full, in the middle of an event.
  static bool EndsLine(const std::string& path, off_t size) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return true;  // it may be written and not read
    char last = '\n';
    const bool ends = ::pread(fd, &last, 1, size - 1) != 1 || last == '\n';
    ::close(fd);
    return ends;
  }

  void Close() PC_REQUIRES(mutex_) {
    if (fd_ >= 0 && !to_stdout_) ::close(fd_);
    fd_ = -1;
  }

  base::Status Rotate() PC_REQUIRES(mutex_) {
    Close();
    const fs::path path(options_.path);
    const fs::path backup =
        path.parent_path() / base::StrCat(path.stem().string(), "-", BackupTime(clock_.Now()),
                                          path.extension().string());
    std::error_code error;
    fs::rename(path, backup, error);
    if (error) base::LogError("cannot rename the audit log", {{"error", error.message()}});
    // One compression at a time. That the last one is still under way when the next file is full
    // means that events come faster than they can be compressed: then they wait here. A file that
    // is being compressed is there twice and would be counted twice.
    if (compression_.joinable()) compression_.join();
    RemoveOld();
    if (options_.compress && !error) {
      compression_ = std::thread([file = backup.string()] { CompressLogged(file); });
    }
    return Reopen();
  }

  static void CompressLogged(const std::string& file) {
    const base::NeedsMemory needs;
    const base::Status status = Compress(file);
    if (status.ok()) return;
    base::LogError("cannot compress an audit log", {{"error", status.message()}});
    unlink((file + ".gz").c_str());
  }

  // The names hold the time, so their order is that of their age.
  void RemoveOld() PC_REQUIRES(mutex_) {
    const fs::path path(options_.path);
    const std::string prefix = path.stem().string() + "-";
    const std::string extension = path.extension().string();
    std::vector<fs::path> backups;
    const fs::path folder = path.parent_path().empty() ? fs::path(".") : path.parent_path();
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string file = entry->path().filename().string();
      std::string_view name = file;
      if (name.ends_with(".gz")) name.remove_suffix(3);
      const std::size_t length = prefix.size() + BackupTime({}).size() + extension.size();
      if (name.size() == length && name.starts_with(prefix) && name.ends_with(extension)) {
        backups.push_back(entry->path());
      }
    }
    std::sort(backups.rbegin(), backups.rend());
    const std::string oldest =
        prefix + BackupTime(clock_.Now() - std::chrono::hours(24) * options_.max_age_days);
    for (std::size_t i = 0; i < backups.size(); ++i) {
      const bool too_many =
          options_.max_backups > 0 && i >= static_cast<std::size_t>(options_.max_backups);
      const bool too_old = options_.max_age_days > 0 && backups[i].filename().string() < oldest;
      if (too_many || too_old) fs::remove(backups[i], error);
    }
  }

  const LogFileOptions options_;
  const base::Clock& clock_;
  const std::uintmax_t limit_;
  const bool to_stdout_;
  base::Mutex mutex_;
  int fd_ PC_GUARDED_BY(mutex_) = -1;
  std::uintmax_t size_ PC_GUARDED_BY(mutex_) = 0;
  bool in_line_ PC_GUARDED_BY(mutex_) = false;  // the last line has no end yet
  std::thread compression_ PC_GUARDED_BY(mutex_);
};

}  // namespace

base::Result<std::unique_ptr<Sink>> OpenLogFile(const LogFileOptions& options,
                                                const base::Clock& clock) {
  auto file = std::make_unique<LogFile>(options, clock);
  TRY(file->Open());
  return std::unique_ptr<Sink>(std::move(file));
}

}  // namespace portcullis::audit
