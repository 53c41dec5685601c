// SPDX-License-Identifier: Apache-2.0

#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/strings.h"

namespace portcullis::base {
namespace {

Status FileError(std::string_view operation, const std::string& path, std::string_view why) {
  return ConfigError(StrCat(operation, " ", path, ": ", why));
}

Result<std::string> ReadToEnd(int file, const std::string& name, std::size_t limit) {
  std::string text;
  std::array<char, 16384> buffer;  // not cleared: read() fills what is looked at
  while (true) {
    const ssize_t got = read(file, buffer.data(), buffer.size());
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError("read", name, ErrnoText(errno));
    if (text.size() + static_cast<std::size_t>(got) > limit) {
      return FileError("read", name,
                       StrCat("there are more than ", std::to_string(limit), " bytes"));
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::size_t limit) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return FileError("open", path, ErrnoText(errno));
  auto text = ReadToEnd(file, path, limit);
  close(file);
  return text;
}

Result<std::string> ReadStandardInput(std::size_t limit) {
  return ReadToEnd(STDIN_FILENO, "standard input", limit);
}

namespace {

// All of it, or the errno.
int WriteAll(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = write(file, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

// Devices and pipes ("/dev/null", "/dev/stdout") are written to: a file must not take their place.
Status WriteTo(const std::string& path, std::string_view content) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return FileError("open", path, ErrnoText(errno));
  const int error = WriteAll(file, content);
  close(file);
  return error == 0 ? OkStatus() : FileError("write", path, ErrnoText(error));
}

Status Replace(const std::string& path, std::string_view content, mode_t mode,
               Durability durability) {
  struct stat there {};
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
    return WriteTo(path, content);
  }
  const std::string temporary = path + ".new";
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (file < 0) return FileError("open", path, ErrnoText(errno));
  if (const int error = WriteAll(file, content); error != 0) {
    close(file);
    unlink(temporary.c_str());
    return FileError("write", path, ErrnoText(error));
  }
  // On the disk before it gets its name: a power cut leaves no empty file behind.
  const bool is_synced = durability == Durability::kNone || fsync(file) == 0;
  const int error = is_synced ? 0 : errno;
  close(file);
  if (error != 0) {
    unlink(temporary.c_str());
    return FileError("fsync", path, ErrnoText(error));
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = ErrnoText(errno);
    unlink(temporary.c_str());
    return FileError("rename", path, why);
  }
  return OkStatus();
}

}  // namespace

Status WriteFile(const std::string& path, std::string_view content, Durability durability) {
  return Replace(path, content, 0600, durability);
}

Status WriteSharedFile(const std::string& path, std::string_view content) {
  return Replace(path, content, 0666, Durability::kNone);
}

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string ResolvePath(const std::string& folder, const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  return StrCat(folder, folder.ends_with('/') ? "" : "/", path);
}

std::string ErrnoText(int error) {
  // glibc's strerror_r returns the text; unlike strerror it is safe in threads.
  std::array<char, 128> buffer{};
  std::string text = strerror_r(error, buffer.data(), buffer.size());
  if (text.size() > 1 && text[1] >= 'a' && text[1] <= 'z') {
    text[0] = static_cast<char>(text[0] | 0x20);
  }
  return text;
}

}  // namespace portcullis::base
