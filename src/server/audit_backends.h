// SPDX-License-Identifier: Apache-2.0

// The audit policy, and where events go: what the flags --audit-* and --record ask for.
#pragma once

#include <memory>
#include <optional>

#include "audit/policy.h"
#include "audit/sink.h"
#include "base/clock.h"
#include "base/status.h"
#include "metrics/metrics.h"
#include "net/client.h"
#include "net/io_threads.h"
#include "server/options.h"

namespace portcullis::server {

struct AuditBackends {
  std::unique_ptr<net::HttpsClient> https;  // calls the webhook of audit; null without one
  std::optional<audit::Policy> policy;      // set if there is a sink
  std::unique_ptr<audit::Sink> sink;        // null: nothing is recorded
  // A request may wait for the sink: for a webhook that is called for each request, or for standard output,
  // which may be a pipe.
  bool may_wait = false;
};

// `client` is how a webhook is called; `errors` counts events that are lost, by what has lost them.
// Errors are the operator's: a flag, a file.
base::Result<AuditBackends> OpenAuditBackends(const Options& options, const base::Clock& clock,
                                              net::IoThreads& io, const net::ClientOptions& client,
                                              metrics::Family<metrics::Counter>& errors);

}  // namespace portcullis::server
