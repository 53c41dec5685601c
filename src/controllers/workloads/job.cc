// SPDX-License-Identifier: Apache-2.0

// A pod counts once: it holds a finalizer until it has been counted in the Job's status. Here both
// are done in one look, in the order of Kubernetes: the status first, with the uids of what is
// counted, then the finalizers, then the status without the uids (pkg/controller/job).
#include "controllers/workloads/job.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/condition.h"
#include "base/random.h"
#include "base/strings.h"
#include "controllers/workloads/pods.h"
#include "controllers/workloads/workload.h"
#include "registry/batch/job_indexes.h"

namespace portcullis::controllers {
namespace {

using json::Value;
using workloads::kPods;
using workloads::NameOf;

constexpr workloads::OwnerKind kJobs{"batch", "v1", "jobs", "Job", "job-controller"};
constexpr std::string_view kTracking = "batch.kubernetes.io/job-tracking";
constexpr std::string_view kIndex = "batch.kubernetes.io/job-completion-index";
constexpr std::string_view kIndexVariable = "JOB_COMPLETION_INDEX";
constexpr std::string_view kProbed = "lastProbeTime";
constexpr std::int64_t kMostAtOnce = 500;

bool IsTracked(Value pod) {
  for (const Value& finalizer : pod["metadata"]["finalizers"].elements()) {
    if (finalizer.AsString() == kTracking) return true;
  }
  return false;
}

bool HasCondition(Value conditions, std::string_view type) {
  for (const Value& condition : conditions.elements()) {
    if (condition["type"].AsString() == type && condition["status"].AsString() == "True") {
      return true;
    }
  }
  return false;
}

// "0,2-4" of {0, 2, 3, 4}.
std::string ListIndexes(const std::set<std::int64_t>& indexes) {
  std::string out;
  for (auto at = indexes.begin(); at != indexes.end();) {
    const std::int64_t first = *at;
    std::int64_t last = first;
    while (++at != indexes.end() && *at == last + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(first);
    if (last != first) out += (last == first + 1 ? "," : "-") + std::to_string(last);
  }
  return out;
}

class Jobs final : public workloads::WorkloadController {
 public:
  explicit Jobs(const ControllerContext& context) : WorkloadController(context, kJobs) {}

 private:
  struct State {
    Value job;
    std::vector<Value> active;
    std::vector<Value> finished;  // tracked ones, not counted yet
    std::int64_t terminating = 0;
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::set<std::int64_t> done;  // indexes
    Value conditions;
    std::optional<base::Duration> again;

    Value spec() const { return job["spec"]; }
    bool indexed() const { return spec()["completionMode"].AsString() == "Indexed"; }
    bool ended() const {
      return HasCondition(conditions, "Complete") || HasCondition(conditions, "Failed");
    }
    bool ending() const {
      return HasCondition(conditions, "SuccessCriteriaMet") ||
             HasCondition(conditions, "FailureTarget");
    }
    bool suspended() const { return spec()["suspend"].AsBool(); }
  };

  base::Result<std::optional<base::Duration>> Sync(Value job) override {
    State state = TRY(Look(job));
    if (state.ended()) return AfterTheEnd(state);
    if (!Value(state.spec()["managedBy"]).is_null() &&
        state.spec()["managedBy"].AsString() != "kubernetes.io/job-controller") {
      return std::optional<base::Duration>();
    }
    Judge(state);
    if (state.ending() || state.suspended()) {
      for (const Value& pod : state.active) TRY(DeletePod(job, pod));
      state.terminating += static_cast<std::int64_t>(state.active.size());
      state.active.clear();
    }
    TRY(CountFinished(state));
    if (state.ending() || state.suspended() || workloads::IsEnding(job)) {
      TRY(UpdateStatus(state.job, StatusOf(state, Value())));
      RecordChanges(job, state);
      return state.again;
    }
    const base::Status moved = Move(state);
    TRY(UpdateStatus(state.job, StatusOf(state, Value())));
    RecordChanges(job, state);
    TRY(base::Status(moved));
    return state.again;
  }

  base::Result<State> Look(Value job) {
    State state;
    state.job = job;
    state.succeeded = job["status"]["succeeded"].AsInt();
    state.failed = job["status"]["failed"].AsInt();
    state.conditions = job["status"]["conditions"];
    const auto indexes = registry::ParseJobIndexes(job["status"]["completedIndexes"].AsString(),
                                                   job["spec"]["completions"].AsInt());
    for (const auto& [first, last] : indexes.intervals) {
      for (std::int64_t i = first; i <= last; ++i) state.done.insert(i);
    }
    const auto selector = TRY(api::LabelSelector::FromJson(job["spec"]["selector"]));
    for (const Value& pod : TRY(Claim(job, selector, kPods))) {
      if (workloads::IsFinished(pod)) {
        if (IsTracked(pod)) state.finished.push_back(pod);
      } else if (workloads::IsEnding(pod)) {
        ++state.terminating;
      } else {
        state.active.push_back(pod);
      }
    }
    return state;
  }

  // Whether the job has come to its end, counting what has just finished.
  void Judge(State& state) {
    std::int64_t failed = state.failed;
    std::int64_t succeeded = state.succeeded;
    for (const Value& pod : state.finished) {
      (workloads::PhaseOf(pod) == "Succeeded" ? succeeded : failed) += 1;
    }
    if (state.ending() || state.suspended()) return;
    const Value spec = state.spec();
    const Value wanted = spec["completions"];
    const Value deadline = spec["activeDeadlineSeconds"];
    const std::int64_t started = workloads::SecondsOf(state.job["status"]["startTime"]);
    if (failed > spec["backoffLimit"].AsInt(6)) {
      Fail(state, "BackoffLimitExceeded", "Job has reached the specified backoff limit");
    } else if (!deadline.is_null() && started != 0 && now() >= started + deadline.AsInt()) {
      Fail(state, "DeadlineExceeded", "Job was active longer than specified deadline");
    } else if (wanted.is_null() ? succeeded > 0 && state.active.empty()
                                : succeeded >= wanted.AsInt()) {
      state.conditions =
          WithCondition(state.conditions, {.type = "SuccessCriteriaMet",
                                           .reason = "CompletionsReached",
                                           .message = "Reached expected number of succeeded pods",
                                           .other_time = kProbed});
    } else if (!deadline.is_null()) {
      const std::int64_t from = started == 0 ? now() : started;
      state.again = std::chrono::seconds(from + deadline.AsInt() - now());
    }
  }

  void Fail(State& state, std::string_view reason, std::string_view message) {
    state.conditions = WithCondition(
        state.conditions,
        {.type = "FailureTarget", .reason = reason, .message = message, .other_time = kProbed});
  }

  // Counts finished pods and lets go of them.
  base::Status CountFinished(State& state) {
    if (state.finished.empty()) return base::OkStatus();
    json::ArrayBuilder succeeded(arena());
    json::ArrayBuilder failed(arena());
    for (const Value& pod : state.finished) {
      const bool success = workloads::PhaseOf(pod) == "Succeeded";
      const auto index = IndexOf(pod);
      // A list of indexes needs no uids beside it.
      if (success && state.indexed()) {
        if (index) state.done.insert(*index);
        continue;
      }
      (success ? succeeded : failed).Add(pod["metadata"]["uid"]);
    }
    if (state.indexed()) state.succeeded = static_cast<std::int64_t>(state.done.size());
    json::ObjectBuilder uncounted(arena());
    if (succeeded.size() > 0) uncounted.Set("succeeded", succeeded.Build());
    if (failed.size() > 0) uncounted.Set("failed", failed.Build());
    const Value uids = uncounted.Build();
    TRY(UpdateStatus(state.job, StatusOf(state, uids)));
    for (const Value& pod : state.finished) {
      json::ArrayBuilder kept(arena());
      for (const Value& finalizer : pod["metadata"]["finalizers"].elements()) {
        if (finalizer.AsString() != kTracking) kept.Add(finalizer);
      }
      const Value list = kept.size() == 0 ? Value() : kept.Build();
      base::Status freed =
          Patch(kPods, pod, json::SetPath(arena(), Value(), {"metadata", "finalizers"}, list));
      if (!freed.ok() && freed.reason() != base::Reason::kNotFound) return freed;
    }
    state.succeeded += static_cast<std::int64_t>(uids["succeeded"].size());
    state.failed += static_cast<std::int64_t>(uids["failed"].size());
    // Written with another version since.
    const Value stored =
        Find({"batch", "jobs", workloads::NamespaceOf(state.job), NameOf(state.job)});
    if (!stored.is_null()) state.job = stored;
    return base::OkStatus();
  }

  static std::optional<std::int64_t> IndexOf(Value pod) {
    return base::ParseInt(workloads::AnnotationOf(pod, kIndex));
  }

  base::Status Move(State& state) {
    const Value spec = state.spec();
    const Value completions = spec["completions"];
    std::int64_t wanted = spec["parallelism"].AsInt(1);
    if (completions.is_null()) {
      if (state.succeeded > 0) wanted = static_cast<std::int64_t>(state.active.size());
    } else {
      wanted = std::min(wanted, completions.AsInt() - state.succeeded);
    }
    const auto have = static_cast<std::int64_t>(state.active.size());
    if (have > wanted) {
      std::stable_sort(state.active.begin(), state.active.end(), workloads::GoesBefore);
      for (std::int64_t i = 0; i < have - wanted; ++i) {
        TRY(DeletePod(state.job, state.active[static_cast<std::size_t>(i)]));
        ++state.terminating;
      }
      state.active.erase(state.active.begin(), state.active.begin() + (have - wanted));
      return base::OkStatus();
    }
    return MakePods(state, std::min(wanted - have, kMostAtOnce));
  }

  base::Status MakePods(State& state, std::int64_t count) {
    std::set<std::int64_t> taken = state.done;
    for (const Value& pod : state.active) {
      if (const auto index = IndexOf(pod)) taken.insert(*index);
    }
    std::int64_t index = 0;
    for (; count > 0; --count) {
      while (state.indexed() && taken.contains(index)) ++index;
      auto made = CreatePod(state.job, PodOf(state, index));
      // Its other pods would be refused as well.
      if (!made.ok() && workloads::IsOfEndingNamespace(made.status())) break;
      state.active.push_back(TRY(std::move(made)));
      ++index;
    }
    return base::OkStatus();
  }

  Value PodOf(const State& state, std::int64_t index) {
    json::ObjectBuilder metadata = Metadata(state.job);
    const std::string number = std::to_string(index);
    const std::string name = base::StrCat(NameOf(state.job), state.indexed() ? "-" + number : "");
    metadata.Set("generateName", base::StrCat(name, "-"));
    Value pod = workloads::PodOf(arena(), state.spec()["template"], std::move(metadata));
    pod = json::SetPath(
        arena(), pod, {"metadata", "finalizers"},
        json::Append(arena(), pod["metadata"]["finalizers"], Value::StringView(kTracking)));
    if (!state.indexed()) return pod;
    pod = json::SetPath(arena(), pod, {"metadata", "annotations", kIndex},
                        json::String(arena(), number));
    pod =
        json::SetPath(arena(), pod, {"metadata", "labels", kIndex}, json::String(arena(), number));
    pod = json::SetPath(arena(), pod, {"spec", "hostname"}, json::String(arena(), name));
    return WithIndexVariable(pod);
  }

  // Every container is told the index.
  Value WithIndexVariable(Value pod) {
    const Value variable =
        json::ObjectBuilder(arena())
            .Set("name", kIndexVariable)
            .Set("valueFrom", json::SetPath(arena(), Value(), {"fieldRef", "fieldPath"},
                                            json::String(arena(), base::StrCat("metadata.labels['",
                                                                               kIndex, "']"))))
            .Build();
    for (const std::string_view list : {"initContainers", "containers"}) {
      if (pod["spec"][list].is_null()) continue;
      json::ArrayBuilder containers(arena());
      for (const Value& container : pod["spec"][list].elements()) {
        const auto variables = container["env"].elements();
        const bool has = std::any_of(variables.begin(), variables.end(), [](Value other) {
          return other["name"].AsString() == kIndexVariable;
        });
        containers.Add(has ? container
                           : json::With(arena(), container, "env",
                                        json::Append(arena(), container["env"], variable)));
      }
      pod = json::SetPath(arena(), pod, {"spec", list}, containers.Build());
    }
    return pod;
  }

  Value StatusOf(State& state, Value uncounted) {
    const Value old = state.job["status"];
    json::ObjectBuilder status(arena());
    Finish(state, uncounted);
    if (!state.conditions.is_null()) status.Set("conditions", state.conditions);
    if (!old["startTime"].is_null()) {
      status.Set("startTime", old["startTime"]);
    } else if (!state.suspended()) {
      status.Set("startTime", Now());
    }
    if (HasCondition(state.conditions, "Complete")) status.Set("completionTime", Now());
    const bool ended = state.ended();
    std::int64_t ready = 0;
    for (const Value& pod : state.active) ready += workloads::IsReady(pod) ? 1 : 0;
    workloads::SetCount(status, "active",
                        ended ? 0 : static_cast<std::int64_t>(state.active.size()));
    workloads::SetCount(status, "succeeded", state.succeeded);
    workloads::SetCount(status, "failed", state.failed);
    status.Set("terminating", ended ? 0 : state.terminating);
    if (!state.done.empty()) status.Set("completedIndexes", ListIndexes(state.done));
    status.Set("uncountedTerminatedPods",
               uncounted.is_null() ? json::MakeObject(arena(), {}) : uncounted);
    status.Set("ready", ended ? 0 : ready);
    return status.Build();
  }

  // What was decided becomes final when every pod has been counted and is gone.
  void Finish(State& state, Value uncounted) {
    if (state.suspended() != HasCondition(state.conditions, "Suspended") &&
        (state.suspended() || HasAny(state.conditions, "Suspended"))) {
      state.conditions = WithCondition(
          state.conditions, {.type = "Suspended",
                             .status = state.suspended() ? "True" : "False",
                             .reason = state.suspended() ? "JobSuspended" : "JobResumed",
                             .message = state.suspended() ? "Job suspended" : "Job resumed",
                             .other_time = kProbed});
    }
    if (!uncounted.is_null() || state.terminating > 0 || !state.active.empty()) return;
    for (const Value& condition : state.conditions.elements()) {
      const std::string_view type = condition["type"].AsString();
      if (type != "SuccessCriteriaMet" && type != "FailureTarget") continue;
      state.conditions =
          WithCondition(state.conditions, {.type = type == "FailureTarget" ? "Failed" : "Complete",
                                           .reason = condition["reason"].AsString(),
                                           .message = condition["message"].AsString(),
                                           .other_time = kProbed});
      return;
    }
  }

  // Says in Events that the job has ended, was suspended or resumed.
  void RecordChanges(Value before, const State& state) {
    for (const Value& condition : state.conditions.elements()) {
      const std::string_view type = condition["type"].AsString();
      const Value old = api::ConditionOf(before, type);
      if (old["status"].AsString() == condition["status"].AsString()) continue;
      const bool is = condition["status"].AsString() == "True";
      if (type == "Complete" && is) {
        Record(state.job, "Normal", "Completed", {"Job completed"});
      } else if (type == "Failed" && is) {
        Record(state.job, "Warning", condition["reason"].AsString(),
               {condition["message"].AsString()});
      } else if (type == "Suspended") {
        Record(state.job, "Normal", is ? "Suspended" : "Resumed",
               {is ? "Job suspended" : "Job resumed"});
      }
    }
  }

  static bool HasAny(Value conditions, std::string_view type) {
    for (const Value& condition : conditions.elements()) {
      if (condition["type"].AsString() == type) return true;
    }
    return false;
  }

  // ttlSecondsAfterFinished; and pods that have been counted are let go.
  base::Result<std::optional<base::Duration>> AfterTheEnd(const State& state) {
    const Value ttl = state.spec()["ttlSecondsAfterFinished"];
    if (ttl.is_null() || workloads::IsEnding(state.job)) return std::optional<base::Duration>();
    std::int64_t ended = 0;
    for (const Value& condition : state.conditions.elements()) {
      ended = std::max(ended, workloads::SecondsOf(condition["lastTransitionTime"]));
    }
    const std::int64_t left = ended + ttl.AsInt() - now();
    if (left > 0) return std::optional<base::Duration>(std::chrono::seconds(left));
    TRY(Delete({"batch", "v1", "jobs"}, state.job, "Foreground"));
    return std::optional<base::Duration>();
  }
};

constexpr store::Collection kHears[] = {{"batch", "jobs"}, {"", "pods"}};

}  // namespace

const ControllerInfo kJob = {
    .name = "job-controller",
    .account = "job-controller",
    .summary = "makes pods until Jobs are complete",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<Jobs>(context);
    },
    .hears = kHears,
    .group = kWorkloads,
};

}  // namespace portcullis::controllers
