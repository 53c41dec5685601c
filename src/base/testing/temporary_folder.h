// SPDX-License-Identifier: Apache-2.0

// A folder of its own for a test; gone, with all that is in it, at the end. Tests may run beside each other,
// and beside those of another build.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace portcullis::base {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "pc-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace portcullis::base
