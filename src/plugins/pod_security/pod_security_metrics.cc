// SPDX-License-Identifier: Apache-2.0

#include "plugins/pod_security/pod_security_metrics.h"

#include <string>

namespace portcullis::plugins::pod_security {
namespace {

using policy::pod_security::Level;
using policy::pod_security::LevelVersion;

std::string_view OperationOf(const admission::Request& request) {
  return request.operation() == admission::kUpdate ? "update" : "create";
}

std::string_view ResourceOf(const admission::Request& request) {
  if (request.IsResource("", "pods")) return "pod";
  return request.IsResource("", "namespaces") ? "namespace" : "controller";
}

}  // namespace

PodSecurityMetrics::PodSecurityMetrics(metrics::Registry& registry, const release::Release& release)
    : release_(release),
      evaluations_(registry.AddCounter(
          {"pod_security_evaluations_total",
           "Number of policy evaluations that occurred, not counting ignored or exempt requests."},
          {"decision", "policy_level", "policy_version", "mode", "request_operation", "resource",
           "subresource"})),
      exemptions_(registry.AddCounter(
          {"pod_security_exemptions_total",
           "Number of exempt requests, not counting ignored or out of scope requests."},
          {"request_operation", "resource", "subresource"})),
      errors_(registry.AddCounter(
          {"pod_security_errors_total",
           "Number of errors preventing normal evaluation. Non-fatal errors may result in the "
           "latest restricted profile being used for evaluation."},
          {"fatal", "request_operation", "resource", "subresource"})) {
  // The series that are there before anything has happened.
  for (const std::string_view operation : {"create", "update"}) {
    evaluations_.With({"allow", "privileged", "latest", "enforce", operation, "pod", ""});
    exemptions_.With({operation, "pod", ""});
    exemptions_.With({operation, "controller", ""});
  }
}

void PodSecurityMetrics::CountEvaluation(const admission::Request& request,
                                         const LevelVersion& policy, std::string_view mode,
                                         bool allowed) {
  std::string version = policy::pod_security::VersionText(policy.version);
  if (policy.level == Level::kPrivileged) {
    version = "latest";
  } else if (!policy.version.latest && policy.version.minor > release_.minor()) {
    version = "future";
  }
  evaluations_
      .With({allowed ? "allow" : "deny", policy::pod_security::LevelText(policy.level), version,
             mode, OperationOf(request), ResourceOf(request), request.subresource()})
      .Increment();
}

void PodSecurityMetrics::CountExemption(const admission::Request& request) {
  exemptions_.With({OperationOf(request), ResourceOf(request), request.subresource()}).Increment();
}

void PodSecurityMetrics::CountError(const admission::Request& request, bool fatal) {
  errors_
      .With({fatal ? "true" : "false", OperationOf(request), ResourceOf(request),
             request.subresource()})
      .Increment();
}

}  // namespace portcullis::plugins::pod_security
