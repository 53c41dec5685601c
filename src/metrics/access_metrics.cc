// SPDX-License-Identifier: Apache-2.0

#include "metrics/access_metrics.h"

namespace portcullis::metrics {
namespace {

constexpr Slots<Histogram, 6>::Values kFilters = {"authentication",      "audit",
                                                  "impersonation",       "constrainedimpersonation",
                                                  "priorityandfairness", "authorization"};
constexpr Slots<Histogram, 3>::Values kAuthenticated = {"success", "failure", "error"};
constexpr Slots<Histogram, 4>::Values kAuthorized = {"allowed", "denied", "no-opinion", "error"};
constexpr Slots<Counter, 4>::Values kLevels = {"None", "Metadata", "Request", "RequestResponse"};

// From a millisecond to sixteen seconds.
std::vector<double> Doubling() {
  std::vector<double> bounds;
  for (int i = 0; i < 15; ++i) bounds.push_back(0.001 * (1 << i));
  return bounds;
}

}  // namespace

AccessMetrics::AccessMetrics(Registry& registry)
    : filters(
          registry.AddHistogram(
              {"apiserver_request_filter_duration_seconds",
               "Request filter latency distribution in seconds, for each filter type"},
              {"filter"}, {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5, 10, 15, 30}),
          kFilters),
      authentications(
          registry.AddCounter({"authentication_attempts", "Counter of authenticated attempts."},
                              {"result"}),
          kAuthenticated),
      authentication_duration(
          registry.AddHistogram({"authentication_duration_seconds",
                                 "Authentication duration in seconds broken out by result."},
                                {"result"}, Doubling()),
          kAuthenticated),
      authorizations(
          registry.AddCounter(
              {"authorization_attempts_total",
               "Counter of authorization attempts broken down by result. It can be either "
               "'allowed', 'denied', 'no-opinion' or 'error'."},
              {"result"}),
          kAuthorized),
      authorization_duration(
          registry.AddHistogram({"authorization_duration_seconds",
                                 "Authorization duration in seconds broken out by result."},
                                {"result"}, Doubling()),
          kAuthorized),
      audit_levels(
          registry.AddCounter({"apiserver_audit_level_total",
                               "Counter of policy levels for audit events (1 per request)."},
                              {"level"}),
          kLevels),
      audit_errors(registry.AddCounter(
          {"apiserver_audit_error_total",
           "Counter of audit events that failed to be audited properly. Plugin identifies the "
           "plugin affected by the error."},
          {"plugin"})),
      certificate_expiration(
          registry
              .AddHistogram({"apiserver_client_certificate_expiration_seconds",
                             "Distribution of the remaining lifetime on the certificate used to "
                             "authenticate a request."},
                            {},
                            {0, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 345600, 604800,
                             2592000, 7776000, 15552000, 31104000})
              .With({})),
      impersonations(registry.AddCounter(
          {"apiserver_impersonation_attempts_total",
           "Total number of impersonation attempts split by mode and decision."},
          {"mode", "decision"})),
      impersonation_duration(registry.AddHistogram(
          {"apiserver_impersonation_attempts_duration_seconds",
           "Latency of impersonation attempts in seconds split by mode and decision."},
          {"mode", "decision"}, Doubling())),
      impersonation_authorizations(registry.AddCounter(
          {"apiserver_impersonation_authorization_attempts_total",
           "Total number of authorization checks made by the impersonation handler split by mode "
           "and decision."},
          {"mode", "decision"})),
      impersonation_authorization_duration(registry.AddHistogram(
          {"apiserver_impersonation_authorization_attempts_duration_seconds",
           "Latency of authorization checks made by the impersonation handler in seconds split by "
           "mode and decision."},
          {"mode", "decision"}, Doubling())),
      deprecated_apis(registry.AddGauge(
          {"apiserver_requested_deprecated_apis",
           "Gauge of deprecated APIs that have been requested, broken out by API group, version, "
           "resource, subresource, and removed_release.",
           Stability::kStable},
          {"group", "version", "resource", "subresource", "removed_release"})),
      self_requests(registry.AddCounter(
          {"apiserver_selfrequest_total",
           "Counter of apiserver self-requests broken out for each verb, API resource and "
           "subresource."},
          {"verb", "group", "resource", "subresource"})) {}

}  // namespace portcullis::metrics
