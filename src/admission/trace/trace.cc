// SPDX-License-Identifier: Apache-2.0

#include "admission/trace/trace.h"

#include "admission/request.h"
#include "base/strings.h"

namespace portcullis::admission {
namespace {

constexpr std::string_view kOutcomes[] = {"",       "Allowed",    "Changed",     "Denied",
                                          "Failed", "FailedOpen", "NotEnforced", "Skipped"};
constexpr std::string_view kReasons[] = {"",
                                         "Rules",
                                         "MatchPolicy",
                                         "ExcludeResourceRules",
                                         "NamespaceSelector",
                                         "ObjectSelector",
                                         "MatchConditions",
                                         "ReinvocationPolicy",
                                         "Exempt",
                                         "NoBindings",
                                         "ParameterNotFound",
                                         "NoObject",
                                         "SideEffects",
                                         "NotCalled",
                                         "FailurePolicy",
                                         "ValidationActions"};

std::string SubjectOf(const Request& request) {
  std::string name = request.name();
  if (name.empty()) name = request.object()["metadata"]["name"].AsString();
  if (name.empty()) name = request.old_object()["metadata"]["name"].AsString();
  const std::string& ns = request.namespace_name();
  return ns.empty() || ns == name ? name : base::StrCat(ns, "/", name);
}

}  // namespace

std::string_view OutcomeText(TraceOutcome outcome) {
  return kOutcomes[static_cast<std::size_t>(outcome)];
}

std::string_view ReasonText(TraceReason reason) {
  return kReasons[static_cast<std::size_t>(reason)];
}

Trace::Trace(const base::Clock& clock)
    : clock_(clock), time_(clock.Now()), started_(clock.Steady()), last_(started_) {}

TraceStep* Trace::Current() {
  if (open_.empty() || open_.back() == kNoStep) return nullptr;
  return &steps_[static_cast<std::size_t>(open_.back())];
}

TraceStep* Trace::Add(std::string_view phase, TraceActor actor) {
  if (steps_.size() == kMaxSteps) {
    ++omitted_;
    return nullptr;
  }
  TraceStep& step = steps_.emplace_back();
  step.phase = phase;
  step.actor = std::move(actor);
  step.attempt = attempt_;
  step.started = clock_.Steady();
  return &step;
}

TraceOutcome Trace::OutcomeOf(const base::Status& status) {
  return status.http_code() >= 500 ? TraceOutcome::kFailed : TraceOutcome::kDenied;
}

void Trace::Decoded(json::Value object) {
  changes_.push_back({Change::Kind::kNew, kNoStep, object});
  object_ = object;
  last_ = clock_.Steady();
}

void Trace::BeginUpdate(json::Value live) {
  if (updating_) ++attempt_;
  updating_ = true;
  changes_.push_back({Change::Kind::kLive, kNoStep, live});
  object_ = live;
  last_ = clock_.Steady();
}

void Trace::Replaced(json::Value object) {
  changes_.push_back({Change::Kind::kReplace, kNoStep, object});
  object_ = object;
}

void Trace::Stage(std::string_view phase, std::string_view stage, json::Value object) {
  const base::SteadyTime started = std::exchange(last_, clock_.Steady());
  if (object.IsSameAs(object_) || object == object_) {
    object_ = object;
    return;
  }
  const json::Value before = std::exchange(object_, object);
  std::int32_t number = kNoStep;
  if (TraceStep* step = Add(phase, {TraceActor::Kind::kStage, std::string(stage), {}, {}})) {
    number = static_cast<std::int32_t>(steps_.size()) - 1;
    step->outcome = TraceOutcome::kChanged;
    step->started = started;
    step->took = last_ - started;
    step->changed = true;
    step->before = before;
    step->after = object;
  }
  changes_.push_back({Change::Kind::kStep, number, object});
}

void Trace::StageFailed(std::string_view phase, std::string_view stage,
                        const base::Status& status) {
  const base::SteadyTime started = std::exchange(last_, clock_.Steady());
  TraceStep* step = Add(phase, {TraceActor::Kind::kStage, std::string(stage), {}, {}});
  if (step == nullptr) return;
  step->outcome = OutcomeOf(status);
  step->message = status.message();
  step->started = started;
  step->took = last_ - started;
}

void Trace::BeginPlugin(const Request& request, std::string_view plugin, Phase phase) {
  const bool mutating = phase == kMutate;
  TraceStep* step = Add(mutating ? "mutating" : "validating",
                        {TraceActor::Kind::kPlugin, std::string(plugin), {}, {}});
  open_.assign(1, step == nullptr ? kNoStep : static_cast<std::int32_t>(steps_.size()) - 1);
  plugin_object_ = request.object();
  if (step == nullptr) return;
  step->round = mutating && request.reinvocation().is_reinvoke() ? 1 : 0;
  step->subject = SubjectOf(request);
  if (first_subject_.empty()) first_subject_ = step->subject;
  if (step->subject == first_subject_) step->subject.clear();
}

void Trace::EndPlugin(const Request& request, const base::Status& outcome) {
  last_ = clock_.Steady();
  const TraceOutcome refusal = OutcomeOf(outcome);
  const std::int32_t number = open_.empty() ? kNoStep : open_.front();
  if (!outcome.ok()) CloseOpenSteps(number, outcome);
  open_.clear();
  const json::Value after = request.object();
  const bool changed = !after.IsSameAs(plugin_object_) && !(after == plugin_object_);
  if (number != kNoStep) {
    TraceStep& step = steps_[static_cast<std::size_t>(number)];
    step.took = last_ - step.started;
    step.changed = changed;
    step.before = plugin_object_;
    step.after = after;
    if (!outcome.ok()) {
      step.outcome = refusal;
      step.message = outcome.message();
    } else if (step.outcome == TraceOutcome::kNone) {
      step.outcome = changed ? TraceOutcome::kChanged : TraceOutcome::kAllowed;
    }
  }
  if (!changed) return;
  changes_.push_back({Change::Kind::kStep, number, after});
  object_ = after;
}

// The current steps are those that have failed; suspended ones wait for a call that will not be made.
void Trace::CloseOpenSteps(std::int32_t plugin, const base::Status& outcome) {
  for (std::size_t i = open_.size(); i-- > 1;) {
    Close(open_[i], OutcomeOf(outcome), TraceReason::kNone, std::string(outcome.message()));
  }
  for (std::size_t i = static_cast<std::size_t>(plugin + 1); i < steps_.size(); ++i) {
    if (steps_[i].outcome != TraceOutcome::kNone || steps_[i].parent != plugin) continue;
    steps_[i].outcome = TraceOutcome::kSkipped;
    steps_[i].message = "the request was refused before this step";
  }
}

void Trace::Begin(TraceActor actor) {
  const std::int32_t parent = open_.empty() ? kNoStep : open_.front();
  const TraceStep* above = parent == kNoStep ? nullptr : &steps_[static_cast<std::size_t>(parent)];
  const std::string_view phase = above == nullptr ? std::string_view() : above->phase;
  const int round = above == nullptr ? 0 : above->round;
  const std::string subject = above == nullptr ? std::string() : above->subject;
  TraceStep* step = Add(phase, std::move(actor));
  open_.push_back(step == nullptr ? kNoStep : static_cast<std::int32_t>(steps_.size()) - 1);
  if (step == nullptr) return;
  step->parent = parent;
  step->round = round;
  step->subject = subject;
}

void Trace::Close(std::int32_t number, TraceOutcome outcome, TraceReason reason,
                  std::string message) {
  if (number == kNoStep) return;
  TraceStep& step = steps_[static_cast<std::size_t>(number)];
  step.outcome = outcome;
  if (reason != TraceReason::kNone) step.reason = reason;
  if (!message.empty()) step.message = std::move(message);
  if (step.took == base::Duration::zero()) step.took = clock_.Steady() - step.started;
}

void Trace::Skip(TraceReason reason, std::string message) {
  if (open_.empty()) return;
  Close(open_.back(), TraceOutcome::kSkipped, reason, std::move(message));
  // A plugin's own step goes on to its end.
  if (open_.size() > 1) open_.pop_back();
}

void Trace::End(TraceOutcome outcome, std::string message) {
  if (open_.size() < 2) return;
  Close(open_.back(), outcome, TraceReason::kNone, std::move(message));
  open_.pop_back();
}

std::int32_t Trace::Suspend() {
  if (open_.size() < 2) return kNoStep;
  const std::int32_t step = open_.back();
  open_.pop_back();
  return step;
}

void Trace::Resume(std::int32_t step) {
  if (open_.size() < 2) open_.push_back(step);
}

void Trace::SetReason(TraceReason reason, std::string message) {
  TraceStep* step = Current();
  if (step == nullptr) return;
  step->reason = reason;
  if (!message.empty()) step->message = std::move(message);
}

void Trace::SetObjects(json::Value before, json::Value after, bool own_version) {
  if (after.IsSameAs(before) || after == before) return;
  const std::int32_t number = open_.empty() ? kNoStep : open_.back();
  if (TraceStep* step = Current()) {
    step->changed = true;
    step->before = before;
    step->after = after;
    if (!own_version) step->version = after["apiVersion"].AsString();
  }
  const auto kind = own_version ? Change::Kind::kStep : Change::Kind::kOther;
  changes_.push_back({kind, number, after});
}

void Trace::AddPatched(json::Value patched, json::Value defaulted) {
  const std::int32_t number = open_.empty() ? kNoStep : open_.back();
  changes_.push_back({Change::Kind::kStep, number, patched});
  changes_.push_back({Change::Kind::kDefault, number, defaulted});
}

void Trace::SetPatch(json::Value patch) {
  if (TraceStep* step = Current()) step->patch = patch;
}

void Trace::SetTook(base::Duration took) {
  if (TraceStep* step = Current()) step->took = took;
}

void Trace::AddCost(std::uint64_t cost) {
  if (TraceStep* step = Current()) step->cost += cost;
}

void Trace::AddWarning(std::string_view text) {
  if (TraceStep* step = Current()) step->warnings.emplace_back(text);
}

void Trace::AddAnnotation(std::string_view key, std::string_view value) {
  if (TraceStep* step = Current()) step->annotations.emplace_back(key, value);
}

void Trace::Complete(json::Value object) {
  Stage("store", "store", object);
  complete_ = true;
}

void Trace::Finish(Verdict verdict) {
  verdict_ = std::move(verdict);
  took_ = clock_.Steady() - started_;
}

}  // namespace portcullis::admission
