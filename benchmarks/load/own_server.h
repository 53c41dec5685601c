// SPDX-License-Identifier: Apache-2.0

// A Portcullis of our own, in a folder of its own, gone with this object.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "target.h"

namespace portcullis::load {

class OwnServer {
 public:
  // Starts `binary` and waits until it is ready. Blocks.
  static base::Result<std::unique_ptr<OwnServer>> Start(net::IoThreads& threads,
                                                        const std::string& binary,
                                                        const std::string& flags = "");
  ~OwnServer();
  OwnServer(const OwnServer&) = delete;
  OwnServer& operator=(const OwnServer&) = delete;

  const Target& target() const { return *target_; }
  double megabytes() const { return target_->usage().memory_megabytes; }
  double cpu_seconds() const { return target_->usage().cpu_seconds; }
  // Waits until the server has used next to no processor time for a while.
  void Settle() const;

 private:
  OwnServer() = default;
  std::string folder_;
  pid_t pid_ = 0;
  std::unique_ptr<Target> target_;
};

}  // namespace portcullis::load
