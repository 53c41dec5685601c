// SPDX-License-Identifier: Apache-2.0

// WebhookServer: the HTTPS server of `portcullis webhook`.
//
//   POST /mutate, /validate            what the mutating, the validating plugins say of an AdmissionReview
//   POST /mutate/NAME, /validate/NAME  one plugin alone
//   GET  /healthz, /livez              the process runs
//   GET  /readyz                       what the plugins look at is there, and it is not about to stop
//   GET  /metrics                      Prometheus; reviews by controller-runtime's names
//
// Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "webhook_server/options.h"

namespace portcullis::webhook_server {

class WebhookServer {
 public:
  // `clock` outlives it. Errors are the operator's: a flag's value, a file, a port that is taken.
  static base::Result<std::unique_ptr<WebhookServer>> Start(const Options& options,
                                                            const base::Clock& clock);
  virtual ~WebhookServer() = default;

  virtual const std::string& address() const = 0;  // "127.0.0.1:9443"
  // From now on it is not ready: new connections go to other replicas.
  virtual void AnnounceStop() = 0;
  // Ends what is under way within the time, then everything.
  virtual void Stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace portcullis::webhook_server
