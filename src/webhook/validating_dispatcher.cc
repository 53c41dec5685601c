// SPDX-License-Identifier: Apache-2.0

// All decisions are taken before the first call: whatever can go wrong there refuses the request
// without any webhook having been asked. Then the calls are started together, and judged in the
// order in which their results arrive, because the first error is the one the client sees.
#include "webhook/validating_dispatcher.h"

#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "admission/errors.h"
#include "admission/object_conversion.h"
#include "admission/survey.h"
#include "base/log.h"
#include "base/strings.h"
#include "webhook/call.h"
#include "webhook/hook_steps.h"
#include "webhook/review_v1alpha1.h"

namespace portcullis::webhook {
namespace {

using admission::TraceOutcome;
using admission::TraceReason;

// The objects of one kind.
struct Versioned {
  api::GroupVersionKind kind;
  json::Value object;
  json::Value old_object;
};

struct Relevant {
  const Candidate* candidate = nullptr;
  const Versioned* versioned = nullptr;
  std::int32_t step = admission::Trace::kNoStep;
};

struct SharedText {
  Invocation invocation;
  ReviewForm form;
  std::shared_ptr<const std::string> text;
};

class ValidatingDispatcher {
 public:
  ValidatingDispatcher(const Services& services, const HookSet& hooks,
                       const admission::Request& request)
      : services_(services),
        request_(request),
        matcher_(hooks, request, services),
        steps_(hooks, request, services, matcher_) {}

  base::Status Run() {
    TRY(Decide());
    if (relevant_.empty()) return base::OkStatus();
    const auto& deadline = request_.deadline();
    if (deadline && services_.clock->Steady() >= *deadline) return admission::RequestTimeout();
    StartAll();
    WaitForAll();
    for (std::size_t i = 1; i < errors_.size(); ++i) {
      base::LogWarning("another webhook refused the request as well",
                       {{"error", errors_[i].first.message()}});
    }
    if (errors_.empty()) return base::OkStatus();
    request_.recorder().KeepForeignStatus(errors_.front().second);
    return errors_.front().first;
  }

 private:
  base::Status Decide() {
    for (const Candidate& candidate : matcher_.candidates()) {
      steps_.Begin(candidate);
      if (!TRY(matcher_.IsSelected(candidate, request_.object()))) {
        steps_.NotSelected(candidate, request_.object());
        continue;
      }
      const Versioned* versioned = TRY(VersionedFor(candidate.invocation.kind));
      if (!TRY(matcher_.MeetsConditions(candidate, versioned->object, versioned->old_object))) {
        continue;
      }
      relevant_.push_back({&candidate, versioned, steps_.Suspend()});
    }
    steps_.Rest();
    return base::OkStatus();
  }

  base::Result<const Versioned*> VersionedFor(const api::GroupVersionKind& kind) {
    for (const Versioned& known : versions_) {
      if (known.kind == kind) return &known;
    }
    auto object = ConvertTo(request_.object(), kind);
    if (!object.ok()) return base::InternalError(object.status().message());
    auto old_object = ConvertTo(request_.old_object(), kind);
    if (!old_object.ok()) return base::InternalError(old_object.status().message());
    versions_.push_back({kind, *object, *old_object});
    return &versions_.back();
  }

  base::Result<json::Value> ConvertTo(json::Value object, const api::GroupVersionKind& kind) const {
    if (object.is_null() || kind == request_.kind() || services_.objects == nullptr) return object;
    return admission::ConvertFor(request_, *services_.objects, object, kind);
  }

  void StartAll() {
    start_ = services_.clock->Steady();
    if (services_.https != nullptr) https_ = services_.https->NewSet();
    calls_.resize(relevant_.size());
    for (std::size_t i = 0; i < relevant_.size(); ++i) {
      const Hook& hook = *relevant_[i].candidate->hook;
      base::Status refusal;
      if (auto error = CheckDryRun(hook, request_.dry_run(), refusal)) {
        FinishWithCallError(i, *error);
        continue;
      }
      if (!refusal.ok()) {
        FinishWithInternalError(i, refusal);
        continue;
      }
      if (const auto answer = StandInFor(request_, hook)) {
        FinishWithStandIn(i, *answer);
        continue;
      }
      if (https_ == nullptr) {
        FinishWithCallError(i, NoClientError());
        continue;
      }
      auto prepared = PrepareCall(hook, SharedPart(relevant_[i]), request_.deadline(), start_);
      if (auto* error = std::get_if<CallError>(&prepared)) {
        FinishWithCallError(i, *error);
        continue;
      }
      calls_[i] = std::move(std::get<PreparedCall>(prepared));
      Send(i);
    }
  }

