// SPDX-License-Identifier: Apache-2.0

#include "server/reload_metrics.h"

#include <chrono>
#include <utility>

#include "base/strings.h"

namespace portcullis::server {
namespace {

metrics::Description Describe(std::string_view subject, std::string_view name,
                              std::string_view begin, std::string_view end,
                              metrics::Stability stability) {
  return {base::StrCat("apiserver_", subject, "_config_controller_", name),
          base::StrCat(begin, subject, " configuration ", end), stability};
}

}  // namespace

ReloadMetrics::ReloadMetrics(metrics::Registry& registry, std::string_view subject,
                             std::string server)
    : server_(std::move(server)),
      reloads_(registry.AddCounter(
          Describe(subject, "automatic_reloads_total", "Total number of automatic reloads of ",
                   "split by status and apiserver identity.", metrics::Stability::kBeta),
          {"status", "apiserver_id_hash"})),
      times_(registry.AddGauge(
          Describe(subject, "automatic_reload_last_timestamp_seconds",
                   "Timestamp of the last automatic reload of ",
                   "split by status and apiserver identity.", metrics::Stability::kBeta),
          {"status", "apiserver_id_hash"})),
      configs_(registry.AddGauge(
          Describe(subject, "last_config_info", "Information about the last applied ",
                   "with hash as label, split by apiserver identity.", metrics::Stability::kAlpha),
          {"apiserver_id_hash", "hash"})) {}

void ReloadMetrics::Count(std::string_view status, const base::Clock& clock) const {
  reloads_.With({status, server_}).Increment();
  times_.With({status, server_})
      .Set(std::chrono::duration<double>(clock.Now().time_since_epoch()).count());
}

void ReloadMetrics::Note(std::string hash) {
  if (!noted_.empty()) configs_.Remove({server_, noted_});
  noted_ = std::move(hash);
  configs_.With({server_, noted_}).Set(1);
}

}  // namespace portcullis::server
