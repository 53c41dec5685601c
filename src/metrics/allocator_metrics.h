// SPDX-License-Identifier: Apache-2.0

// kube_apiserver_clusterip_allocator_* and kube_apiserver_nodeport_allocator_*: addresses and ports that
// Services take. One instance per server. Thread-safe. Source: /metrics of kube-apiserver v1.36.
#pragma once

#include "base/clock.h"
#include "metrics/metrics.h"

namespace portcullis::metrics {

struct AllocatorMetrics {
  AllocatorMetrics(Registry& registry, const base::Clock& clock);

  const base::Clock& clock;  // durations are measured by it

  Family<Gauge>& allocated_ips;     // cidr
  Family<Gauge>& available_ips;     // cidr
  Family<Counter>& ip_allocations;  // cidr, scope: static, dynamic
  Family<Counter>& ip_errors;       // cidr, scope
  Family<Histogram>& ip_duration;   // cidr
  Gauge& allocated_ports;
  Gauge& available_ports;
  Family<Counter>& port_allocations;  // scope
  Family<Counter>& port_errors;       // scope
};

}  // namespace portcullis::metrics
