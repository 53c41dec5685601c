// SPDX-License-Identifier: Apache-2.0

#include "webhook/mutating_dispatcher.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "admission/errors.h"
#include "admission/object_conversion.h"
#include "admission/survey.h"
#include "base/gotext.h"
#include "base/log.h"
#include "base/strings.h"
#include "json/edit.h"
#include "json/patch.h"
#include "json/reader.h"
#include "json/sorted.h"
#include "json/writer.h"
#include "webhook/call.h"
#include "webhook/hook_steps.h"

namespace portcullis::webhook {
namespace {

constexpr std::string_view kPlugin = "MutatingAdmissionWebhook";

// Which webhooks may be, and which are to be, called again in the second pass.
struct Memory final : admission::Reinvocation::State {
  json::Value last_output;
  std::set<std::string> previously_invoked;
  std::set<std::string> reinvoke;

  void ReinvokePrevious() {
    reinvoke.merge(previously_invoked);
    previously_invoked.clear();
  }
};

// What calling one webhook came to.
struct Outcome {
  enum class Kind : std::uint8_t { kAllowed, kCallError, kDenied, kInternalError };
  Kind kind = Kind::kAllowed;
  bool skipped = false;  // something stands in for webhooks and passes over this one
  bool changed = false;
  CallError call_error;
  base::Status status;  // of a denial or an internal error
};

Outcome Failed(CallError error) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::kCallError;
  outcome.call_error = std::move(error);
  return outcome;
}

Outcome Broken(base::Status status) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::kInternalError;
  outcome.status = std::move(status);
  return outcome;
}

// One operation with its members in alphabetical order, everything below as it came.
void WriteOperation(json::Value operation, std::string& out) {
  out.push_back('{');
  for (const json::Member* member : json::MembersByName(operation)) {
    if (out.back() != '{') out.push_back(',');
    json::WriteString(member->name(), out);
    out.push_back(':');
    json::Write(member->value, out, {.splice_source = false});
  }
  out.push_back('}');
}

class MutatingDispatcher {
 public:
  MutatingDispatcher(const Services& services, const HookSet& hooks, admission::Request& request)
      : services_(services),
        request_(request),
        matcher_(hooks, request, services),
        steps_(hooks, request, services, matcher_),
        memory_(request.reinvocation().StateOf<Memory>(kPlugin)),
        object_(request.object()),
        old_object_(request.old_object()),
        kind_(request.kind()) {}

  base::Status Run() {
    admission::Reinvocation& reinvocation = request_.reinvocation();
    if (reinvocation.is_reinvoke() &&
        !SemanticallyEqual(memory_.last_output, request_.object(), request_.kind())) {
      memory_.ReinvokePrevious();
    }
    base::Status outcome = CallAll();
    if (outcome.ok()) outcome = WriteBack();
    memory_.last_output = request_.object();
    return outcome;
  }

 private:
  base::Status CallAll() {
    for (const Candidate& candidate : matcher_.candidates()) {
      steps_.Begin(candidate);
      if (!TRY(matcher_.IsSelected(candidate, object_))) {
        steps_.NotSelected(candidate, object_);
        continue;
      }
      if (candidate.hook->has_conditions) {
        TRY(SwitchTo(candidate.invocation.kind));
        if (!TRY(matcher_.MeetsConditions(candidate, object_, old_object_))) continue;
      }
      const bool again = request_.reinvocation().is_reinvoke();
      if (again && memory_.reinvoke.count(candidate.hook->uid) == 0) {
        steps_.NotReinvoked(candidate);
        continue;
      }
      TRY(SwitchTo(candidate.invocation.kind));
      TRY(Surveyed(*candidate.hook, CallAndAccount(candidate)));
    }
    steps_.Rest();
    return refusal_;
  }

  // In a survey the webhooks behind a refusal are called too.
  base::Status Surveyed(const Hook& hook, base::Status outcome) {
    admission::Survey* const survey = request_.recorder().survey();
    if (survey == nullptr || outcome.ok()) return outcome;
    survey->AddPart(
        {{admission::TraceActor::Kind::kWebhook, hook.configuration, hook.name, {}}, -1, outcome});
    if (refusal_.ok()) refusal_ = std::move(outcome);
    return base::OkStatus();
  }

