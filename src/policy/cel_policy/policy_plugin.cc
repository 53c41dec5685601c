// SPDX-License-Identifier: Apache-2.0

#include "policy/cel_policy/policy_plugin.h"

#include "admission/trace/trace.h"

namespace portcullis::policy {

base::Result<std::unique_ptr<PolicyPluginCore>> PolicyPluginCore::Create(
    const admission::PluginContext& context, PolicyType type) {
  std::unique_ptr<PolicyPluginCore> core(new PolicyPluginCore);
  if (context.metrics != nullptr) {
    core->metrics_ = std::make_unique<metrics::PolicyMetrics>(*context.metrics);
    core->condition_metrics_ = std::make_unique<metrics::AdmissionMetrics>(*context.metrics);
  }
  core->services_.objects = context.objects;
  core->services_.reader = context.reader;
  core->services_.authorizer = context.authorizer;
  core->services_.clock = context.clock != nullptr ? context.clock : &base::SystemClock();
  core->services_.metrics = core->metrics_.get();
  core->services_.condition_metrics = core->condition_metrics_.get();
  kube_cel::Compiler* compiler = context.compiler;
  if (compiler == nullptr) {
    core->own_compiler_ = std::make_unique<kube_cel::Compiler>();
    compiler = core->own_compiler_.get();
  }
  const std::string directory = TRY(ReadManifestsDirectory(context, type));
  if (!directory.empty()) {
    core->files_ =
        TRY(StaticPolicies::Create(context, directory, type, *compiler, core->selectors_));
  }
  if (context.feed != nullptr) {
    core->source_ =
        std::make_unique<PolicySource>(*context.feed, type, *compiler, core->selectors_);
  }
  return core;
}

std::shared_ptr<const PolicySet> PolicyPluginCore::PoliciesFor(
    const admission::Request& request) const {
  admission::Trace* const trace = request.recorder().trace();
  if (trace != nullptr && (IsExempt(request) || IsPolicyResource(request))) {
    trace->SetReason(admission::TraceReason::kExempt,
                     "policies of the API do not judge reviews, policies and bindings");
  }
  if (source_ == nullptr || IsExempt(request)) return nullptr;
  const std::shared_ptr<const PolicySet> files = files_ == nullptr ? nullptr : files_->Get();
  auto policies = IsPolicyResource(request) ? files : source_->Get(files);
  if (policies == nullptr) return nullptr;
  // A trace says of every policy why it does not apply.
  return policies->index->Concerns(request) || trace != nullptr ? policies : nullptr;
}

}  // namespace portcullis::policy
