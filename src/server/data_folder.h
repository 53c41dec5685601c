// SPDX-License-Identifier: Apache-2.0

// DataFolder: the folder of --data-dir, held by one server at a time. With --store=memory nothing
// else would keep a second server from replacing the first one's certificates and kubeconfig.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace portcullis::server {

class DataFolder {
 public:
  // Makes the folder, if need be, for its user alone, and locks `<path>/lock` until destruction.
  // Error: `--data-dir: <path> is in use by another process: stop that server or choose another
  // folder`.
  static base::Result<std::unique_ptr<DataFolder>> Open(const std::string& path);
  ~DataFolder();
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

 private:
  explicit DataFolder(int lock) : lock_(lock) {}

  const int lock_;
};

}  // namespace portcullis::server