  // Makes object_ and old_object_ of that kind.
  base::Status SwitchTo(const api::GroupVersionKind& kind) {
    if (kind == kind_) return base::OkStatus();
    TRY(WriteBack());
    auto object = ConvertTo(request_.object(), kind);
    if (!object.ok()) return NotConverted(object.status());
    auto old_object = ConvertTo(request_.old_object(), kind);
    if (!old_object.ok()) return NotConverted(old_object.status());
    object_ = *object;
    old_object_ = *old_object;
    kind_ = kind;
    has_defaults_ = false;
    ordered_ = {};
    untyped_ = {};
    frame_.reset();
    shared_.reset();
    return base::OkStatus();
  }

  // Kubernetes wraps this error twice.
  static base::Status NotConverted(const base::Status& status) {
    return base::InternalError(base::InternalError(status.message()).message());
  }

  base::Result<json::Value> ConvertTo(json::Value object, const api::GroupVersionKind& kind) const {
    if (object.is_null() || kind == request_.kind() || services_.objects == nullptr) return object;
    return admission::ConvertFor(request_, *services_.objects, object, kind);
  }

  // Brings changes back into the request.
  base::Status WriteBack() {
    if (!dirty_) return base::OkStatus();
    if (!foreign_.ok()) return foreign_;
    json::Value object = object_;
    if (kind_ != request_.kind() || IsOfOtherVersion()) {
      auto converted =
          admission::ConvertFor(request_, *services_.objects, object_, request_.kind());
      if (!converted.ok()) return admission::PlainError(converted.status().message());
      object = *converted;
    }
    request_.set_object(object);
    dirty_ = false;
    return base::OkStatus();
  }

  // A custom resource that a webhook has moved to another version.
  bool IsOfOtherVersion() const {
    return services_.objects != nullptr && object_.is_object() &&
           object_["apiVersion"].AsString() != kind_.group_version().ToString();
  }

  base::Status CallAndAccount(const Candidate& candidate) {
    const Hook& hook = *candidate.hook;
    const json::Value before = object_;
    const auto start = services_.clock->Steady();
    Outcome outcome = CallOne(candidate);
    if (outcome.skipped) {
      steps_.NotCalled();
      return base::OkStatus();
    }
    const auto took = services_.clock->Steady() - start;
    Annotate("mutation.webhook.admission.k8s.io/", candidate,
             base::StrCat(Names(hook), ",\"mutated\":", outcome.changed ? "true}" : "false}"),
             admission::AuditLevel::kMetadata);
    Count(hook, outcome, took);
    if (outcome.changed) {
      memory_.ReinvokePrevious();
      request_.reinvocation().RequestReinvocation();
    }
    if (hook.reinvoke_if_needed) memory_.previously_invoked.insert(hook.uid);
    base::Status status = Settle(candidate, outcome);
    if (admission::Trace* trace = steps_.trace()) {
      trace->SetObjects(before, object_, kind_ == request_.kind());
      EndStep(hook, outcome, *trace);
    }
    return status;
  }

  // What the outcome means for the request.
  base::Status Settle(const Candidate& candidate, const Outcome& outcome) {
    const Hook& hook = *candidate.hook;
    switch (outcome.kind) {
      case Outcome::Kind::kAllowed:
        return base::OkStatus();
      case Outcome::Kind::kDenied:
      case Outcome::Kind::kInternalError:
        return outcome.status;
      case Outcome::Kind::kCallError:
        break;
    }
    const std::string text = CallErrorText(hook, outcome.call_error, services_.dialect);
    LogCallError(hook, text);
    if (!hook.ignore_failures) return base::InternalError(text);
    if (!outcome.call_error.cancelled) {
      Annotate("failed-open.mutation.webhook.admission.k8s.io/", candidate, hook.name,
               admission::AuditLevel::kMetadata);
      if (services_.metrics != nullptr) services_.metrics->CountFailOpen(hook.name);
    }
    const auto& deadline = request_.deadline();
    if (deadline && services_.clock->Steady() >= *deadline) return admission::RequestTimeout();
    return base::OkStatus();
  }

