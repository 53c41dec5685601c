// SPDX-License-Identifier: Apache-2.0

// Pods are made from the lowest number on, each when the one before is available, and taken away
// and updated from the highest; with podManagementPolicy Parallel all at once
// (pkg/controller/statefulset).
#include "controllers/workloads/stateful_set.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/strings.h"
#include "controllers/workloads/pods.h"
#include "controllers/workloads/revisions.h"
#include "controllers/workloads/workload.h"

namespace portcullis::controllers {
namespace {

using json::Value;
using workloads::kPods;
using workloads::NameOf;
using workloads::NamespaceOf;

constexpr workloads::OwnerKind kSets{"apps", "v1", "statefulsets", "StatefulSet",
                                     "statefulset-controller"};
const api::GroupVersionResource kClaims{"", "v1", "persistentvolumeclaims"};
constexpr std::string_view kPodName = "statefulset.kubernetes.io/pod-name";
constexpr std::string_view kPodIndex = "apps.kubernetes.io/pod-index";

class StatefulSets final : public workloads::WorkloadController {
 public:
  explicit StatefulSets(const ControllerContext& context) : WorkloadController(context, kSets) {}

 private:
  struct State {
    Value set;
    std::int64_t first = 0;  // the lowest number
    std::int64_t count = 0;
    std::map<std::int64_t, Value> pods;  // by number
    std::string current;                 // names of ControllerRevisions
    std::string update;
    Value current_template;
    std::optional<base::Duration> again;

    bool parallel() const { return set["spec"]["podManagementPolicy"].AsString() == "Parallel"; }
  };

  base::Result<std::optional<base::Duration>> Sync(Value set) override {
    State state;
    state.set = set;
    state.first = set["spec"]["ordinals"]["start"].AsInt();
    state.count = set["spec"]["replicas"].AsInt(1);
    const auto selector = TRY(api::LabelSelector::FromJson(set["spec"]["selector"]));
    for (const Value& pod : TRY(Claim(set, selector, kPods))) {
      if (const auto number = NumberOf(set, pod)) state.pods[*number] = pod;
    }
    const std::vector<Value> revisions = TRY(KeepRevisions(state, selector));
    base::Status done;
    if (!workloads::IsEnding(set)) done = Move(state);
    // The status counts what was read; writes of this pass show at the next one.
    TRY(UpdateStatus(set, StatusOf(state)));
    TRY(std::move(done));
    for (const Value& revision :
         workloads::Surplus(revisions, {state.current, state.update},
                            set["spec"]["revisionHistoryLimit"].AsInt(10))) {
      TRY(Delete(workloads::kRevisions, revision));
    }
    return state.again;
  }

  static std::optional<std::int64_t> NumberOf(Value set, Value pod) {
    std::string_view name = NameOf(pod);
    if (!name.starts_with(NameOf(set))) return std::nullopt;
    name.remove_prefix(NameOf(set).size());
    return name.starts_with("-") ? base::ParseInt(name.substr(1)) : std::nullopt;
  }

  base::Result<std::vector<Value>> KeepRevisions(State& state, const api::LabelSelector& selector) {
    const Value set = state.set;
    std::vector<Value> revisions = TRY(Claim(set, selector, workloads::kRevisions));
    const Value template_ = set["spec"]["template"];
    const Value data = workloads::DataOf(arena(), template_);
    Value update = workloads::RevisionWith(revisions, data);
    const std::int64_t newest = workloads::NewestNumber(revisions);
    if (update.is_null()) {
      const std::int64_t collisions = set["status"]["collisionCount"].AsInt();
      update = TRY(Create(workloads::kRevisions,
                          workloads::MakeRevision(arena(), Metadata(set), NameOf(set),
                                                  template_["metadata"]["labels"], data, newest + 1,
                                                  workloads::HashOf(data, collisions))));
      revisions.push_back(update);
    } else if (update["revision"].AsInt() < newest) {
      // An old template again: its revision becomes the newest.
      TRY(Update(workloads::kRevisions,
                 json::With(arena(), update, "revision", Value::Int(newest + 1))));
    }
    state.update = NameOf(update);
    state.current = set["status"]["currentRevision"].AsString(state.update);
    state.current_template = template_;
    for (const Value& revision : revisions) {
      if (NameOf(revision) == state.current) {
        state.current_template =
            json::Without(arena(), revision["data"]["spec"]["template"], "$patch");
      }
    }
    return revisions;
  }

  static std::string_view RevisionOf(Value pod) {
    return workloads::LabelOf(pod, workloads::kRevisionHash);
  }

  // Numbers below spec.updateStrategy.rollingUpdate.partition stay at the current revision.
  static bool StaysBehind(const State& state, std::int64_t number) {
    const Value strategy = state.set["spec"]["updateStrategy"];
    const std::int64_t partition = strategy["rollingUpdate"]["partition"].AsInt();
    return strategy["type"].AsString() == "RollingUpdate" && number < state.first + partition;
  }

