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

base::Result<std::unique_ptr<audit::Sink>> OpenAuditLog(const Options& options,
                                                        const base::Clock& clock) {
  audit::LogFileOptions file;
  file.path = options.audit_log_path;
  file.max_age_days = options.audit_log_maxage;
  file.max_backups = options.audit_log_maxbackup;
  file.max_size_mb = options.audit_log_maxsize;
  file.compress = options.audit_log_compress;
  auto sink = TRY(audit::OpenLogFile(file, clock));
  if (options.audit_log_format == "legacy") sink = audit::MakeLegacyFormat(std::move(sink));
  if (options.audit_log_mode != "batch") return sink;
  return audit::MakeBatching(std::move(sink), audit::BatchOptions());
}

base::Result<std::unique_ptr<audit::Sink>> OpenAuditWebhook(const Options& options,
                                                            net::HttpsClient& https) {
  audit::BatchOptions batch;
  batch.buffer_size = static_cast<std::size_t>(options.audit_webhook_batch_buffer_size);
  batch.max_batch = static_cast<std::size_t>(options.audit_webhook_batch_max_size);
  batch.max_wait = options.audit_webhook_batch_max_wait;
  audit::WebhookOptions webhook;
  webhook.kubeconfig = options.audit_webhook_config_file;
  webhook.together = options.audit_webhook_mode == "batch";
  webhook.max_pending = batch.buffer_size;
  auto sink = TRY(audit::OpenWebhook(webhook, https));
  if (!webhook.together) return sink;
  return audit::MakeBatching(std::move(sink), batch);
}

}  // namespace

base::Result<AuditBackends> OpenAuditBackends(const Options& options, const base::Clock& clock,
                                              net::IoThreads& io,
                                              const net::ClientOptions& client) {
  const bool has_log = !options.audit_log_path.empty();
  const bool has_webhook = !options.audit_webhook_config_file.empty();
  const bool records = !options.record.folder.empty();
  AuditBackends made;
  std::vector<std::unique_ptr<audit::Sink>> sinks;
  const auto add = [&](std::unique_ptr<audit::Sink> sink, std::string_view mode) {
    sinks.push_back(mode == "blocking-strict" ? std::move(sink)
                                              : audit::MakeForgiving(std::move(sink)));
  };
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
    if (has_log) add(TRY(OpenAuditLog(options, clock)), options.audit_log_mode);
    if (has_webhook) {
      made.https = net::HttpsClient::Create(io, client);
      add(TRY(OpenAuditWebhook(options, *made.https)), options.audit_webhook_mode);
    }
  }
  if (records) {
    auto recording = TRY(audit::Recording::Open(options.record, clock));
    add(audit::MakeBatching(std::move(recording), {}), "batch");  // clients do not wait for it
  }
  made.sink = sinks.size() == 1 ? std::move(sinks.front()) : audit::MakeTee(std::move(sinks));
  made.may_wait = (has_webhook && options.audit_webhook_mode != "batch") ||
                  (options.audit_log_path == "-" && options.audit_log_mode != "batch");
  return made;
}

}  // namespace portcullis::server