  void EndStep(const Hook& hook, const Outcome& outcome, admission::Trace& trace) const {
    using admission::TraceOutcome;
    switch (outcome.kind) {
      case Outcome::Kind::kAllowed:
        return trace.End(outcome.changed ? TraceOutcome::kChanged : TraceOutcome::kAllowed);
      case Outcome::Kind::kDenied:
        return trace.End(TraceOutcome::kDenied, outcome.status.message());
      case Outcome::Kind::kInternalError:
        return trace.End(TraceOutcome::kFailed, outcome.status.message());
      case Outcome::Kind::kCallError:
        trace.SetReason(admission::TraceReason::kFailurePolicy);
        return trace.End(hook.ignore_failures ? TraceOutcome::kFailedOpen : TraceOutcome::kFailed,
                         CallErrorText(hook, outcome.call_error, services_.dialect));
    }
  }

  void Count(const Hook& hook, const Outcome& outcome, base::Duration took) const {
    if (services_.metrics == nullptr) return;
    const admission::Operation operation = request_.operation();
    switch (outcome.kind) {
      case Outcome::Kind::kAllowed:
        services_.metrics->ObserveCall(hook, operation, false, 200, took);
        return;
      case Outcome::Kind::kDenied:
        services_.metrics->CountRejection(hook.name, operation, ErrorType::kNone,
                                          outcome.status.http_code());
        services_.metrics->ObserveCall(hook, operation, true, outcome.status.http_code(), took);
        return;
      case Outcome::Kind::kInternalError:
        services_.metrics->CountRejection(hook.name, operation, ErrorType::kApiServerInternal, 0);
        services_.metrics->ObserveCall(hook, operation, true, 0, took);
        return;
      case Outcome::Kind::kCallError:
        if (!hook.ignore_failures && !outcome.call_error.cancelled) {
          services_.metrics->CountRejection(hook.name, operation, ErrorType::kCallingWebhook,
                                            outcome.call_error.code);
        }
        services_.metrics->ObserveCall(hook, operation, !hook.ignore_failures,
                                       outcome.call_error.code, took);
        return;
    }
  }

  Outcome CallOne(const Candidate& candidate) {
    const Hook& hook = *candidate.hook;
    base::Status refusal;
    if (auto error = CheckDryRun(hook, request_.dry_run(), refusal)) return Failed(*error);
    if (!refusal.ok()) {
      if (steps_.trace() != nullptr) {
        steps_.trace()->SetReason(admission::TraceReason::kSideEffects);
      }
      return Broken(std::move(refusal));
    }
    if (const auto stand_in = StandInFor(request_, hook)) return CallNobody(candidate, *stand_in);
    if (services_.https == nullptr) return Failed(NoClientError());

    const auto start = services_.clock->Steady();
    const ReviewForm form = FormFor(services_.dialect, hook);
    if (!frame_ || candidate.invocation.resource != frame_resource_ || form != frame_form_) {
      frame_.emplace(request_, candidate.invocation, old_object_, form, services_.objects);
      frame_resource_ = candidate.invocation.resource;
      frame_form_ = form;
      shared_.reset();
    }
    if (shared_ == nullptr) EncodeObject();
    auto prepared = PrepareCall(hook, shared_, request_.deadline(), start);
    if (auto* error = std::get_if<CallError>(&prepared)) return Failed(std::move(*error));
    auto& call = std::get<PreparedCall>(prepared);
    net::CallResult result = Send(call);
    request_.recorder().AddMutatingWebhookTime(services_.clock->Steady() - start);
    RecordCertificateProblems(request_, call, result, services_.metrics);

    auto judged = JudgeCall(request_.arena(), HookType::kMutating, call, result, services_.metrics);
    if (auto* error = std::get_if<CallError>(&judged)) return Failed(std::move(*error));
    return Judge(candidate, std::get<ReviewAnswer>(judged));
  }

  void EncodeObject() {
    ordered_ = frame_->Ordered(request_.arena(), object_, ordered_);
    // Built-in kinds are stored in this order anyway: the next review has only what changes to order.
    if (!request_.is_custom() && steps_.trace() == nullptr) object_ = ordered_;
    json::Value shown = ordered_;
    if (!untyped_.is_null()) {
      for (const std::string_view name : {"kind", "apiVersion"}) {
        shown = json::WithMemberOf(request_.arena(), shown, name, untyped_);
      }
    }
    shared_ = std::make_shared<const std::string>(frame_->With(shown));
  }

