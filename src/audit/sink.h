// SPDX-License-Identifier: Apache-2.0

// Sink takes finished audit events. Thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace portcullis::net {
class HttpsClient;
}

namespace portcullis::audit {

class Sink {
 public:
  virtual ~Sink() = default;  // writes what is still queued
  // One event, a line of JSON without newline. An error matters only to blocking-strict.
  virtual base::Status Write(std::string event) = 0;
  // Returns when everything written so far has reached its destination.
  virtual void Flush() = 0;
};

// Called with the number of events that a sink has dropped without an error of Write(). Any thread.
using OnLost = std::function<void(std::size_t)>;

// --audit-log-path and its neighbours.
struct LogFileOptions {
  std::string path;      // "-" is standard output
  int max_age_days = 0;  // 0 keeps old files for ever
  int max_backups = 0;   // 0 keeps all
  int max_size_mb =
      100;  // a file grows to this size, then it is renamed and a new one begun; 0: never
  bool compress = false;  // a renamed file becomes <name>.gz, in the background
};
base::Result<std::unique_ptr<Sink>> OpenLogFile(const LogFileOptions& options,
                                                const base::Clock& clock);

// --audit-log-format=legacy: what is written becomes a line of text for each event.
std::unique_ptr<Sink> MakeLegacyFormat(std::unique_ptr<Sink> behind);

// --audit-webhook-config-file: events are sent to the server of a kubeconfig.
struct WebhookOptions {
  std::string kubeconfig;
  bool together = false;        // what was written goes out at Flush(), in lists; else each at once
  std::size_t max_batch = 400;  // the longest of these lists
  std::size_t max_pending = 10000;
  OnLost on_lost = [](std::size_t) {};  // events that the server refuses
};
// `https` outlives the sink. Errors are about the kubeconfig.
base::Result<std::unique_ptr<Sink>> OpenWebhook(const WebhookOptions& options,
                                                net::HttpsClient& https);

// The modes of --audit-log-mode and --audit-webhook-mode: "blocking" writes before the response
// goes out; "batch" queues and writes in the background, dropping events when the buffer is full;
// "blocking-strict" refuses the request when its first event cannot be written.
struct BatchOptions {
  std::size_t buffer_size = 10000;
  std::size_t max_batch = 400;
  base::Duration max_wait = std::chrono::seconds(30);
  double batches_per_second = 0;  // in the long run; 0: as many as there are
  int burst = 1;                  // so many at once after a while without any
};
std::unique_ptr<Sink> MakeBatching(std::unique_ptr<Sink> behind, const BatchOptions& options);
// --audit-log-truncate-enabled, --audit-webhook-truncate-enabled: an event of more bytes loses its
// requestObject and responseObject, and is dropped if it is still too large.
std::unique_ptr<Sink> MakeTruncating(std::unique_ptr<Sink> behind, std::size_t max_event_size,
                                     OnLost on_lost);
// Errors of what it writes to are logged and forgotten: all modes but blocking-strict.
std::unique_ptr<Sink> MakeForgiving(std::unique_ptr<Sink> behind);
std::unique_ptr<Sink> MakeTee(std::vector<std::unique_ptr<Sink>> sinks);

}  // namespace portcullis::audit
