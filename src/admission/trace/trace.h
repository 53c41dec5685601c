// SPDX-License-Identifier: Apache-2.0

// Trace: what one operation went through, as steps in order: decoding, defaulting, every plugin
// that was asked, and below the plugins every webhook, policy and binding, with what it did or why
// it was passed over.
//
//   admission::Trace trace(base::SystemClock());
//   op.recorder.set_trace(&trace);                        // before the operation begins
//   auto outcome = engine::Write(op, input);
//   trace.Finish(…);
//   json::Value document = TraceDocument(op.arena, trace, {…});   // trace/document.h
//
// Off by default: without set_trace() each place that would add a step tests one null pointer.
// Steps are added through the Recorder and read when the operation is over: a traced operation is
// judged as any other.
//
// Ownership: the objects of steps are values of the operation's arena, which outlives the trace's
// use. Threads: confined to one thread at a time, the one that runs the operation. Size: at most
// kMaxSteps steps are kept; later ones are counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::admission {

enum Phase : unsigned;
class Request;

// What a step came to. The names in documents are OutcomeText()'s.
enum class TraceOutcome : std::uint8_t {
  kNone,         // a step without a verdict, e.g. decoding
  kAllowed,      // asked, and content with the object as it is
  kChanged,      // asked, and has changed the object
  kDenied,       // has refused the request
  kFailed,       // an error that refuses the request
  kFailedOpen,   // an error that failurePolicy Ignore passes over
  kNotEnforced,  // a validation that does not hold, of a binding that only warns or audits
  kSkipped,      // not asked: see the reason
};

// Why a step was skipped, or what its outcome follows from: fields of the configuration. The names
// in documents are ReasonText()'s.
enum class TraceReason : std::uint8_t {
  kNone,
  kRules,
  kMatchPolicy,
  kExcludeResourceRules,
  kNamespaceSelector,
  kObjectSelector,
  kMatchConditions,
  kReinvocationPolicy,
  kExempt,
  kNoBindings,
  kParameterNotFound,
  kNoObject,
  kSideEffects,
  kNotCalled,
  kFailurePolicy,
  kValidationActions,
};

std::string_view OutcomeText(TraceOutcome outcome);  // "Allowed"
std::string_view ReasonText(TraceReason reason);     // "NamespaceSelector"

// Why something does not match a request. kNone: it matches.
struct Mismatch {
  TraceReason reason = TraceReason::kNone;
  std::string message;
};

// Who a step is about.
struct TraceActor {
  enum class Kind : std::uint8_t { kStage, kPlugin, kWebhook, kPolicy };
  Kind kind = Kind::kStage;
  std::string name;    // of the stage or plugin; of the webhook's configuration; of the policy
  std::string member;  // the webhook; the binding, "" for the policy as a whole
  std::string param;   // "namespace/name" of a policy's parameter, or ""
};

struct TraceStep {
  std::string_view phase;  // "decode", "prepare", "mutating", "strategy", "validating", "store"
  TraceActor actor;
  std::int32_t parent = -1;  // the plugin whose part this is
  int attempt = 0;           // of an update that was tried again
  int round = 0;             // of the mutating phase: 1 when the chain runs once more
  std::string subject;       // "namespace/name" of the object, in operations on several
  TraceOutcome outcome = TraceOutcome::kNone;
  TraceReason reason = TraceReason::kNone;
  std::string message;
  base::SteadyTime started;
  base::Duration took{};
  std::uint64_t cost = 0;  // of CEL expressions
  // The object around the step, if the step has changed it. `version` is its apiVersion if that is
  // not the request's own.
  bool changed = false;
  json::Value before;
  json::Value after;
  std::string version;
  json::Value patch;  // what a webhook has answered
  std::vector<std::string> warnings;
  std::vector<std::pair<std::string, std::string>> annotations;  // of the audit event
};

class Trace {
 public:
  static constexpr std::size_t kMaxSteps = 4096;
  static constexpr std::int32_t kNoStep = -1;