  // What is recorded from here on belongs to the webhook's step of a trace.
  void ResumeStep(std::size_t index) {
    if (admission::Trace* trace = steps_.trace()) trace->Resume(relevant_[index].step);
  }

  void EndStep(std::size_t index, TraceOutcome outcome, TraceReason reason,
               std::string_view message) {
    admission::Trace* trace = steps_.trace();
    if (trace == nullptr) return;
    trace->Resume(relevant_[index].step);
    trace->SetTook(services_.clock->Steady() - start_);
    trace->SetReason(reason);
    trace->End(outcome, std::string(message));
  }

  // One serialization for all webhooks that are called with the same kind, resource and form. A request
  // comes to webhooks or to external admission hooks, not to both at once.
  const std::shared_ptr<const std::string>& SharedPart(const Relevant& relevant) {
    const Invocation& invocation = relevant.candidate->invocation;
    const ReviewForm form = FormFor(services_.dialect, *relevant.candidate->hook);
    for (const SharedText& known : shared_parts_) {
      if (known.invocation == invocation && known.form == form) return known.text;
    }
    const Versioned& versioned = *relevant.versioned;
    shared_parts_.push_back(
        {invocation, form,
         std::make_shared<const std::string>(
             IsExternalHook(*relevant.candidate->hook)
                 ? EncodeReviewV1alpha1(request_, !services_.dialect.v1beta1_reviews.has_new_names)
                 : EncodeSharedPart(request_, invocation, versioned.object, versioned.old_object,
                                    form, services_.objects))});
    return shared_parts_.back().text;
  }

  void Send(std::size_t index) {
    ++waited_for_;
    const PreparedCall& call = calls_[index];
    https_->Start(index, call.request, call.deadline, call.body);
  }

  void WaitForAll() {
    while (waited_for_ > 0 || !repeats_.empty()) {
      std::optional<base::SteadyTime> until;
      if (!repeats_.empty()) until = repeats_.begin()->first;
      const auto arrival = NextArrival(until);
      if (arrival) {
        --waited_for_;
        Take(arrival->id, arrival->result);
        continue;
      }
      const std::size_t index = repeats_.begin()->second;
      repeats_.erase(repeats_.begin());
      Send(index);
    }
  }

  std::optional<net::CallSet::Arrival> NextArrival(std::optional<base::SteadyTime> until) {
    const admission::WaitingForOthers waiting(request_.recorder());
    return https_->Next(until);
  }

  void Take(std::size_t index, const net::CallResult& result) {
    PreparedCall& call = calls_[index];
    if (services_.metrics != nullptr)
      services_.metrics->ObserveHttp(*call.hook, *call.request, call.body.size(), result);
    if (const auto delay = RetryDelay(call, result)) {
      ++call.attempts;
      repeats_.emplace(std::min(services_.clock->Steady() + *delay, call.deadline), index);
      return;
    }
    const base::Duration took = services_.clock->Steady() - start_;
    request_.recorder().AddValidatingWebhookTime(took);
    ResumeStep(index);
    RecordCertificateProblems(request_, call, result, services_.metrics);
    auto judged =
        JudgeCall(request_.arena(), HookType::kValidating, call, result, services_.metrics);
    if (const auto* error = std::get_if<CallError>(&judged)) {
      FinishWithCallError(index, *error);
      return;
    }
    FinishWithAnswer(index, std::get<ReviewAnswer>(judged), took);
  }

  void FinishWithAnswer(std::size_t index, const ReviewAnswer& answer, base::Duration took) {
    const Hook& hook = *relevant_[index].candidate->hook;
    RecordAnswer(request_, hook, answer);
    const admission::Operation operation = request_.operation();
    if (answer.allowed) {
      if (services_.metrics != nullptr) {
        services_.metrics->ObserveCall(hook, operation, false, 200, took);
      }
      return EndStep(index, TraceOutcome::kAllowed, TraceReason::kNone, {});
    }
    base::Status denial = IsExternalHook(hook)
                              ? DenialStatusV1alpha1(hook.name, answer.status)
                              : DenialStatus(hook.name, answer.status, services_.dialect);
    EndStep(index, TraceOutcome::kDenied, TraceReason::kNone, denial.message());
    if (services_.metrics != nullptr) {
      services_.metrics->CountRejection(hook.name, operation, ErrorType::kNone, denial.http_code());
      services_.metrics->ObserveCall(hook, operation, true, denial.http_code(), took);
    }
    Refuse(hook, std::move(denial), answer.status);
  }

