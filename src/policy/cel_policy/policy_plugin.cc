#include "policy/cel_policy/policy_plugin.h"

namespace portcullis::policy {

PolicyPluginCore::PolicyPluginCore(const admission::PluginContext& context, PolicyType type) {
  if (context.metrics != nullptr) {
    metrics_ = std::make_unique<metrics::PolicyMetrics>(*context.metrics);
    condition_metrics_ = std::make_unique<metrics::AdmissionMetrics>(*context.metrics);
  }
  services_.objects = context.objects;
  services_.reader = context.reader;
  services_.authorizer = context.authorizer;
  services_.clock = context.clock != nullptr ? context.clock : &base::SystemClock();
  services_.metrics = metrics_.get();
  services_.condition_metrics = condition_metrics_.get();
  if (context.feed != nullptr) source_ = std::make_unique<PolicySource>(*context.feed, type);
}

std::shared_ptr<const PolicySet> PolicyPluginCore::PoliciesFor(
    const admission::Request& request) const {
  if (source_ == nullptr || IsExempt(request)) return nullptr;
  auto policies = source_->Get();
  return policies->policies.empty() ? nullptr : policies;
}

}  // namespace portcullis::policy
