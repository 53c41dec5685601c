// SPDX-License-Identifier: Apache-2.0

// A template is one ReplicaSet, whose name ends in the template's hash. Rolling out means to make
// the ReplicaSet of the newest template larger and the others smaller, a step at each change of
// their statuses, within maxSurge and maxUnavailable (pkg/controller/deployment).
#include "controllers/workloads/deployment.h"

#include <algorithm>
#include <utility>

#include "api/condition.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "controllers/workloads/pods.h"
#include "controllers/workloads/workload.h"

namespace portcullis::controllers {
namespace {

using json::Value;
using workloads::AnnotationOf;
using workloads::NameOf;

constexpr workloads::OwnerKind kDeployments{"apps", "v1", "deployments", "Deployment",
                                            "deployment-controller"};
const api::GroupVersionResource kReplicaSets{"apps", "v1", "replicasets"};
constexpr std::string_view kHashLabel = "pod-template-hash";
constexpr std::string_view kRevision = "deployment.kubernetes.io/revision";
constexpr std::string_view kDesired = "deployment.kubernetes.io/desired-replicas";
constexpr std::string_view kMost = "deployment.kubernetes.io/max-replicas";
constexpr std::int64_t kNoDeadline = 2147483647;  // of progressDeadlineSeconds

// Annotations of a Deployment that are not for its ReplicaSets.
constexpr std::string_view kOwnAnnotations[] = {"kubectl.kubernetes.io/last-applied-configuration",
                                                kRevision,
                                                "deployment.kubernetes.io/revision-history",
                                                kDesired,
                                                kMost,
                                                "deprecated.deployment.rollback.to"};

std::int64_t RevisionOf(Value set) {
  return base::ParseInt(AnnotationOf(set, kRevision)).value_or(0);
}
std::int64_t ReplicasOf(Value object) { return object["spec"]["replicas"].AsInt(1); }

std::int64_t Sum(const std::vector<Value>& sets, std::string_view part, std::string_view field) {
  std::int64_t sum = 0;
  for (const Value& set : sets) sum += set[part][field].AsInt();
  return sum;
}

bool IsOlder(Value a, Value b) {
  const auto made = [](Value set) {
    return std::pair(set["metadata"]["creationTimestamp"].AsString(), NameOf(set));
  };
  return made(a) < made(b);
}

class Deployments final : public workloads::WorkloadController {
 public:
  explicit Deployments(const ControllerContext& context)
      : WorkloadController(context, kDeployments) {}

 private:
  // What one look at a Deployment finds.
  struct Rollout {
    Value deployment;
    std::vector<Value> old;  // oldest first
    Value newest;            // of the newest template; null if there is none
    std::int64_t wanted = 0;
    std::int64_t surge = 0;        // pods more than wanted, at most
    std::int64_t unavailable = 0;  // pods less than wanted, at most
    Value conditions;
    std::int64_t collisions = 0;
    bool has_collisions = false;
    std::optional<base::Duration> again;

    std::vector<Value> all() const {
      std::vector<Value> sets = old;
      if (!newest.is_null()) sets.push_back(newest);
      return sets;
    }
    bool paused() const { return deployment["spec"]["paused"].AsBool(); }
    bool recreates() const {
      return deployment["spec"]["strategy"]["type"].AsString() == "Recreate";
    }
  };

  base::Result<std::optional<base::Duration>> Sync(Value deployment) override {
    Rollout rollout = TRY(Look(deployment));
    if (workloads::IsEnding(deployment)) return Finish(rollout);
    if (rollout.paused() || IsScaled(rollout)) {
      TRY(ScaleAll(rollout));
      if (rollout.paused()) ShowPaused(rollout);
      return Finish(rollout);
    }
    const base::Status done = rollout.recreates() ? Recreate(rollout) : Roll(rollout);
    const auto again = TRY(Finish(rollout));
    TRY(base::Status(done));
    return again;
  }