  // What became of the object, in order of time: who has set its fields follows from these.
  struct Change {
    enum class Kind : std::uint8_t {
      kNew,      // `object` is all there is
      kLive,     // an update begins with the stored `object`
      kReplace,  // the object of the body takes the stored one's place
      kStep,     // `step` has made it `object`
      kDefault,  // defaulting has, after `step`
      kOther,    // `step` has changed it in another version
    };
    Kind kind = Kind::kStep;
    std::int32_t step = kNoStep;
    json::Value object;
  };
  struct Verdict {
    int code = 200;
    std::string reason;
    std::string message;
  };

  // `clock` outlives it.
  explicit Trace(const base::Clock& clock);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // --- The pipeline of the engine ---

  // The body as it was read, before defaulting.
  void Decoded(json::Value object);
  // An update begins, or begins again, with the stored object.
  void BeginUpdate(json::Value live);
  // The decoded object replaces the stored one.
  void Replaced(json::Value object);
  // What the stage has made of the object; no step unless it has changed something.
  void Stage(std::string_view phase, std::string_view stage, json::Value object);
  // The stage has refused the object.
  void StageFailed(std::string_view phase, std::string_view stage, const base::Status& status);

  // --- The chain ---

  void BeginPlugin(const Request& request, std::string_view plugin, Phase phase);
  // Steps below it that are still open end as it does.
  void EndPlugin(const Request& request, const base::Status& outcome);

  // --- What a plugin does; all of it concerns the step that is current ---

  // A step below the current plugin; becomes the current one.
  void Begin(TraceActor actor);
  void Skip(TraceReason reason, std::string message);
  void End(TraceOutcome outcome, std::string message = {});
  // Leaves the step open; Resume() makes it current again, if it is not.
  std::int32_t Suspend();
  void Resume(std::int32_t step);

  void SetReason(TraceReason reason, std::string message = {});
  // `own_version`: the objects are in the version of the request.
  void SetObjects(json::Value before, json::Value after, bool own_version);
  // What a patch has made of the object, before and after defaults were filled in again. In the
  // version of the request.
  void AddPatched(json::Value patched, json::Value defaulted);
  void SetPatch(json::Value patch);
  void SetTook(base::Duration took);
  void AddCost(std::uint64_t cost);
  void AddWarning(std::string_view text);
  void AddAnnotation(std::string_view key, std::string_view value);

  // --- The end ---

  void Finish(Verdict verdict);

  const std::vector<TraceStep>& steps() const { return steps_; }
  const std::vector<Change>& changes() const { return changes_; }
  std::size_t omitted_steps() const { return omitted_; }
  const Verdict& verdict() const { return verdict_; }
  base::WallTime time() const { return time_; }
  base::Duration took() const { return took_; }
  // The object as it was last known; null if there is none.
  json::Value object() const { return object_; }
  // Whether object() is what the operation has stored or, in a dry run, would have stored.
  bool is_complete() const { return complete_; }
  void Complete(json::Value object);

 private:
  TraceStep* Current();
  TraceStep* Add(std::string_view phase, TraceActor actor);
  void Close(std::int32_t step, TraceOutcome outcome, TraceReason reason, std::string message);
  void CloseOpenSteps(std::int32_t plugin, const base::Status& outcome);
  static TraceOutcome OutcomeOf(const base::Status& status);

  const base::Clock& clock_;
  const base::WallTime time_;
  const base::SteadyTime started_;
  base::SteadyTime last_;  // the end of the last step
  base::Duration took_{};
  std::vector<TraceStep> steps_;
  std::size_t omitted_ = 0;
  // The steps that are open and current, the innermost last; kNoStep for one that is not kept.
  std::vector<std::int32_t> open_;
  std::vector<Change> changes_;
  json::Value object_;
  json::Value plugin_object_;  // the object as the plugin got it
  int attempt_ = 0;
  bool updating_ = false;
  bool complete_ = false;
  std::string first_subject_;
  Verdict verdict_;
};

}  // namespace portcullis::admission
