// SPDX-License-Identifier: Apache-2.0

#include "flow_control/instruments.h"

#include "base/strings.h"

namespace portcullis::flow_control {
namespace {

using metrics::Stability;

using Labels = std::vector<std::string>;

const Labels kLevel = {"priority_level"};
const Labels kFlow = {"priority_level", "flow_schema"};

metrics::Description Named(std::string_view name, std::string_view help, Stability stability) {
  return {base::StrCat("apiserver_flowcontrol_", name), std::string(help), stability};
}

Labels And(Labels labels, std::string_view more) {
  labels.emplace_back(more);
  return labels;
}

metrics::Family<metrics::Counter>& Count(metrics::Registry& registry, Labels labels,
                                         std::string_view name, std::string_view help,
                                         Stability stability = Stability::kAlpha) {
  return registry.AddCounter(Named(name, help, stability), std::move(labels));
}

metrics::Family<metrics::Gauge>& Level(metrics::Registry& registry, Labels labels,
                                       std::string_view name, std::string_view help,
                                       Stability stability = Stability::kAlpha) {
  return registry.AddGauge(Named(name, help, stability), std::move(labels));
}

metrics::Family<metrics::Histogram>& Spread(metrics::Registry& registry, Labels labels,
                                            std::vector<double> bounds, std::string_view name,
                                            std::string_view help,
                                            Stability stability = Stability::kAlpha) {
  return registry.AddHistogram(Named(name, help, stability), std::move(labels), std::move(bounds));
}

// Fed by time, see timed_ratio.h.
metrics::Family<metrics::Histogram>& Timed(metrics::Registry& registry, Labels labels,
                                           std::vector<double> bounds, std::string_view name,
                                           std::string_view help) {
  return Spread(registry, std::move(labels), std::move(bounds), name,
                base::StrCat("EXPERIMENTAL: [ALPHA] ", help), Stability::kNone);
}

const std::vector<double> kSeconds = {0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30};

}  // namespace

Instruments::Instruments(metrics::Registry& registry)
    : rejected(Count(registry, And(kFlow, "reason"), "rejected_requests_total",
                     "Number of requests rejected by API Priority and Fairness subsystem",
                     Stability::kBeta)),
      dispatched(Count(registry, kFlow, "dispatched_requests_total",
                       "Number of requests executed by API Priority and Fairness subsystem",
                       Stability::kBeta)),
      no_accommodation(Count(registry, kFlow, "request_dispatch_no_accommodation_total",
                             "Number of times a dispatch attempt resulted in a non accommodation "
                             "due to lack of available seats")),
      epoch_advances(Count(registry, And(kLevel, "success"), "epoch_advance_total",
                           "Number of times the queueset's progress meter jumped backward")),
      seat_use(Timed(registry, {"phase", "priority_level"},
                     {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1},
                     "priority_level_seat_utilization",
                     "Observations, at the end of every nanosecond, of utilization of seats for "
                     "any stage of execution (but only initial stage for WATCHes)")),
      request_use(Timed(registry, {"phase", "priority_level"},
                        {0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1},
                        "priority_level_request_utilization",
                        "Observations, at the end of every nanosecond, of number of requests (as "
                        "a fraction of the relevant limit) waiting or in any stage of execution "
                        "(but only initial stage for WATCHes)")),
      read_vs_write(
          Timed(registry, {"phase", "request_kind"},
                {0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1},
                "read_vs_write_current_requests",
                "Observations, at the end of every nanosecond, of the number of requests (as a "
                "fraction of the relevant limit) waiting or in regular stage of execution")),
      demand(Timed(registry, kLevel, {0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6},
                   "demand_seats",
                   "Observations, at the end of every nanosecond, of (the number of seats each "
                   "priority level could use) / (nominal number of seats for that level)")),
      queue_length(Spread(registry, kFlow, {0, 10, 25, 50, 100, 250, 500, 1000},
                          "request_queue_length_after_enqueue",
                          "Length of queue in the API Priority and Fairness subsystem, as seen by "
                          "each request after it is enqueued")),
      wait_seconds(Spread(registry, And(kFlow, "execute"), kSeconds,
                          "request_wait_duration_seconds",
                          "Length of time a request spent waiting in its queue", Stability::kBeta)),
      run_seconds(Spread(registry, And(kFlow, "type"), kSeconds, "request_execution_seconds",
                         "Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage "
                         "of request execution in the API Priority and Fairness subsystem")),
      watch_count(Spread(registry, kFlow, {0, 1, 10, 100, 1000, 10000}, "watch_count_samples",
                         "count of watchers for mutating requests in API Priority and Fairness")),
      estimated_seats(Spread(registry, kFlow, {1, 2, 4, 8, 16, 32, 64, 100}, "work_estimated_seats",
                             "Number of estimated seats (maximum of initial and final seats) "
                             "associated with requests in API Priority and Fairness")),
      queued_requests(Level(registry, kFlow, "current_inqueue_requests",
                            "Number of requests currently pending in queues of the API Priority "
                            "and Fairness subsystem",
                            Stability::kBeta)),
      queued_seats(Level(registry, kFlow, "current_inqueue_seats",
                         "Number of seats currently pending in queues of the API Priority and "
                         "Fairness subsystem")),
      executing_requests(
          Level(registry, kFlow, "current_executing_requests",
                "Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution "
                "stage in the API Priority and Fairness subsystem",
                Stability::kBeta)),
      executing_seats(Level(
          registry, kFlow, "current_executing_seats",
          "Concurrency (number of seats) occupied by the currently executing (initial stage for a "
          "WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem",
          Stability::kBeta)),
      current_r(Level(registry, kLevel, "current_r", "R(time of last change)")),
      dispatch_r(Level(registry, kLevel, "dispatch_r", "R(time of last dispatch)")),
      latest_s(Level(registry, kLevel, "latest_s", "S(most recently dispatched request)")),
      next_s(Level(registry, And(kLevel, "bound"), "next_s_bounds",
                   "min and max, over queues, of S(oldest waiting request in queue)")),
      next_discounted_s(Level(registry, And(kLevel, "bound"), "next_discounted_s_bounds",
                              "min and max, over queues, of S(oldest waiting request in queue) - "
                              "estimated work in progress")),
      nominal_limit(Level(registry, kLevel, "nominal_limit_seats",
                          "Nominal number of execution seats configured for each priority level",
                          Stability::kBeta)),
      lower_limit(Level(
          registry, kLevel, "lower_limit_seats",
          "Configured lower bound on number of execution seats available to each priority level")),
      upper_limit(Level(
          registry, kLevel, "upper_limit_seats",
          "Configured upper bound on number of execution seats available to each priority level")),
      current_limit(
          Level(registry, kLevel, "current_limit_seats",
                "current derived number of execution seats available to each priority level")),
      demand_high(Level(registry, kLevel, "demand_seats_high_watermark",
                        "High watermark, over last adjustment period, of demand_seats")),
      demand_average(Level(registry, kLevel, "demand_seats_average",
                           "Time-weighted average, over last adjustment period, of demand_seats")),
      demand_deviation(
          Level(registry, kLevel, "demand_seats_stdev",
                "Time-weighted standard deviation, over last adjustment period, of demand_seats")),
      demand_smoothed(Level(registry, kLevel, "demand_seats_smoothed", "Smoothed seat demands")),
      demand_target(Level(registry, kLevel, "target_seats", "Seat allocation targets")),
      fair_fraction(Level(registry, {}, "seat_fair_frac",
                          "Fair fraction of server's concurrency to allocate to each priority "
                          "level that can use it")) {}

}  // namespace portcullis::flow_control