  base::Result<Rollout> Look(Value deployment) {
    Rollout rollout;
    rollout.deployment = deployment;
    rollout.conditions = deployment["status"]["conditions"];
    rollout.has_collisions = !deployment["status"]["collisionCount"].is_null();
    rollout.collisions = deployment["status"]["collisionCount"].AsInt();
    const Value spec = deployment["spec"];
    rollout.wanted = ReplicasOf(deployment);
    if (!rollout.recreates()) {
      const Value limits = spec["strategy"]["rollingUpdate"];
      rollout.surge = workloads::Scaled(limits["maxSurge"], rollout.wanted, true);
      rollout.unavailable = workloads::Scaled(limits["maxUnavailable"], rollout.wanted, false);
      // Something has to move.
      if (rollout.surge == 0 && rollout.unavailable == 0) rollout.unavailable = 1;
      rollout.unavailable = std::min(rollout.unavailable, rollout.wanted);
    }
    const auto selector = TRY(api::LabelSelector::FromJson(spec["selector"]));
    std::vector<Value> sets = TRY(Claim(deployment, selector, kReplicaSets));
    std::sort(sets.begin(), sets.end(), IsOlder);
    for (const Value& set : sets) {
      const Value same =
          json::RemovePath(arena(), set["spec"]["template"], {"metadata", "labels", kHashLabel});
      if (rollout.newest.is_null() && same == WithLabels(spec["template"])) {
        rollout.newest = set;
      } else {
        rollout.old.push_back(set);
      }
    }
    return rollout;
  }

  // As a template looks whose only label has been taken away.
  Value WithLabels(Value template_) {
    return template_["metadata"]["labels"].is_object()
               ? template_
               : json::SetPath(arena(), template_, {"metadata", "labels"},
                               json::MakeObject(arena(), {}));
  }

  // Whether `replicas` has changed since the ReplicaSets were last given their sizes.
  static bool IsScaled(const Rollout& rollout) {
    for (const Value& set : rollout.all()) {
      if (ReplicasOf(set) == 0) continue;
      const auto desired = base::ParseInt(AnnotationOf(set, kDesired));
      if (desired && *desired != rollout.wanted) return true;
    }
    return false;
  }

  // --- The ReplicaSet of the newest template. ---

  Value AnnotationsFor(const Rollout& rollout, Value old, std::int64_t revision) {
    json::ObjectBuilder annotations(arena(), old);
    for (const json::Member& member : rollout.deployment["metadata"]["annotations"].members()) {
      const bool own = std::find(std::begin(kOwnAnnotations), std::end(kOwnAnnotations),
                                 member.name()) != std::end(kOwnAnnotations);
      if (!own) annotations.Set(member.name(), member.value);
    }
    annotations.Set(kRevision, std::to_string(revision));
    SetSizes(rollout, annotations);
    return annotations.Build();
  }

  static void SetSizes(const Rollout& rollout, json::ObjectBuilder& annotations) {
    annotations.Set(kDesired, std::to_string(rollout.wanted));
    annotations.Set(kMost, std::to_string(rollout.wanted + rollout.surge));
  }

  // Makes the ReplicaSet of the newest template, or gives it the newest revision.
  base::Status EnsureNewest(Rollout& rollout) {
    std::int64_t revision = 0;
    for (const Value& set : rollout.old) revision = std::max(revision, RevisionOf(set));
    ++revision;
    if (rollout.newest.is_null()) {
      TRY(MakeNewest(rollout, revision));
    } else {
      revision = std::max(revision, RevisionOf(rollout.newest));
      TRY(RefreshNewest(rollout, revision));
    }
    rollout.deployment =
        json::SetPath(arena(), rollout.deployment, {"metadata", "annotations", kRevision},
                      json::String(arena(), std::to_string(revision)));
    return base::OkStatus();
  }

  base::Status RefreshNewest(Rollout& rollout, std::int64_t revision) {
    const Value set = rollout.newest;
    Value changed =
        json::SetPath(arena(), set, {"metadata", "annotations"},
                      AnnotationsFor(rollout, set["metadata"]["annotations"], revision));
    const Value seconds = rollout.deployment["spec"]["minReadySeconds"];
    changed = seconds.is_null()
                  ? json::RemovePath(arena(), changed, {"spec", "minReadySeconds"})
                  : json::SetPath(arena(), changed, {"spec", "minReadySeconds"}, seconds);
    if (!(changed == set)) {
      TRY(Update(kReplicaSets, changed));
      rollout.newest = Find({"apps", "replicasets", workloads::NamespaceOf(set), NameOf(set)});
    }
    if (HasDeadline(rollout) && ConditionIn(rollout, "Progressing").is_null()) {
      Progressing(rollout, "True", "FoundNewReplicaSet",
                  base::StrCat("Found new replica set \"", NameOf(set), "\""));
    }
    return base::OkStatus();
  }

