// SPDX-License-Identifier: Apache-2.0

// MasterLeases: the IP addresses of the API servers that live and share a store. A server renews its
// own; one that it has not renewed in time is gone (kube-apiserver: pkg/controlplane/reconcilers).
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace portcullis::store {

// Thread-safe. Each call waits for the store, a few seconds at most.
class MasterLeases {
 public:
  virtual ~MasterLeases() = default;
  // The server at this address lives for `ttl` from now on, or until it renews this again.
  virtual base::Status Renew(std::string_view ip, std::chrono::seconds ttl) = 0;
  // kNotFound: no server lives at this address.
  virtual base::Status Remove(std::string_view ip) = 0;
  // All addresses, ordered by their text.
  virtual base::Result<std::vector<std::string>> List() = 0;
};

}  // namespace portcullis::store
