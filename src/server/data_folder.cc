// SPDX-License-Identifier: Apache-2.0

#include "server/data_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/strings.h"

namespace portcullis::server {

base::Result<std::unique_ptr<DataFolder>> DataFolder::Open(const std::string& path) {
  const auto failed = [&](std::string_view what, const std::string& file, std::string_view why) {
    return base::ConfigError(base::StrCat("--data-dir: ", what, " ", file, ": ", why));
  };
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(path, error);
  if (error) return failed("mkdir", path, error.message());
  if (is_new) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
    if (error) return failed("chmod", path, error.message());
  }
  const std::string file = path + "/lock";
  const int lock = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return failed("open", file, base::ErrnoText(errno));
  if (flock(lock, LOCK_EX | LOCK_NB) == 0) return std::unique_ptr<DataFolder>(new DataFolder(lock));
  const int why = errno;
  close(lock);
  if (why != EWOULDBLOCK) return failed("lock", file, base::ErrnoText(why));
  return base::ConfigError(base::StrCat("--data-dir: ", path,
                                        " is in use by another process: stop that server or "
                                        "choose another folder"));
}

DataFolder::~DataFolder() { close(lock_); }

}  // namespace portcullis::server