  void FinishWithStandIn(std::size_t index, const admission::WebhookAnswer& answer) {
    ResumeStep(index);
    if (answer.response.is_null()) {
      return EndStep(index, TraceOutcome::kSkipped, TraceReason::kNotCalled, {});
    }
    const Hook& hook = *relevant_[index].candidate->hook;
    auto judged = JudgeStandIn(request_.arena(), HookType::kValidating, hook, answer.response);
    if (const auto* error = std::get_if<CallError>(&judged)) {
      return FinishWithCallError(index, *error);
    }
    FinishWithAnswer(index, std::get<ReviewAnswer>(judged), base::Duration::zero());
  }

  void Refuse(const Hook& hook, base::Status refusal, json::Value status) {
    if (admission::Survey* survey = request_.recorder().survey()) {
      survey->AddPart({{admission::TraceActor::Kind::kWebhook, hook.configuration, hook.name, {}},
                       -1,
                       refusal});
    }
    errors_.emplace_back(std::move(refusal), status);
  }

  void FinishWithCallError(std::size_t index, const CallError& error) {
    const Hook& hook = *relevant_[index].candidate->hook;
    const bool rejected = !hook.ignore_failures;
    const std::string text = CallErrorText(hook, error, services_.dialect);
    ResumeStep(index);
    LogCallError(hook, text);
    if (services_.metrics != nullptr) {
      const admission::Operation operation = request_.operation();
      if (rejected && !error.cancelled) {
        services_.metrics->CountRejection(hook.name, operation, ErrorType::kCallingWebhook,
                                          error.code);
      }
      services_.metrics->ObserveCall(hook, operation, rejected, error.code,
                                     services_.clock->Steady() - start_);
      if (!rejected && !error.cancelled) services_.metrics->CountFailOpen(hook.name);
    }
    if (rejected) {
      EndStep(index, TraceOutcome::kFailed, TraceReason::kFailurePolicy, text);
      return Refuse(
          hook, IsExternalHook(hook) ? admission::PlainError(text) : base::InternalError(text), {});
    }
    if (!error.cancelled) {
      (void)request_.Annotate(
          base::StrCat("failed-open.validating.webhook.admission.k8s.io/round_0_index_",
                       std::to_string(index)),
          hook.name);
    }
    EndStep(index, TraceOutcome::kFailedOpen, TraceReason::kFailurePolicy, text);
  }

  // The webhook must not be called in a dry run.
  void FinishWithInternalError(std::size_t index, const base::Status& status) {
    const Hook& hook = *relevant_[index].candidate->hook;
    if (services_.metrics != nullptr) {
      const admission::Operation operation = request_.operation();
      services_.metrics->CountRejection(hook.name, operation, ErrorType::kApiServerInternal, 0);
      services_.metrics->ObserveCall(hook, operation, true, 0, services_.clock->Steady() - start_);
    }
    EndStep(index, TraceOutcome::kFailed, TraceReason::kSideEffects, status.message());
    Refuse(hook, status, {});
  }

  const Services& services_;
  const admission::Request& request_;
  Matcher matcher_;
  HookSteps steps_;
  std::list<Versioned> versions_;
  std::vector<Relevant> relevant_;
  std::list<SharedText> shared_parts_;
  std::vector<PreparedCall> calls_;  // as relevant_; empty where nothing could be sent
  std::unique_ptr<net::CallSet> https_;
  std::size_t waited_for_ = 0;
  std::multimap<base::SteadyTime, std::size_t> repeats_;  // calls to send again, by time
  // In the order of arrival, with the webhook's Status object.
  std::vector<std::pair<base::Status, json::Value>> errors_;
  base::SteadyTime start_;
};

}  // namespace

base::Status DispatchValidating(const Services& services, const HookSet& hooks,
                                const admission::Request& request) {
  if (hooks.hooks.empty()) return base::OkStatus();
  return ValidatingDispatcher(services, hooks, request).Run();
}

}  // namespace portcullis::webhook
