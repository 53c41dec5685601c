// The webhook server that is part of the load: it answers at once, so that what is measured is the
// API server.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/status.h"
#include "net/server.h"

namespace portcullis::load {

// Thread-safe. /allow says yes, /patch/<n> adds the label load-<n>.
class WebhookServer {
 public:
  static base::Result<std::unique_ptr<WebhookServer>> Start(net::IoThreads& threads,
                                                            const std::string& listen);
  std::string Url(std::string_view path) const;
  const std::string& ca_pem() const { return ca_pem_; }
  std::size_t calls() const { return calls_; }

 private:
  void Answer(net::Exchange& exchange);

  std::string ca_pem_;
  std::atomic<std::size_t> calls_{0};
  std::unique_ptr<net::HttpsServer> server_;
};

}  // namespace portcullis::load