  Outcome CallNobody(const Candidate& candidate, const admission::WebhookAnswer& stand_in) {
    if (stand_in.response.is_null()) {
      Outcome skipped;
      skipped.skipped = true;
      return skipped;
    }
    auto judged =
        JudgeStandIn(request_.arena(), HookType::kMutating, *candidate.hook, stand_in.response);
    if (auto* error = std::get_if<CallError>(&judged)) return Failed(std::move(*error));
    return Judge(candidate, std::get<ReviewAnswer>(judged));
  }

  Outcome Judge(const Candidate& candidate, const ReviewAnswer& answer) {
    const Hook& hook = *candidate.hook;
    RecordAnswer(request_, hook, answer);
    if (!answer.allowed) {
      Outcome denied;
      denied.kind = Outcome::Kind::kDenied;
      denied.status = DenialStatus(hook.name, answer.status, services_.dialect);
      if (services_.dialect.wraps_denials) {
        denied.status = base::InternalError(denied.status.message());
        return denied;
      }
      request_.recorder().KeepForeignStatus(answer.status);
      return denied;
    }
    Outcome outcome = ApplyPatch(candidate, answer);
    if (outcome.kind == Outcome::Kind::kInternalError) {
      // The text for the client, which is Kubernetes', names no webhook.
      base::LogWarning("the patch of a webhook cannot be applied",
                       {{"webhook", hook.name},
                        {"configuration", hook.configuration},
                        {"error", outcome.status.message()}});
    }
    return outcome;
  }

  // Sends until there is an answer that does not ask for a repetition.
  net::CallResult Send(PreparedCall& call) const {
    const admission::WaitingForOthers waiting(request_.recorder());
    const auto https = services_.https->NewSet();
    while (true) {
      https->Start(0, call.request, call.deadline, call.body);
      net::CallResult result = std::move(https->Next()->result);
      if (services_.metrics != nullptr)
        services_.metrics->ObserveHttp(*call.hook, *call.request, call.body.size(), result);
      const auto delay = RetryDelay(call, result);
      if (!delay) return result;
      ++call.attempts;
      (void)https->Next(std::min(services_.clock->Steady() + *delay, call.deadline));
    }
  }

  // Up to v1.14 whatever a mutating webhook had refused was wrapped once more.
  Outcome BadPatch(base::Status status) const {
    return Broken(services_.dialect.wraps_denials ? base::InternalError(status.message())
                                                  : std::move(status));
  }

  Outcome ApplyPatch(const Candidate& candidate, const ReviewAnswer& answer) {
    if (answer.patch.empty()) return {};
    const Hook& hook = *candidate.hook;
    json::Arena& arena = request_.arena();
    json::PatchOptions options;
    std::string range_error;
    auto patch = json::DecodePatch(arena, arena.Copy(answer.patch), "jsonpatch.Patch",
                                   {&options.repeats_keys, &range_error});
    if (!patch.ok()) {
      if (services_.dialect.names_no_step) {
        return BadPatch(base::InternalError(patch.status().message()));
      }
      return Failed({"received undecodable patch in webhook response",
                     std::string(patch.status().message()), 503, false});
    }
    if (patch->empty()) return {};
    if (steps_.trace() != nullptr) steps_.trace()->SetPatch(*patch);
    if (object_.is_null()) {
      return BadPatch(base::InternalError(base::StrCat(
          "admission webhook ", base::GoQuote(hook.name),
          " attempted to modify the object, which is not supported for this operation")));
    }
    if (answer.patch_type != "JSONPatch") {
      const int code = DenialStatus(hook.name, answer.status, services_.dialect).http_code();
      return Failed({"", base::StrCat("unsupported patch type ", base::GoQuote(answer.patch_type)),
                     code, false});
    }
    auto patched = json::ApplyPatch(arena, object_, *patch, options);
    if (!patched.ok()) return BadPatch(base::InternalError(patched.status().message()));
    json::Value result = *patched;
    const json::Value known = foreign_.ok() ? object_ : json::Value();
    foreign_ = base::OkStatus();
    if (services_.objects != nullptr) {
      auto decoded = services_.objects->Decode(arena, result, kind_, options.repeats_keys, known);
      if (decoded.ok()) {
        result = *decoded;
      } else if (decoded.status().http_code() == 500) {
        foreign_ = std::move(decoded).status();
      } else {
        return BadPatch(base::InternalError(decoded.status().message()));
      }
    }
    if (!range_error.empty() && json::HasInfinity(result)) {
      return Broken(base::InternalError(range_error));
    }
    Outcome outcome;
    const bool told = !(*patched)["kind"].AsString().empty() && patched->Has("apiVersion");
    outcome.changed = !told || !foreign_.ok() || request_.has_fresh_times() ||
                      !SemanticallyEqual(object_, result, kind_);
    untyped_ = told ? json::Value() : *patched;
    request_.MarkReencoded();
    AnnotatePatch(candidate, *patch);
    if (services_.objects != nullptr && foreign_.ok()) {
      const json::Value before = has_defaults_ ? object_ : json::Value();
      auto defaulted = services_.objects->Default(arena, result, kind_, before);
      if (!defaulted.ok()) return Broken(std::move(defaulted).status());
      if (steps_.trace() != nullptr && kind_ == request_.kind()) {
        steps_.trace()->AddPatched(result, *defaulted);
      }
      result = *defaulted;
    }
    object_ = result;
    has_defaults_ = foreign_.ok();
    dirty_ = true;
    shared_.reset();
    if (!foreign_.ok()) return outcome;
    // Selectors of later webhooks look at the request's object only through object_; the request
    // itself is brought up to date when the kind changes or at the end.
    if (kind_ == request_.kind() && !IsOfOtherVersion()) (void)WriteBack();
    return outcome;
  }

