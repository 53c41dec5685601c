// SPDX-License-Identifier: Apache-2.0

// Target is a server under load: how to call it, and what its processes have used.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "net/client.h"
#include "options.h"

namespace portcullis::load {

struct Usage {
  double cpu_seconds = 0;
  double memory_megabytes = 0;
};

// Of the given processes together, from /proc; zeros for those that are gone.
Usage UsageOf(const std::vector<int>& pids);

// Thread-safe.
class Target {
 public:
  static base::Result<std::unique_ptr<Target>> Create(net::IoThreads& threads,
                                                      const TargetOptions& options);

  const TargetOptions& options() const { return options_; }
  net::HttpsClient& client() const { return *client_; }
  Usage usage() const { return UsageOf(options_.pids); }

  net::ClientRequest Request(std::string method, std::string_view path,
                             std::shared_ptr<const std::string> body = nullptr) const;
  // Blocks; the status code, or 0 if nothing came back. `text` receives the body or the error.
  int Call(std::string method, std::string_view path, std::string body = "",
           std::string* text = nullptr) const;
  // Creates an object; that it exists already is fine.
  base::Status Create(std::string_view collection, const std::string& body) const;
  void Delete(std::string_view path) const;

 private:
  TargetOptions options_;
  std::shared_ptr<const net::ClientTls> tls_;
  std::unique_ptr<net::HttpsClient> client_;
};

}  // namespace portcullis::load
