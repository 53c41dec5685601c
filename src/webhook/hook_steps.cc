// SPDX-License-Identifier: Apache-2.0

#include "webhook/hook_steps.h"

#include "admission/match/explain.h"

namespace portcullis::webhook {

using admission::TraceReason;

void HookSteps::BeginHook(const Hook& hook) {
  trace_->Begin({admission::TraceActor::Kind::kWebhook, hook.configuration, hook.name, {}});
}

void HookSteps::BeginStep(const Candidate& candidate) {
  ExplainRulesUpTo(candidate.index);
  next_ = candidate.index + 1;
  BeginHook(*candidate.hook);
}

void HookSteps::ExplainRulesUpTo(std::size_t index) {
  if (next_ < index && !equivalents_known_ && services_.objects != nullptr) {
    equivalents_ = services_.objects->Equivalents(request_.resource(), request_.subresource());
    equivalents_known_ = true;
  }
  for (; next_ < index; ++next_) {
    const Hook& hook = *hooks_.hooks[next_];
    BeginHook(hook);
    admission::Mismatch mismatch =
        admission::match::ExplainRules(hook.rules, hook.match_policy, request_, equivalents_);
    trace_->Skip(mismatch.reason, std::move(mismatch.message));
  }
}

void HookSteps::ExplainSelectors(const Candidate& candidate, json::Value object) {
  const api::LabelSelector& in_namespace = candidate.hook->namespace_selector->selector;
  const auto selected = matcher_.NamespaceMatches(*candidate.hook->namespace_selector, object);
  admission::Mismatch mismatch =
      admission::match::ObjectMismatch(candidate.hook->object_selector->selector, request_, object);
  if (selected.ok() && !*selected) {
    const bool by_object = request_.resource().resource == "namespaces";
    json::Value labels = object["metadata"]["labels"];
    if (!by_object) {
      const auto stored = matcher_.NamespaceLabels();
      if (stored.ok()) labels = *stored;
    }
    mismatch = admission::match::NamespaceMismatch(in_namespace, request_.namespace_name(), labels);
  }
  trace_->Skip(mismatch.reason, std::move(mismatch.message));
}

void HookSteps::ExplainReinvocation(const Hook& hook) {
  trace_->Skip(TraceReason::kReinvocationPolicy,
               hook.reinvoke_if_needed ? "the object has not changed since this webhook was called"
                                       : "reinvocationPolicy is Never");
}

}  // namespace portcullis::webhook
