// SPDX-License-Identifier: Apache-2.0

// The metrics of kube-apiserver that this project serves, by their names, labels and buckets there,
// so that dashboards made for it work unchanged. One instance per server, made with its registry.
// Thread-safe. Sources: Kubernetes' metrics reference, and /metrics of kube-apiserver v1.36.
#pragma once

#include <memory>

#include "metrics/metrics.h"
#include "metrics/request_series.h"

namespace portcullis::metrics {

// apiserver_admission_*; labels in the order given here.
struct AdmissionMetrics {
  explicit AdmissionMetrics(Registry& registry);

  Family<Histogram>& step_duration;             // type, operation, rejected
  Family<Summary>& step_duration_summary;       // type, operation, rejected
  Family<Histogram>& controller_duration;       // name, type, operation, rejected
  Family<Histogram>& webhook_duration;          // name, type, operation, rejected
  Family<Counter>& webhook_rejections;          // name, type, operation, error_type, rejection_code
  Family<Counter>& webhook_fail_open;           // name, type
  Family<Counter>& webhook_requests;            // name, type, operation, code, rejected
  Family<Counter>& match_condition_errors;      // name, kind, type, operation
  Family<Counter>& match_condition_exclusions;  // name, kind, type, operation
  Family<Histogram>& match_condition_duration;  // name, kind, type, operation
  Family<Counter>& x509_missing_san;            // no labels
  Family<Counter>& x509_insecure_sha1;          // no labels
};

// apiserver_validating_admission_policy_* and the mutating ones.
struct PolicyMetrics {
  explicit PolicyMetrics(Registry& registry);

  Family<Counter>& validating_checks;  // enforcement_action, error_type, policy, policy_binding
  Family<Histogram>&
      validating_check_duration;     // enforcement_action, error_type, policy, policy_binding
  Family<Counter>& mutating_checks;  // error_type, policy, policy_binding
  Family<Histogram>& mutating_check_duration;  // error_type, policy, policy_binding
};

// apiserver_request_* and its neighbours.
struct RequestMetrics {
  explicit RequestMetrics(Registry& registry);

  Family<Counter>&
      requests;  // verb, dry_run, group, version, resource, subresource, scope, component, code
  Family<Histogram>&
      duration;  // verb, dry_run, group, version, resource, subresource, scope, component
  Family<Histogram>& slo_duration;  // verb, group, version, resource, subresource, scope, component
  Family<Histogram>&
      response_sizes;  // verb, group, version, resource, subresource, scope, component
  Family<Histogram>& request_body_sizes;  // group, resource, verb
  Family<Gauge>& longrunning;  // verb, group, version, resource, subresource, scope, component
  Family<Counter>&
      terminations;  // verb, group, version, resource, subresource, scope, component, code
  Family<Counter>& audit_events;             // no labels
  Family<Counter>& audit_requests_rejected;  // no labels
  Family<Counter>& authenticated_users;      // username
  Family<Counter>& authorization_decisions;  // type, name, decision
  Family<Gauge>& storage_objects;            // resource, e.g. deployments.apps
  Family<Gauge>& resource_objects;           // group, resource
  Family<Counter>& cache_lists;              // group, resource, index
  Family<Counter>& cache_fetched;            // group, resource, index
  Family<Counter>& cache_returned;           // group, resource
  Family<Gauge>& unavailable_api_services;   // name
  Counter& discovery_aggregations;
  // What nearly every request adds to, looked up once.
  Counter& requests_of_other_users;
  // The series that a request adds to, by its labels.
  std::unique_ptr<RequestSeriesIndex> series;
};

}  // namespace portcullis::metrics
