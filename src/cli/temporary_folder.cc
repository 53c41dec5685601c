// SPDX-License-Identifier: Apache-2.0

#include "cli/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/strings.h"

namespace portcullis::cli {

base::Result<TemporaryFolder> TemporaryFolder::Create(std::string_view prefix) {
  const char* parent = std::getenv("TMPDIR");
  std::string path =
      base::StrCat(parent != nullptr && *parent != '\0' ? parent : "/tmp", "/", prefix, "-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return base::ConfigError(base::StrCat("mkdir ", path, ": ", base::ErrnoText(errno)));
  }
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace portcullis::cli
