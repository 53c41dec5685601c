// SPDX-License-Identifier: Apache-2.0

#include "server/store_backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "api/api_status.h"
#include "base/file.h"
#include "base/random.h"
#include "base/strings.h"
#include "server/options.h"
#include "server/reply.h"
#include "store/at_rest.h"

namespace portcullis::server {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;

// The rest of an open file, in pieces.
class FileSource final : public TextSource {
 public:
  explicit FileSource(int fd) : fd_(fd) {}
  ~FileSource() override { ::close(fd_); }

  base::Result<bool> Append(std::string& out) override {
    const std::size_t before = out.size();
    out.resize(before + kPiece);
    ssize_t read = 0;
    do {
      read = ::read(fd_, out.data() + before, kPiece);
    } while (read < 0 && errno == EINTR);
    const int error = errno;
    out.resize(before + static_cast<std::size_t>(std::max<ssize_t>(read, 0)));
    if (read < 0) return base::InternalError(base::ErrnoText(error));
    return read > 0;
  }

 private:
  const int fd_;
};

// The copy, open, without a name.
base::Result<int> MakeCopy(const Call& call) {
  const std::string name = base::StrCat("backup-", base::RandomSuffix(10));
  const std::string path = (std::filesystem::path(call.env.options->data_dir) / name).string();
  const base::Status made = store::Backup(*call.env.store, path);
  if (!made.ok()) return base::BadRequest(made.message());
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int error = errno;
  ::unlink(path.c_str());
  if (fd < 0) return base::InternalError(base::StrCat("open ", path, ": ", base::ErrnoText(error)));
  return fd;
}

}  // namespace

Reply ServeStoreBackup(Call& call) {
  if (call.info.method != "GET") return ErrorReply(call, api::MethodNotAllowedStatus());
  const auto copy = MakeCopy(call);
  if (!copy.ok()) return ErrorReply(call, copy.status());
  Reply reply;
  reply.content_type = "application/vnd.sqlite3";
  reply.is_file = true;
  reply.rest = std::make_unique<FileSource>(*copy);
  return reply;
}

}  // namespace portcullis::server