  bool SemanticallyEqual(json::Value a, json::Value b, const api::GroupVersionKind& kind) const {
    if (services_.objects == nullptr) return a == b;
    return services_.objects->SemanticallyEqual(a, b, kind);
  }

  std::string Names(const Hook& hook) const {
    std::string out = "{\"configuration\":";
    json::WriteString(hook.configuration, out);
    out.append(",\"webhook\":");
    json::WriteString(hook.name, out);
    return out;
  }

  void AnnotatePatch(const Candidate& candidate, json::Value patch) const {
    std::string value = base::StrCat(Names(*candidate.hook), ",\"patch\":[");
    bool first = true;
    for (const json::Value operation : patch.elements()) {
      if (!first) value.push_back(',');
      first = false;
      WriteOperation(operation, value);
    }
    value.append("],\"patchType\":\"JSONPatch\"}");
    Annotate("patch.webhook.admission.k8s.io/", candidate, value, admission::AuditLevel::kRequest);
  }

  void Annotate(std::string_view prefix, const Candidate& candidate, std::string_view value,
                admission::AuditLevel level) const {
    const std::string key =
        base::StrCat(prefix, "round_", request_.reinvocation().is_reinvoke() ? "1" : "0", "_index_",
                     std::to_string(candidate.index));
    (void)request_.Annotate(key, value, level);
  }

  const Services& services_;
  admission::Request& request_;
  Matcher matcher_;
  HookSteps steps_;
  Memory& memory_;
  // The object as it goes from webhook to webhook, of kind_; dirty_ if the request lags behind.
  json::Value object_;
  json::Value old_object_;
  api::GroupVersionKind kind_;
  bool has_defaults_ = false;  // object_ got them after a patch
  bool dirty_ = false;
  base::Status refusal_;  // in a survey: the first one
  base::Status foreign_;  // what there is to say if a patch has made object_ one of another kind
  json::Value ordered_;   // object_ when it was last sent, in the order of reviews; or null
  json::Value untyped_;   // object_ as a patch that took its kind or version has left it; or null
  std::optional<ReviewFrame> frame_;  // of kind_ and old_object_, or none
  api::GroupVersionResource frame_resource_;
  ReviewForm frame_form_;
  std::shared_ptr<const std::string> shared_;  // the frame with object_, or null
};

}  // namespace

base::Status DispatchMutating(const Services& services, const HookSet& hooks,
                              admission::Request& request) {
  if (hooks.hooks.empty()) return base::OkStatus();
  return MutatingDispatcher(services, hooks, request).Run();
}

}  // namespace portcullis::webhook
