// SPDX-License-Identifier: Apache-2.0

#include "server/process_gauges.h"

#include <functional>
#include <string>
#include <utility>

#include "base/memory_reserve.h"
#include "metrics/process_metrics.h"
#include "server/discovery/version.h"

namespace portcullis::server {

void AddProcessGauges(metrics::Registry& metrics, const release::Release& release,
                      const MemoryBudget& memory,
                      const std::unique_ptr<net::HttpsServer>& listener) {
  metrics::AddProcessMetrics(metrics);
  AddBuildInfo(metrics, release);
  metrics.AddCountsOfMetrics();
  metrics.AddCounterFunction(
      {"apiserver_tls_handshake_errors_total",
       "Number of requests dropped with 'TLS handshake error from' error"},
      [&listener] { return listener ? static_cast<double>(listener->counters().tls_errors) : 0; });
  const auto add = [&](std::string name, std::string help, std::function<double()> value) {
    metrics.AddGaugeFunction({std::move(name), std::move(help)}, std::move(value));
  };
  add("portcullis_memory_limit_bytes", "What the process keeps below (--memory-limit).",
      [&memory] { return static_cast<double>(memory.limit()); });
  add("portcullis_memory_used_bytes", "Anonymous memory of the process.",
      [] { return static_cast<double>(base::UsedMemory()); });
  add("portcullis_memory_refused_requests", "Requests refused because memory was short.",
      [&memory] { return static_cast<double>(memory.refused()); });
  add("portcullis_memory_cache_shrinks", "How often caches gave back memory that was short.",
      [&memory] { return static_cast<double>(memory.shrunk()); });
  const auto of_listener = [&](std::string name, std::string help, auto member) {
    add(std::move(name), std::move(help), [&listener, member] {
      return listener ? static_cast<double>(listener->counters().*member) : 0;
    });
  };
  of_listener("portcullis_open_connections", "Connections of clients.",
              &net::ServerCounters::open_connections);
  of_listener("portcullis_open_requests", "Requests whose answers are not complete, and watches.",
              &net::ServerCounters::open_exchanges);
  of_listener("portcullis_request_body_bytes", "Memory reserved for bodies that are being read.",
              &net::ServerCounters::body_bytes);
  of_listener("portcullis_waiting_request_bodies", "Bodies that wait for such memory.",
              &net::ServerCounters::waiting_bodies);
}

}  // namespace portcullis::server
