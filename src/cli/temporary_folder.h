// SPDX-License-Identifier: Apache-2.0

// A folder below $TMPDIR, or /tmp, for its user alone, that is removed with all it holds when the
// object goes. Value type that can only be moved.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace portcullis::cli {

class TemporaryFolder {
 public:
  // `<parent>/<prefix>-XXXXXX`.
  static base::Result<TemporaryFolder> Create(std::string_view prefix);
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace portcullis::cli
