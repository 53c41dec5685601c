// SPDX-License-Identifier: Apache-2.0

#include "metrics/apiserver_metrics.h"

namespace portcullis::metrics {
namespace {

using Names = std::vector<std::string>;
using Bounds = std::vector<double>;

const Bounds& StepBounds() {
  static const Bounds kBounds = {0.005, 0.025, 0.1, 0.5, 1, 2.5};
  return kBounds;
}
const Bounds& RequestBounds() {
  static const Bounds kBounds = {0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1,  1.25, 1.5, 2,
                                 3,     4,     5,    6,   8,   10,  15,  20,  30, 45,   60};
  return kBounds;
}
const Bounds& PolicyBounds() {
  static const Bounds kBounds = {0.0000005, 0.001, 0.01, 0.1, 1};
  return kBounds;
}
Bounds BodyBounds() {
  Bounds bounds;
  for (int i = 0; i < 31; ++i) bounds.push_back(50000 + 100000.0 * i);
  return bounds;
}

Names Where(Names before, Names after) {
  for (const char* name : {"group", "version", "resource", "subresource", "scope"}) {
    before.emplace_back(name);
  }
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

Names Condition() { return {"name", "kind", "type", "operation"}; }

}  // namespace

// The help texts are part of the metric: tools compare them. They are kube-apiserver's.

AdmissionMetrics::AdmissionMetrics(Registry& registry)
    : step_duration(registry.AddHistogram(
          {"apiserver_admission_step_admission_duration_seconds",
           "Admission sub-step latency histogram in seconds, broken out for each operation and API "
           "resource and step type (validate or admit).",
           Stability::kStable},
          {"type", "operation", "rejected"}, StepBounds())),
      step_duration_summary(registry.AddSummary(
          {"apiserver_admission_step_admission_duration_seconds_summary",
           "Admission sub-step latency summary in seconds, broken out for each operation and API "
           "resource and step type (validate or admit)."},
          {"type", "operation", "rejected"})),
      controller_duration(
          registry.AddHistogram({"apiserver_admission_controller_admission_duration_seconds",
                                 "Admission controller latency histogram in seconds, identified by "
                                 "name and broken out for "
                                 "each operation and API resource and type (validate or admit).",
                                 Stability::kStable},
                                {"name", "type", "operation", "rejected"}, StepBounds())),
      webhook_duration(registry.AddHistogram(
          {"apiserver_admission_webhook_admission_duration_seconds",
           "Admission webhook latency histogram in seconds, identified by name and broken out for "
           "each operation and API resource and type (validate or admit).",
           Stability::kStable},
          {"name", "type", "operation", "rejected"}, {0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25})),
      webhook_rejections(registry.AddCounter(
          {"apiserver_admission_webhook_rejection_count",
           "Admission webhook rejection count, identified by name and broken out for each "
           "admission "
           "type (validating or admit) and operation. Additional labels specify an error type "
           "(calling_webhook_error or apiserver_internal_error if an error occurred; no_error "
           "otherwise) and optionally a non-zero rejection code if the webhook rejects the request "
           "with an HTTP status code (honored by the apiserver when the code is greater or equal "
           "to "
           "400). Codes greater than 600 are truncated to 600, to keep the metrics cardinality "
           "bounded."},
          {"name", "type", "operation", "error_type", "rejection_code"})),
      webhook_fail_open(registry.AddCounter({"apiserver_admission_webhook_fail_open_count",
                                             "Admission webhook fail open count, identified by "
                                             "name and broken out for each admission "
                                             "type (validating or admit)."},
                                            {"name", "type"})),
      webhook_requests(registry.AddCounter(
          {"apiserver_admission_webhook_request_total",
           "Admission webhook request total, identified by name and broken out for each admission "
           "type (validating or admit) and operation. Additional labels specify whether the "
           "request was rejected or not and an HTTP status code. Codes greater than 600 are "
           "truncated to 600, to keep the metrics cardinality bounded."},
          {"name", "type", "operation", "code", "rejected"})),
      match_condition_errors(registry.AddCounter(
          {"apiserver_admission_match_condition_evaluation_errors_total",
           "Admission match condition evaluation errors count, identified by name of resource "
           "containing the match condition and broken out for each kind containing matchConditions "
           "(webhook or policy), operation and admission type (validate or admit)."},
          Condition())),
      match_condition_exclusions(registry.AddCounter(
          {"apiserver_admission_match_condition_exclusions_total",
           "Admission match condition evaluation exclusions count, identified by name of resource "
           "containing the match condition and broken out for each kind containing matchConditions "
           "(webhook or policy), operation and admission type (validate or admit)."},
          Condition())),
      match_condition_duration(registry.AddHistogram(
          {"apiserver_admission_match_condition_evaluation_seconds",
           "Admission match condition evaluation time in seconds, identified by name and broken "
           "out "
           "for each kind containing matchConditions (webhook or policy), operation and type "
           "(validate or admit)."},
          Condition(), {0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25})),
      x509_missing_san(registry.AddCounter(
          {"apiserver_webhooks_x509_missing_san_total",
           "Counts the number of requests to servers missing SAN extension in their serving "
           "certificate OR the number of connection failures due to the lack of x509 certificate "
           "SAN "
           "extension missing (either/or, based on the runtime environment)"},
          {})),
      x509_insecure_sha1(registry.AddCounter(
          {"apiserver_webhooks_x509_insecure_sha1_total",
           "Counts the number of requests to servers with insecure SHA1 signatures in their "
           "serving "
           "certificate OR the number of connection failures due to the insecure SHA1 signatures "
           "(either/or, based on the runtime environment)"},
          {})) {}

PolicyMetrics::PolicyMetrics(Registry& registry)
    : validating_checks(registry.AddCounter(
          {"apiserver_validating_admission_policy_check_total",
           "Validation admission policy check total, labeled by policy and further identified by "
           "binding and enforcement action taken.",
           Stability::kBeta},
          {"enforcement_action", "error_type", "policy", "policy_binding"})),
      validating_check_duration(registry.AddHistogram(
          {"apiserver_validating_admission_policy_check_duration_seconds",
           "Validation admission latency for individual validation expressions in seconds, labeled "
           "by "
           "policy and further including binding and enforcement action taken.",
           Stability::kBeta},
          {"enforcement_action", "error_type", "policy", "policy_binding"}, PolicyBounds())),
      mutating_checks(registry.AddCounter(
          {"apiserver_mutating_admission_policy_check_total",
           "Mutation admission policy check total, labeled by policy and further identified by "
           "binding."},
          {"error_type", "policy", "policy_binding"})),
      mutating_check_duration(registry.AddHistogram(
          {"apiserver_mutating_admission_policy_check_duration_seconds",
           "Mutation admission latency for individual mutation expressions in seconds, labeled by "
           "policy and binding."},
          {"error_type", "policy", "policy_binding"}, PolicyBounds())) {}

RequestMetrics::RequestMetrics(Registry& registry)
    : requests(registry.AddCounter(
          {"apiserver_request_total",
           "Counter of apiserver requests broken out for each verb, dry run value, group, version, "
           "resource, scope, component, and HTTP response code.",
           Stability::kStable},
          Where({"verb", "dry_run"}, {"component", "code"}))),
      duration(registry.AddHistogram(
          {"apiserver_request_duration_seconds",
           "Response latency distribution in seconds for each verb, dry run value, group, version, "
           "resource, subresource, scope and component.",
           Stability::kStable},
          Where({"verb", "dry_run"}, {"component"}), RequestBounds())),
      slo_duration(registry.AddHistogram(
          {"apiserver_request_sli_duration_seconds",
           "Response latency distribution (not counting webhook duration and priority & fairness "
           "queue wait times) in seconds for each verb, group, version, resource, subresource, "
           "scope "
           "and component."},
          Where({"verb"}, {"component"}),
          Bounds(RequestBounds().begin() + 2, RequestBounds().end()))),
      response_sizes(registry.AddHistogram(
          {"apiserver_response_sizes",
           "Response size distribution in bytes for each group, version, verb, resource, "
           "subresource, scope and component.",
           Stability::kStable},
          Where({"verb"}, {"component"}), {1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9})),
      request_body_sizes(registry.AddHistogram(
          {"apiserver_request_body_size_bytes",
           "Apiserver request body size in bytes broken out by resource and verb."},
          {"group", "resource", "verb"}, BodyBounds())),
      longrunning(registry.AddGauge(
          {"apiserver_longrunning_requests",
           "Gauge of all active long-running apiserver requests broken out by verb, group, "
           "version, "
           "resource, scope and component. Not all requests are tracked this way.",
           Stability::kStable},
          Where({"verb"}, {"component"}))),
      terminations(
          registry.AddCounter({"apiserver_request_terminations_total",
                               "Number of requests which apiserver terminated in self-defense."},
                              Where({"verb"}, {"component", "code"}))),
      audit_events(
          registry.AddCounter({"apiserver_audit_event_total",
                               "Counter of audit events generated and sent to the audit backend."},
                              {})),
      audit_requests_rejected(registry.AddCounter(
          {"apiserver_audit_requests_rejected_total",
           "Counter of apiserver requests rejected due to an error in audit logging backend."},
          {})),
      authenticated_users(
          registry.AddCounter({"authenticated_user_requests",
                               "Counter of authenticated requests broken out by username."},
                              {"username"})),
      authorization_decisions(registry.AddCounter({"apiserver_authorization_decisions_total",
                                                   "Total number of terminal decisions made by an "
                                                   "authorizer split by authorizer type, name, "
                                                   "and decision."},
                                                  {"type", "name", "decision"})),
      storage_objects(registry.AddGauge(
          {"apiserver_storage_objects",
           "[DEPRECATED, consider using apiserver_resource_objects "
           "instead] Number of stored objects at the time of last check split by kind. In case of "
           "a fetching error, the value will be -1.",
           Stability::kStable, "1.34.0"},
          {"resource"})),
      resource_objects(registry.AddGauge(
          {"apiserver_resource_objects",
           "Number of stored objects at the time of last check split by kind. In case of a "
           "fetching error, the value will be -1."},
          {"group", "resource"})),
      cache_lists(registry.AddCounter(
          {"apiserver_cache_list_total", "Number of LIST requests served from watch cache"},
          {"group", "resource", "index"})),
      cache_fetched(registry.AddCounter(
          {"apiserver_cache_list_fetched_objects_total",
           "Number of objects read from watch cache in the course of serving a LIST request"},
          {"group", "resource", "index"})),
      cache_returned(
          registry.AddCounter({"apiserver_cache_list_returned_objects_total",
                               "Number of objects returned for a LIST request from watch cache"},
                              {"group", "resource"})),
      unavailable_api_services(registry.AddGauge(
          {"aggregator_unavailable_apiservice",
           "Gauge of APIServices which are marked as unavailable broken down by APIService name."},
          {"name"})),
      discovery_aggregations(
          registry
              .AddCounter({"aggregator_discovery_aggregation_count_total",
                           "Counter of number of times discovery was aggregated"},
                          {})
              .With({})),
      requests_of_other_users(authenticated_users.With({"other"})),
      series(std::make_unique<RequestSeriesIndex>(
          RequestFamilies{requests, duration, slo_duration, response_sizes, request_body_sizes,
                          cache_lists, cache_fetched, cache_returned})) {}

}  // namespace portcullis::metrics