  base::Status MakeNewest(Rollout& rollout, std::int64_t revision) {
    const Value spec = rollout.deployment["spec"];
    const std::string hash = workloads::HashOf(spec["template"], rollout.collisions);
    const std::string name = base::StrCat(NameOf(rollout.deployment), "-", hash);
    const Value template_ = workloads::WithLabel(arena(), spec["template"], kHashLabel, hash);
    json::ObjectBuilder metadata = Metadata(rollout.deployment);
    metadata.Set("name", name)
        .Set("labels", template_["metadata"]["labels"])
        .Set("annotations", AnnotationsFor(rollout, Value(), revision));
    json::ObjectBuilder set_spec(arena());
    set_spec.Set("replicas", SizeOfNewest(rollout))
        .Set("selector", json::SetPath(arena(), spec["selector"], {"matchLabels", kHashLabel},
                                       json::String(arena(), hash)))
        .Set("template", template_);
    if (!spec["minReadySeconds"].is_null())
      set_spec.Set("minReadySeconds", spec["minReadySeconds"]);
    const auto made = Create(kReplicaSets, json::ObjectBuilder(arena())
                                               .Set("apiVersion", "apps/v1")
                                               .Set("kind", "ReplicaSet")
                                               .Set("metadata", metadata.Build())
                                               .Set("spec", set_spec.Build())
                                               .Build());
    if (made.ok()) {
      rollout.newest = *made;
      if (const std::int64_t size = ReplicasOf(*made); size > 0) {
        RecordScaling(rollout, *made, 0, size);
      }
      if (HasDeadline(rollout)) {
        Progressing(rollout, "True", "NewReplicaSetCreated",
                    base::StrCat("Created new replica set \"", name, "\""));
      }
      return base::OkStatus();
    }
    if (made.status().reason() == base::Reason::kAlreadyExists) {
      // The name is taken by another template with the same hash or by another owner: try the next.
      ++rollout.collisions;
      rollout.has_collisions = true;
    } else if (!workloads::IsOfEndingNamespace(made.status())) {
      const std::string message = base::StrCat("Failed to create new replica set ",
                                               base::GoQuote(name), ": ", made.status().message());
      if (HasDeadline(rollout)) Progressing(rollout, "False", "ReplicaSetCreateError", message);
      Record(rollout.deployment, "Warning", "ReplicaSetCreateError", {message});
    }
    return made.status();
  }

  void RecordScaling(const Rollout& rollout, Value set, std::int64_t from, std::int64_t to) {
    Record(rollout.deployment, "Normal", "ScalingReplicaSet",
           {"Scaled ", from < to ? "up" : "down", " replica set ", NameOf(set), " from ",
            std::to_string(from), " to ", std::to_string(to)});
  }

  // --- Sizes. ---

  // How large the newest may be: no more pods in all than wanted and the surge.
  static std::int64_t SizeOfNewest(const Rollout& rollout) {
    if (rollout.recreates()) return rollout.wanted;
    const std::int64_t size = rollout.newest.is_null() ? 0 : ReplicasOf(rollout.newest);
    const std::int64_t room =
        rollout.wanted + rollout.surge - Sum(rollout.all(), "spec", "replicas");
    if (room <= 0) return size;
    return size + std::min(room, rollout.wanted - size);
  }

  base::Status Resize(const Rollout& rollout, Value& set, std::int64_t size) {
    json::ObjectBuilder annotations(arena(), set["metadata"]["annotations"]);
    SetSizes(rollout, annotations);
    Value changed = json::SetPath(arena(), set, {"metadata", "annotations"}, annotations.Build());
    changed = json::SetPath(arena(), changed, {"spec", "replicas"}, Value::Int(size));
    if (changed == set) return base::OkStatus();
    TRY(Update(kReplicaSets, changed));
    const std::int64_t before = ReplicasOf(set);
    if (before != size) RecordScaling(rollout, set, before, size);
    set = Find({"apps", "replicasets", workloads::NamespaceOf(set), NameOf(set)});
    return base::OkStatus();
  }

  base::Status Roll(Rollout& rollout) {
    TRY(EnsureNewest(rollout));
    const std::int64_t size = ReplicasOf(rollout.newest);
    const std::int64_t better = size > rollout.wanted ? rollout.wanted : SizeOfNewest(rollout);
    if (size != better) return Resize(rollout, rollout.newest, better);
    TRY(ShrinkOld(rollout));
    return IsComplete(rollout) ? CleanUp(rollout) : base::OkStatus();
  }

