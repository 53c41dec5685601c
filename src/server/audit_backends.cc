// SPDX-License-Identifier: Apache-2.0

#include "server/audit_backends.h"

#include <utility>
#include <vector>

#include "audit/recording.h"
#include "base/log.h"

namespace portcullis::server {
namespace {

constexpr std::string_view kNoAuditPolicy =
    "No audit policy file provided, no events will be recorded";

audit::BatchOptions BatchOf(const AuditDelivery& delivery) {
  audit::BatchOptions batch;
  batch.buffer_size = static_cast<std::size_t>(delivery.batch_buffer_size);
  batch.max_batch = static_cast<std::size_t>(delivery.batch_max_size);
  batch.max_wait = delivery.batch_max_wait;
  if (delivery.batch_throttle_enable) {
    batch.batches_per_second = delivery.batch_throttle_qps;
    batch.burst = delivery.batch_throttle_burst;
  }
  return batch;
}

// Counts events as lost by a backend, or by what stands before it.
audit::OnLost CountedAt(metrics::Family<metrics::Counter>& errors, std::string_view plugin) {
  return [&errors, plugin](std::size_t lost) { errors.With({plugin}).Increment(lost); };
}

// Counts what a backend, or the queue before it, has not taken.
class Counted final : public audit::Sink {
 public:
  Counted(std::unique_ptr<audit::Sink> behind, audit::OnLost count)
      : behind_(std::move(behind)), count_(std::move(count)) {}

  base::Status Write(std::string event) override {
    base::Status written = behind_->Write(std::move(event));
    if (!written.ok()) count_(1);
    return written;
  }
  void Flush() override { behind_->Flush(); }

 private:
  const std::unique_ptr<audit::Sink> behind_;
  const audit::OnLost count_;
};

// The sink with what the mode and the other flags of its backend put in front of it.
std::unique_ptr<audit::Sink> Delivered(std::unique_ptr<audit::Sink> sink,
                                       const AuditDelivery& delivery,
                                       metrics::Family<metrics::Counter>& errors,
                                       std::string_view plugin) {
  sink = std::make_unique<Counted>(std::move(sink), CountedAt(errors, plugin));
  if (delivery.mode == "batch") {
    sink = audit::MakeBatching(std::move(sink), BatchOf(delivery));
    sink = std::make_unique<Counted>(std::move(sink), CountedAt(errors, "buffered"));
  }
  if (delivery.mode != "blocking-strict") sink = audit::MakeForgiving(std::move(sink));
  if (!delivery.truncate_enabled) return sink;
  return audit::MakeTruncating(std::move(sink),
                               static_cast<std::size_t>(delivery.truncate_max_event_size),
                               CountedAt(errors, "truncate"));
}

base::Result<std::unique_ptr<audit::Sink>> OpenAuditLog(const Options& options,
                                                        const base::Clock& clock,
                                                        metrics::Family<metrics::Counter>& errors) {
  audit::LogFileOptions file;
  file.path = options.audit_log_path;
  file.max_age_days = options.audit_log_maxage;
  file.max_backups = options.audit_log_maxbackup;
  file.max_size_mb = options.audit_log_maxsize;
  file.compress = options.audit_log_compress;
  auto sink = TRY(audit::OpenLogFile(file, clock));
  if (options.audit_log_format == "legacy") sink = audit::MakeLegacyFormat(std::move(sink));
  return Delivered(std::move(sink), options.audit_log, errors, "log");
}

base::Result<std::unique_ptr<audit::Sink>> OpenAuditWebhook(
    const Options& options, net::HttpsClient& https, metrics::Family<metrics::Counter>& errors) {
  audit::WebhookOptions webhook;
  webhook.kubeconfig = options.audit_webhook_config_file;
  webhook.together = options.audit_webhook.mode == "batch";
  webhook.max_batch = static_cast<std::size_t>(options.audit_webhook.batch_max_size);
  webhook.max_pending = static_cast<std::size_t>(options.audit_webhook.batch_buffer_size);
  webhook.on_lost = CountedAt(errors, "webhook");
  return Delivered(TRY(audit::OpenWebhook(webhook, https)), options.audit_webhook, errors,
                   "webhook");
}

}  // namespace

base::Result<AuditBackends> OpenAuditBackends(const Options& options, const base::Clock& clock,
                                              net::IoThreads& io, const net::ClientOptions& client,
                                              metrics::Family<metrics::Counter>& errors) {
  const bool has_log = !options.audit_log_path.empty();
  const bool has_webhook = !options.audit_webhook_config_file.empty();
  const bool records = !options.record.folder.empty();
  AuditBackends made;
  std::vector<std::unique_ptr<audit::Sink>> sinks;
  if (options.audit_policy_file.empty()) {
    if (has_log) base::LogWarning(kNoAuditPolicy, {{"backend", "log"}});
    if (has_webhook) base::LogWarning(kNoAuditPolicy, {{"backend", "webhook"}});
    if (!records) return made;
    made.policy.emplace(audit::PolicyOfWrites());
  } else {
    auto policy = audit::LoadPolicy(options.audit_policy_file);
    if (!policy.ok()) return policy.status().Annotate("loading audit policy file");
    if (!has_log && !has_webhook && !records) {
      base::LogWarning("--audit-policy-file has no effect without --audit-log-path or --record");
      return made;
    }
    made.policy.emplace(std::move(*policy));
    if (has_log) sinks.push_back(TRY(OpenAuditLog(options, clock, errors)));
    if (has_webhook) {
      made.https = net::HttpsClient::Create(io, client);
      sinks.push_back(TRY(OpenAuditWebhook(options, *made.https, errors)));
    }
  }
  if (records) {
    auto recording = TRY(audit::Recording::Open(options.record, clock));
    // Clients do not wait for it.
    sinks.push_back(audit::MakeForgiving(audit::MakeBatching(std::move(recording), {})));
  }
  made.sink = sinks.size() == 1 ? std::move(sinks.front()) : audit::MakeTee(std::move(sinks));
  made.may_wait = (has_webhook && options.audit_webhook.mode != "batch") ||
                  (options.audit_log_path == "-" && options.audit_log.mode != "batch");
  return made;
}

}  // namespace portcullis::server
