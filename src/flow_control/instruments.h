// SPDX-License-Identifier: Apache-2.0

// The metrics apiserver_flowcontrol_* by kube-apiserver's names, labels and buckets
// (k8s.io/apiserver/pkg/util/flowcontrol/metrics). One instance per server. Thread-safe.
#pragma once

#include "metrics/metrics.h"

namespace portcullis::flow_control {

// Labels in the order given here.
struct Instruments {
  explicit Instruments(metrics::Registry& registry);

  template <typename Metric>
  using Family = metrics::Family<Metric>;

  Family<metrics::Counter>& rejected;           // priority_level, flow_schema, reason
  Family<metrics::Counter>& dispatched;         // priority_level, flow_schema
  Family<metrics::Counter>& no_accommodation;   // priority_level, flow_schema
  Family<metrics::Counter>& epoch_advances;     // priority_level, success
  Family<metrics::Histogram>& seat_use;         // phase, priority_level
  Family<metrics::Histogram>& request_use;      // phase, priority_level
  Family<metrics::Histogram>& read_vs_write;    // phase, request_kind
  Family<metrics::Histogram>& demand;           // priority_level
  Family<metrics::Histogram>& queue_length;     // priority_level, flow_schema
  Family<metrics::Histogram>& wait_seconds;     // priority_level, flow_schema, execute
  Family<metrics::Histogram>& run_seconds;      // priority_level, flow_schema, type
  Family<metrics::Histogram>& watch_count;      // priority_level, flow_schema
  Family<metrics::Histogram>& estimated_seats;  // priority_level, flow_schema
  Family<metrics::Gauge>& queued_requests;      // priority_level, flow_schema
  Family<metrics::Gauge>& queued_seats;         // priority_level, flow_schema
  Family<metrics::Gauge>& executing_requests;   // priority_level, flow_schema
  Family<metrics::Gauge>& executing_seats;      // priority_level, flow_schema
  Family<metrics::Gauge>& current_r;            // priority_level
  Family<metrics::Gauge>& dispatch_r;           // priority_level
  Family<metrics::Gauge>& latest_s;             // priority_level
  Family<metrics::Gauge>& next_s;               // priority_level, bound
  Family<metrics::Gauge>& next_discounted_s;    // priority_level, bound
  Family<metrics::Gauge>& nominal_limit;        // priority_level
  Family<metrics::Gauge>& lower_limit;          // priority_level
  Family<metrics::Gauge>& upper_limit;          // priority_level
  Family<metrics::Gauge>& current_limit;        // priority_level
  Family<metrics::Gauge>& demand_high;          // priority_level
  Family<metrics::Gauge>& demand_average;       // priority_level
  Family<metrics::Gauge>& demand_deviation;     // priority_level
  Family<metrics::Gauge>& demand_smoothed;      // priority_level
  Family<metrics::Gauge>& demand_target;        // priority_level
  Family<metrics::Gauge>& fair_fraction;        // no labels
};

}  // namespace portcullis::flow_control
