// SPDX-License-Identifier: Apache-2.0

// The steps of webhooks in the trace of a request: one for each webhook, in the order of their
// list, also for those that are not called. Does nothing if the request is not traced.
//
// Confined to the request's thread; lives for one dispatch.
#pragma once

#include <vector>

#include "admission/trace/trace.h"
#include "webhook/matcher.h"

namespace portcullis::webhook {

class HookSteps {
 public:
  // All of them outlive it.
  HookSteps(const HookSet& hooks, const admission::Request& request, const Services& services,
            Matcher& matcher)
      : trace_(request.recorder().trace()),
        hooks_(hooks),
        request_(request),
        services_(services),
        matcher_(matcher) {}

  // Null if the request is not traced.
  admission::Trace* trace() const { return trace_; }

  // The webhooks before the candidate are told why their rules do not match; its own step begins.
  void Begin(const Candidate& candidate) {
    if (trace_ != nullptr) BeginStep(candidate);
  }
  // Ends the step: a selector does not select the object or its namespace.
  void NotSelected(const Candidate& candidate, json::Value object) {
    if (trace_ != nullptr) ExplainSelectors(candidate, object);
  }
  // Ends the step: the second pass leaves the webhook out.
  void NotReinvoked(const Candidate& candidate) {
    if (trace_ != nullptr) ExplainReinvocation(*candidate.hook);
  }
  // Ends the step: something stands in for webhooks, and passes over this one.
  void NotCalled() {
    if (trace_ != nullptr) trace_->Skip(admission::TraceReason::kNotCalled, {});
  }
  // Leaves the step open until the webhook has answered; see Trace::Resume().
  std::int32_t Suspend() {
    return trace_ == nullptr ? admission::Trace::kNoStep : trace_->Suspend();
  }
  // No candidate follows.
  void Rest() {
    if (trace_ != nullptr) ExplainRulesUpTo(hooks_.hooks.size());
  }

 private:
  void BeginStep(const Candidate& candidate);
  void ExplainSelectors(const Candidate& candidate, json::Value object);
  void ExplainReinvocation(const Hook& hook);
  void ExplainRulesUpTo(std::size_t index);
  void BeginHook(const Hook& hook);

  admission::Trace* const trace_;
  const HookSet& hooks_;
  const admission::Request& request_;
  const Services& services_;
  Matcher& matcher_;
  std::size_t next_ = 0;
  std::vector<api::GroupVersionResource> equivalents_;
  bool equivalents_known_ = false;
};

}  // namespace portcullis::webhook
