// SPDX-License-Identifier: Apache-2.0

// What a request meets on its way to its handler, by kube-apiserver's names, labels and buckets:
// who it is of, whether they may, and how long each step took. One instance per server.
// Thread-safe. Sources: /metrics of kube-apiserver v1.36, held by tests/reference/recorded.
#pragma once

#include <cstdint>

#include "metrics/metrics.h"
#include "metrics/slots.h"

namespace portcullis::metrics {

// The steps that are timed, in their order.
enum class Filter : std::uint8_t {
  kAuthentication,
  kAudit,
  kImpersonation,
  kConstrainedImpersonation,  // instead of the one before, by a feature gate
  kPriorityAndFairness,
  kAuthorization,
};
enum class Authenticated : std::uint8_t { kSuccess, kFailure, kError };
enum class Authorized : std::uint8_t { kAllowed, kDenied, kNoOpinion, kError };

struct AccessMetrics {
  explicit AccessMetrics(Registry& registry);

  void Took(Filter filter, double seconds) const {
    filters[static_cast<std::size_t>(filter)].Observe(seconds);
  }

  Slots<Histogram, 6> filters;                  // by Filter
  Slots<Counter, 3> authentications;            // by Authenticated
  Slots<Histogram, 3> authentication_duration;  // likewise
  Slots<Counter, 4> authorizations;             // by Authorized
  Slots<Histogram, 4> authorization_duration;   // likewise
  Slots<Counter, 4> audit_levels;               // by audit::Level
  Family<Counter>& audit_errors;                // plugin
  Histogram& certificate_expiration;
  Family<Counter>& impersonations;                          // mode, decision
  Family<Histogram>& impersonation_duration;                // mode, decision
  Family<Counter>& impersonation_authorizations;            // mode, decision
  Family<Histogram>& impersonation_authorization_duration;  // mode, decision
  Family<Gauge>& deprecated_apis;  // group, version, resource, subresource, removed_release
  Family<Counter>& self_requests;  // verb, group, resource, subresource
};

}  // namespace portcullis::metrics