  base::Status ShrinkOld(Rollout& rollout) {
    if (Sum(rollout.old, "spec", "replicas") == 0) return base::OkStatus();
    const std::int64_t least = rollout.wanted - rollout.unavailable;
    const std::int64_t new_unavailable =
        ReplicasOf(rollout.newest) - rollout.newest["status"]["availableReplicas"].AsInt();
    std::int64_t most = Sum(rollout.all(), "spec", "replicas") - least - new_unavailable;
    if (most <= 0) return base::OkStatus();
    // Those that are not available are of no use and go first.
    for (Value& set : rollout.old) {
      const std::int64_t size = ReplicasOf(set);
      const std::int64_t idle = size - set["status"]["availableReplicas"].AsInt();
      const std::int64_t cut = std::min(most, idle);
      if (cut <= 0) continue;
      TRY(Resize(rollout, set, size - cut));
      most -= cut;
    }
    std::int64_t spare = Sum(rollout.all(), "status", "availableReplicas") - least;
    for (Value& set : rollout.old) {
      const std::int64_t cut = std::min(spare, ReplicasOf(set));
      if (cut <= 0) continue;
      TRY(Resize(rollout, set, ReplicasOf(set) - cut));
      spare -= cut;
    }
    return base::OkStatus();
  }

  base::Status Recreate(Rollout& rollout) {
    for (Value& set : rollout.old) {
      if (ReplicasOf(set) != 0) TRY(Resize(rollout, set, 0));
    }
    for (const Value& set : rollout.old) {
      if (HasPods(set)) return base::OkStatus();  // its status changes when they are gone
    }
    TRY(EnsureNewest(rollout));
    TRY(Resize(rollout, rollout.newest, rollout.wanted));
    return IsComplete(rollout) ? CleanUp(rollout) : base::OkStatus();
  }

  bool HasPods(Value set) {
    for (const store::ObjectPtr& pod :
         context().store.List({"", "pods"}, workloads::NamespaceOf(set))) {
      const Value root = Root(pod);
      if (workloads::IsControlledBy(root, set) && !workloads::IsFinished(root)) return true;
    }
    return false;
  }

  // After `replicas` has changed, or while the rollout is paused: every ReplicaSet in proportion.
  base::Status ScaleAll(Rollout& rollout) {
    std::vector<Value> active;
    for (const Value& set : rollout.all()) {
      if (ReplicasOf(set) > 0) active.push_back(set);
    }
    if (active.empty() && !rollout.newest.is_null()) active.push_back(rollout.newest);
    if (active.size() == 1) return Resize(rollout, active.front(), rollout.wanted);
    const bool saturated = !rollout.newest.is_null() &&
                           ReplicasOf(rollout.newest) == rollout.wanted &&
                           rollout.newest["status"]["availableReplicas"].AsInt() == rollout.wanted;
    if (saturated) {
      for (Value& set : rollout.old) {
        if (ReplicasOf(set) != 0) TRY(Resize(rollout, set, 0));
      }
      return base::OkStatus();
    }
    if (rollout.recreates() || active.empty()) return base::OkStatus();
    return ScaleInProportion(rollout, std::move(active));
  }

  base::Status ScaleInProportion(const Rollout& rollout, std::vector<Value> active) {
    const std::int64_t most = rollout.wanted > 0 ? rollout.wanted + rollout.surge : 0;
    std::int64_t left = most - Sum(active, "spec", "replicas");
    // The largest first; of equal ones the newest first when growing, else the oldest.
    std::stable_sort(active.begin(), active.end(), [&](Value a, Value b) {
      if (ReplicasOf(a) != ReplicasOf(b)) return ReplicasOf(a) > ReplicasOf(b);
      return left > 0 ? IsOlder(b, a) : IsOlder(a, b);
    });
    std::vector<std::int64_t> sizes;
    const std::int64_t all = left;
    for (const Value& set : active) {
      const std::int64_t size = ReplicasOf(set);
      const std::int64_t before =
          std::max<std::int64_t>(base::ParseInt(AnnotationOf(set, kMost)).value_or(0), 1);
      const std::int64_t share = (2 * size * most + before) / (2 * before) - size;
      const std::int64_t part = all > 0 ? std::clamp<std::int64_t>(share, 0, left)
                                        : std::clamp<std::int64_t>(share, left, 0);
      sizes.push_back(size + (all == 0 ? 0 : part));
      left -= all == 0 ? 0 : part;
    }
    // The largest ReplicaSet gets the remainder of the rounding.
    sizes.front() = std::max<std::int64_t>(sizes.front() + left, 0);
    for (std::size_t i = 0; i < active.size(); ++i) TRY(Resize(rollout, active[i], sizes[i]));
    return base::OkStatus();
  }

