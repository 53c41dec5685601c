// SPDX-License-Identifier: Apache-2.0

// The webhook server that is part of the load: it answers at once, so that what is measured is the
// API server.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "loopback_tls.h"
#include "net/server.h"

namespace portcullis::load {

// Thread-safe. /allow says yes, /patch/<n> adds the label load-<n>, GET /bytes/<n> gives n bytes.
class WebhookServer {
 public:
  static base::Result<std::unique_ptr<WebhookServer>> Start(net::IoThreads& threads,
                                                            const std::string& listen);
  static base::Result<std::unique_ptr<WebhookServer>> Start(net::IoThreads& threads,
                                                            const std::string& listen,
                                                            const LoopbackTls& identity);
  std::string Url(std::string_view path) const;
  const std::string& ca_pem() const { return ca_pem_; }
  std::size_t calls() const { return calls_; }
  std::size_t accepted() const { return server_->counters().accepted; }
  // The next request is also kept, as it came, for TakeCopy, which gives null before that.
  void CopyNext() { wants_copy_ = true; }
  std::shared_ptr<const net::Request> TakeCopy();

 private:
  void Answer(net::Exchange& exchange);
  std::shared_ptr<const std::string> Bytes(std::size_t size);

  std::string ca_pem_;
  std::atomic<std::size_t> calls_{0};
  std::atomic<bool> wants_copy_{false};
  std::mutex mutex_;
  std::shared_ptr<const std::string> bytes_;  // the last one asked for
  std::shared_ptr<const net::Request> copy_;
  std::unique_ptr<net::HttpsServer> server_;
};

}  // namespace portcullis::load
