// SPDX-License-Identifier: Apache-2.0

#include "cli/store_backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "kubeconfig/client.h"
#include "kubeconfig/rest.h"
#include "net/client.h"
#include "net/io_threads.h"
#include "server/store_backup.h"
#include "store/embedded/database_file.h"
#include "store/embedded/messages.h"

namespace portcullis::cli {
namespace {

constexpr std::chrono::minutes kLongestDownload{30};
constexpr std::size_t kMostError = std::size_t{64} << 10;

// Writes what the server sends to `out`; the text of an error goes to `error`.
base::Status Download(const std::string& kubeconfig, std::FILE* out) {
  net::IoThreads threads;
  TRY(threads.status());
  const auto https = net::HttpsClient::Create(threads);
  kubeconfig::ClientOptions choices;
  choices.timeout = kLongestDownload;
  const auto client = TRY(kubeconfig::Client::Load(kubeconfig, choices, https.get()));
  std::string error;
  bool written = true;
  const auto result = TRY(client.Download(
      server::kStoreBackupPath, [&](const net::ResponseHead& head, std::string_view piece) {
        if (head.status != 200) {
          error.append(piece.substr(0, kMostError - std::min(kMostError, error.size())));
        } else if (std::fwrite(piece.data(), 1, piece.size(), out) != piece.size()) {
          written = false;
        }
      }));
  if (!result.ok()) return base::ConfigError(result.failure->message);
  const net::Response& response = result.response;
  if (response.status != 200) {
    return base::ConfigError(kubeconfig::ErrorOfAnswer(response.status,
                                                       response.headers.Get("Content-Type"), error,
                                                       std::nullopt)
                                 .message());
  }
  return written ? base::OkStatus() : base::ConfigError("the disk is full");
}

// A copy of which it is known that it is whole.
base::Result<store::DatabaseReport> CheckCopy(const std::string& path) {
  store::DatabaseReport report = TRY(store::CheckDatabase(path, nullptr));
  if (report.damaged.empty()) return report;
  return base::ConfigError(base::StrCat("the copy is damaged: ", report.damaged.front()));
}

base::Result<store::DatabaseReport> FromServer(const std::string& kubeconfig,
                                               const std::string& file, bool replace) {
  store::DatabaseReport report;
  TRY(WriteNewFile(file, replace, [&](std::FILE* out) -> base::Status {
    TRY(Download(kubeconfig, out));
    if (std::fflush(out) != 0) return base::ConfigError("the disk is full");
    report = TRY(CheckCopy(UnfinishedName(file)));
    return base::OkStatus();
  }));
  return report;
}

}  // namespace

base::Status CheckNew(const std::string& file, bool replace) {
  if (replace || ::access(file.c_str(), F_OK) != 0) return base::OkStatus();
  return base::ConfigError(base::StrCat(file, " is there already; --replace replaces it"));
}

std::string UnfinishedName(const std::string& file) { return file + ".unfinished"; }

base::Status WriteNewFile(const std::string& file, bool replace,
                          const std::function<base::Status(std::FILE*)>& write) {
  TRY(CheckNew(file, replace));
  const std::string unfinished = UnfinishedName(file);
  ::unlink(unfinished.c_str());
  const int fd = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    return base::ConfigError(base::StrCat("open ", unfinished, ": ", base::ErrnoText(errno)));
  }
  std::FILE* const out = ::fdopen(fd, "wb");
  base::Status done = write(out);
  if (done.ok() && (std::fflush(out) != 0 || ::fsync(fd) != 0)) {
    done = base::ConfigError(base::StrCat("write ", file, ": ", base::ErrnoText(errno)));
  }
  std::fclose(out);
  if (done.ok()) return store::PlaceFile(unfinished, file, replace);
  ::unlink(unfinished.c_str());
  return done;
}

base::Result<BackupResult> MakeBackup(const StoreOptions& options, const std::string& file) {
  TRY(CheckNew(file, options.replace));
  if (!options.kubeconfig.empty()) {
    return BackupResult{TRY(FromServer(options.kubeconfig, file, options.replace)), true};
  }
  const std::string database = options.database();
  const std::string unfinished = UnfinishedName(file);
  const base::Status copied = store::CopyDatabaseFile(database, unfinished, true);
  if (copied.ok()) {
    const auto report = CheckCopy(unfinished);
    if (report.ok()) {
      TRY(store::PlaceFile(unfinished, file, options.replace));
      return BackupResult{*report, false};
    }
    ::unlink(unfinished.c_str());
    return report.status();
  }
  if (copied.message() != store::messages::InUse(database)) return copied;
  // The server that uses it has written how it is reached.
  const std::string kubeconfig =
      (std::filesystem::path(options.data_dir) / "admin.kubeconfig").string();
  return BackupResult{TRY(FromServer(kubeconfig, file, options.replace)), true};
}

}  // namespace portcullis::cli