  // Old ReplicaSets beyond revisionHistoryLimit go.
  base::Status CleanUp(Rollout& rollout) {
    const Value limit = rollout.deployment["spec"]["revisionHistoryLimit"];
    if (limit.is_null()) return base::OkStatus();
    std::vector<Value> done;
    for (const Value& set : rollout.old) {
      if (!workloads::IsEnding(set)) done.push_back(set);
    }
    std::stable_sort(done.begin(), done.end(),
                     [](Value a, Value b) { return RevisionOf(a) < RevisionOf(b); });
    const std::int64_t surplus = static_cast<std::int64_t>(done.size()) - limit.AsInt();
    for (std::int64_t i = 0; i < surplus; ++i) {
      const Value set = done[static_cast<std::size_t>(i)];
      const bool in_use =
          set["status"]["replicas"].AsInt() != 0 || ReplicasOf(set) != 0 ||
          set["metadata"]["generation"].AsInt() > set["status"]["observedGeneration"].AsInt();
      if (!in_use) TRY(Delete(kReplicaSets, set));
    }
    return base::OkStatus();
  }

  // --- Status. ---

  static bool HasDeadline(const Rollout& rollout) {
    const Value deadline = rollout.deployment["spec"]["progressDeadlineSeconds"];
    return !deadline.is_null() && deadline.AsInt() != kNoDeadline;
  }

  static Value ConditionIn(const Rollout& rollout, std::string_view type) {
    for (const Value& condition : rollout.conditions.elements()) {
      if (condition["type"].AsString() == type) return condition;
    }
    return {};
  }

  void Progressing(Rollout& rollout, std::string_view status, std::string_view reason,
                   const std::string& message) {
    rollout.conditions = WithCondition(rollout.conditions, {.type = "Progressing",
                                                            .status = status,
                                                            .reason = reason,
                                                            .message = message,
                                                            .other_time = "lastUpdateTime"});
  }

  void ShowPaused(Rollout& rollout) {
    if (!HasDeadline(rollout)) return;
    const Value condition = ConditionIn(rollout, "Progressing");
    const bool shown = condition["reason"].AsString() == "DeploymentPaused" ||
                       condition["reason"].AsString() == "ProgressDeadlineExceeded";
    if (shown) return;
    rollout.conditions = WithCondition(WithoutCondition(rollout.conditions, "Progressing"),
                                       {.type = "Progressing",
                                        .status = "Unknown",
                                        .reason = "DeploymentPaused",
                                        .message = "Deployment is paused",
                                        .other_time = "lastUpdateTime"});
  }

  Value StatusOf(const Rollout& rollout) {
    const std::vector<Value> sets = rollout.all();
    const std::int64_t available = Sum(sets, "status", "availableReplicas");
    json::ObjectBuilder status(arena());
    status.Set("observedGeneration", rollout.deployment["metadata"]["generation"]);
    workloads::SetCount(status, "replicas", Sum(sets, "status", "replicas"));
    workloads::SetCount(status, "updatedReplicas", rollout.newest["status"]["replicas"].AsInt());
    workloads::SetCount(status, "readyReplicas", Sum(sets, "status", "readyReplicas"));
    workloads::SetCount(status, "availableReplicas", available);
    workloads::SetCount(status, "unavailableReplicas",
                        std::max<std::int64_t>(Sum(sets, "spec", "replicas") - available, 0));
    status.Set("terminatingReplicas", Sum(sets, "status", "terminatingReplicas"));
    if (rollout.has_collisions) status.Set("collisionCount", rollout.collisions);
    return status.Build();
  }

  static bool IsCompleteStatus(const Rollout& rollout, Value status) {
    return status["updatedReplicas"].AsInt() == rollout.wanted &&
           status["replicas"].AsInt() == rollout.wanted &&
           status["availableReplicas"].AsInt() == rollout.wanted;
  }
  bool IsComplete(const Rollout& rollout) { return IsCompleteStatus(rollout, StatusOf(rollout)); }