  bool IsHealthy(State& state, Value pod) {
    return !workloads::IsEnding(pod) &&
           workloads::IsAvailable(pod, state.set["spec"]["minReadySeconds"].AsInt(), now(),
                                  state.again);
  }

  base::Status Move(State& state) {
    for (std::int64_t number = state.first; number < state.first + state.count; ++number) {
      const auto found = state.pods.find(number);
      if (found == state.pods.end()) {
        TRY(MakePod(state, number));
        if (state.parallel()) continue;
        return base::OkStatus();
      }
      const Value pod = found->second;
      if (workloads::IsFinished(pod) && !workloads::IsEnding(pod)) {
        TRY(DeleteNumbered(state, pod));
        return base::OkStatus();
      }
      TRY(KeepClaims(state, number));
      if (!IsHealthy(state, pod) && !state.parallel()) return base::OkStatus();
    }
    for (auto at = state.pods.rbegin(); at != state.pods.rend(); ++at) {
      if (at->first >= state.first && at->first < state.first + state.count) continue;
      if (!workloads::IsEnding(at->second)) TRY(DeleteNumbered(state, at->second));
      if (!state.parallel()) return base::OkStatus();
    }
    return Renew(state);
  }

  // Deletes the highest pod that is not of the revision it should be of; it is made anew then.
  base::Status Renew(State& state) {
    const Value strategy = state.set["spec"]["updateStrategy"];
    if (strategy["type"].AsString() == "OnDelete") return base::OkStatus();
    const std::int64_t most = std::max<std::int64_t>(
        workloads::Scaled(strategy["rollingUpdate"]["maxUnavailable"], state.count, true), 1);
    std::int64_t unavailable = 0;
    for (const auto& [number, pod] : state.pods) unavailable += IsHealthy(state, pod) ? 0 : 1;
    for (auto at = state.pods.rbegin(); at != state.pods.rend(); ++at) {
      if (StaysBehind(state, at->first)) break;
      if (RevisionOf(at->second) != state.update && !workloads::IsEnding(at->second)) {
        if (unavailable >= most && IsHealthy(state, at->second)) break;
        return DeleteNumbered(state, at->second);
      }
      if (!IsHealthy(state, at->second) && unavailable >= most) break;
    }
    return base::OkStatus();
  }

  std::string PodName(const State& state, std::int64_t number) {
    return base::StrCat(NameOf(state.set), "-", std::to_string(number));
  }

  base::Status MakePod(State& state, std::int64_t number) {
    if (base::Status kept = KeepClaims(state, number); !kept.ok()) {
      RecordPod(state, "Create", PodName(state, number), kept);
      return kept;
    }
    const bool behind = StaysBehind(state, number) && state.current != state.update;
    const Value template_ = behind ? state.current_template : state.set["spec"]["template"];
    const std::string name = PodName(state, number);
    json::ObjectBuilder metadata = Metadata(state.set);
    metadata.Set("name", name);
    Value pod = workloads::PodOf(arena(), template_, std::move(metadata));
    const Value labels = json::ObjectBuilder(arena(), pod["metadata"]["labels"])
                             .Set(kPodIndex, std::to_string(number))
                             .Set(workloads::kRevisionHash, behind ? state.current : state.update)
                             .Set(kPodName, name)
                             .Build();
    pod = json::SetPath(arena(), pod, {"metadata", "labels"}, labels);
    json::ObjectBuilder spec(arena(), pod["spec"]);
    spec.Set("hostname", name);
    const Value service = state.set["spec"]["serviceName"];
    if (!service.AsString().empty()) spec.Set("subdomain", service);
    spec.Set("volumes", VolumesOf(state, number, pod["spec"]["volumes"]));
    pod = json::With(arena(), pod, "spec", spec.Build());
    base::Status made = Create(kPods, pod).status();
    if (made.reason() != base::Reason::kAlreadyExists && !workloads::IsOfEndingNamespace(made)) {
      RecordPod(state, "Create", name, made);
    }
    return made;
  }

  base::Status DeleteNumbered(const State& state, Value pod) {
    base::Status done = Delete(kPods, pod);
    RecordPod(state, "Delete", NameOf(pod), done);
    return done;
  }

  // "Create Pod db-0 in StatefulSet db successful".
  void RecordPod(const State& state, std::string_view verb, std::string_view pod,
                 const base::Status& done) {
    RecordDone(state, verb, done,
               base::StrCat(verb, " Pod ", pod, " in StatefulSet ", NameOf(state.set),
                            done.ok() ? " successful" : ""));
  }

  void RecordDone(const State& state, std::string_view verb, const base::Status& done,
                  std::string message) {
    if (!done.ok()) message += base::StrCat(" failed error: ", done.message());
    Record(state.set, done.ok() ? "Normal" : "Warning",
           base::StrCat(done.ok() ? "Successful" : "Failed", verb), {message});
  }

  std::string ClaimName(const State& state, Value claim, std::int64_t number) {
    return base::StrCat(NameOf(claim), "-", PodName(state, number));
  }

  // The template's volumes, those of claims first and instead of others of their names.
  Value VolumesOf(const State& state, std::int64_t number, Value volumes) {
    json::ArrayBuilder out(arena());
    const Value claims = state.set["spec"]["volumeClaimTemplates"];
    for (const Value& claim : claims.elements()) {
      out.Add(
          json::ObjectBuilder(arena())
              .Set("name", NameOf(claim))
              .Set("persistentVolumeClaim", json::ObjectBuilder(arena())
                                                .Set("claimName", ClaimName(state, claim, number))
                                                .Build())
              .Build());
    }
    for (const Value& volume : volumes.elements()) {
      const bool is_claim =
          std::any_of(claims.elements().begin(), claims.elements().end(),
                      [&](Value claim) { return NameOf(claim) == volume["name"].AsString(); });
      if (!is_claim) out.Add(volume);
    }
    return out.Build();
  }

  base::Status KeepClaims(const State& state, std::int64_t number) {
    for (const Value& claim : state.set["spec"]["volumeClaimTemplates"].elements()) {
      const std::string name = ClaimName(state, claim, number);
      if (!Find({"", "persistentvolumeclaims", NamespaceOf(state.set), name}).is_null()) continue;
      json::ObjectBuilder labels(arena(), claim["metadata"]["labels"]);
      for (const json::Member& label : state.set["spec"]["selector"]["matchLabels"].members()) {
        labels.Set(label.name(), label.value);
      }
      json::ObjectBuilder metadata(arena());
      metadata.Set("name", name).Set("namespace", NamespaceOf(state.set));
      metadata.Set("labels", labels.Build());
      if (!claim["metadata"]["annotations"].is_null()) {
        metadata.Set("annotations", claim["metadata"]["annotations"]);
      }
      const base::Status made = Create(kClaims, json::ObjectBuilder(arena())
                                                    .Set("apiVersion", "v1")
                                                    .Set("kind", "PersistentVolumeClaim")
                                                    .Set("metadata", metadata.Build())
                                                    .Set("spec", claim["spec"])
                                                    .Build())
                                    .status();
      if (made.reason() != base::Reason::kAlreadyExists) {
        RecordDone(state, "Create", made,
                   base::StrCat("Create Claim ", name, made.ok() ? " Pod " : " for Pod ",
                                PodName(state, number), " in StatefulSet ", NameOf(state.set),
                                made.ok() ? " success" : ""));
      }
      if (!made.ok()) {
        return base::Status(made.reason(),
                            base::StrCat("failed to create PVC ", name, ": ", made.message()));
      }
    }
    return base::OkStatus();
  }

  Value StatusOf(State& state) {
    std::int64_t replicas = 0;
    std::int64_t ready = 0;
    std::int64_t available = 0;
    std::int64_t current = 0;
    std::int64_t updated = 0;
    for (const auto& [number, pod] : state.pods) {
      if (workloads::IsFinished(pod)) continue;
      ++replicas;
      ready += workloads::IsReady(pod) ? 1 : 0;
      available += IsHealthy(state, pod) ? 1 : 0;
      if (workloads::IsEnding(pod)) continue;
      current += RevisionOf(pod) == state.current ? 1 : 0;
      updated += RevisionOf(pod) == state.update ? 1 : 0;
    }
    // All have the newest revision: it is the current one from now on.
    if (updated == state.count && replicas == state.count && ready == state.count &&
        state.set["spec"]["updateStrategy"]["type"].AsString() == "RollingUpdate") {
      state.current = state.update;
      current = updated;
    }
    json::ObjectBuilder status(arena());
    status.Set("observedGeneration", state.set["metadata"]["generation"]);
    status.Set("replicas", replicas);
    workloads::SetCount(status, "readyReplicas", ready);
    workloads::SetCount(status, "currentReplicas", current);
    workloads::SetCount(status, "updatedReplicas", updated);
    status.Set("currentRevision", state.current).Set("updateRevision", state.update);
    status.Set("collisionCount", state.set["status"]["collisionCount"].AsInt());
    status.Set("availableReplicas", available);
    const Value conditions = state.set["status"]["conditions"];
    if (!conditions.is_null()) status.Set("conditions", conditions);
    return status.Build();
  }
};

constexpr store::Collection kHears[] = {
    {"apps", "statefulsets"}, {"", "pods"}, {"apps", "controllerrevisions"}};

}  // namespace

const ControllerInfo kStatefulSet = {
    .name = "statefulset-controller",
    .account = "statefulset-controller",
    .summary = "keeps the numbered pods and claims of StatefulSets",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<StatefulSets>(context);
    },
    .hears = kHears,
    .group = kWorkloads,
};

}  // namespace portcullis::controllers