  // Says in the condition Progressing how the rollout goes.
  void ShowProgress(Rollout& rollout, Value status) {
    const Value old = rollout.deployment["status"];
    const std::string_view reason = ConditionIn(rollout, "Progressing")["reason"].AsString();
    const bool was_complete = status["replicas"].AsInt() == status["updatedReplicas"].AsInt() &&
                              reason == "NewReplicaSetAvailable";
    if (!HasDeadline(rollout) || was_complete) return;
    const std::string what = rollout.newest.is_null()
                                 ? base::StrCat("Deployment \"", NameOf(rollout.deployment), "\"")
                                 : base::StrCat("ReplicaSet \"", NameOf(rollout.newest), "\"");
    const auto grew = [&](std::string_view field) {
      return status[field].AsInt() > old[field].AsInt();
    };
    const auto left = [](Value of) {
      return of["replicas"].AsInt() - of["updatedReplicas"].AsInt();
    };
    if (IsCompleteStatus(rollout, status)) {
      Progressing(rollout, "True", "NewReplicaSetAvailable",
                  base::StrCat(what, " has successfully progressed."));
    } else if (grew("updatedReplicas") || left(status) < left(old) || grew("readyReplicas") ||
               grew("availableReplicas")) {
      // Each step counts anew.
      rollout.conditions = MovedOn(rollout.conditions);
      Progressing(rollout, "True", "ReplicaSetUpdated", base::StrCat(what, " is progressing."));
    } else if (const Value condition = ConditionIn(rollout, "Progressing");
               !condition.is_null() && reason != "DeploymentPaused") {
      JudgeDeadline(rollout, condition, what);
    }
  }

  // The condition Progressing with the time of now in lastUpdateTime.
  Value MovedOn(Value conditions) {
    json::ArrayBuilder out(arena());
    for (const Value& condition : conditions.elements()) {
      const bool progress = condition["type"].AsString() == "Progressing" &&
                            condition["reason"].AsString() == "ReplicaSetUpdated";
      out.Add(progress ? json::With(arena(), condition, "lastUpdateTime", Now()) : condition);
    }
    return out.size() == 0 ? Value() : out.Build();
  }

  void JudgeDeadline(Rollout& rollout, Value condition, const std::string& what) {
    const std::int64_t deadline = workloads::SecondsOf(condition["lastUpdateTime"]) +
                                  rollout.deployment["spec"]["progressDeadlineSeconds"].AsInt();
    if (condition["reason"].AsString() == "NewReplicaSetAvailable") return;
    if (now() <= deadline) {
      rollout.again = workloads::Sooner(rollout.again, std::chrono::seconds(deadline - now() + 1));
      return;
    }
    Progressing(rollout, "False", "ProgressDeadlineExceeded",
                base::StrCat(what, " has timed out progressing."));
  }

  base::Result<std::optional<base::Duration>> Finish(Rollout& rollout) {
    const Value status = StatusOf(rollout);
    const bool enough = status["availableReplicas"].AsInt() >= rollout.wanted - rollout.unavailable;
    rollout.conditions =
        WithCondition(rollout.conditions,
                      {.type = "Available",
                       .status = enough ? "True" : "False",
                       .reason = enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                       .message = enough ? "Deployment has minimum availability."
                                         : "Deployment does not have minimum availability.",
                       .other_time = "lastUpdateTime"});
    if (!rollout.paused()) ShowProgress(rollout, status);
    Value failure;
    for (const Value& set : rollout.all()) {
      const Value condition = api::ConditionOf(set, "ReplicaFailure");
      if (!condition.is_null()) failure = condition;
    }
    rollout.conditions =
        failure.is_null()
            ? WithoutCondition(rollout.conditions, "ReplicaFailure")
            : WithCondition(rollout.conditions, {.type = "ReplicaFailure",
                                                 .reason = failure["reason"].AsString(),
                                                 .message = failure["message"].AsString(),
                                                 .other_time = "lastUpdateTime"});
    TRY(UpdateStatus(rollout.deployment,
                     json::With(arena(), status, "conditions", rollout.conditions)));
    return rollout.again;
  }
};

constexpr store::Collection kHears[] = {{"apps", "deployments"}, {"apps", "replicasets"}};

}  // namespace

const ControllerInfo kDeployment = {
    .name = "deployment-controller",
    .account = "deployment-controller",
    .summary = "rolls Deployments out through ReplicaSets",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<Deployments>(context);
    },
    .hears = kHears,
    .group = kWorkloads,
};

}  // namespace portcullis::controllers
