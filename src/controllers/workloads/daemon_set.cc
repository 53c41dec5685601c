// SPDX-License-Identifier: Apache-2.0

// A pod names its node by a required affinity; the scheduler binds it (pkg/controller/daemon).
#include "controllers/workloads/daemon_set.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/strings.h"
#include "controllers/workloads/node_fit.h"
#include "controllers/workloads/pods.h"
#include "controllers/workloads/revisions.h"
#include "controllers/workloads/workload.h"

namespace portcullis::controllers {
namespace {

using json::Value;
using workloads::kPods;
using workloads::NameOf;
using workloads::NamespaceOf;

constexpr workloads::OwnerKind kSets{"apps", "v1", "daemonsets", "DaemonSet",
                                     "daemonset-controller"};
constexpr std::string_view kGeneration = "pod-template-generation";

// Taints of nodes that daemons live with; the last one only in the network of the host.
struct Taint {
  std::string_view name;
  std::string_view effect;
};
constexpr Taint kTolerated[] = {
    {"not-ready", "NoExecute"},           {"unreachable", "NoExecute"},
    {"disk-pressure", "NoSchedule"},      {"memory-pressure", "NoSchedule"},
    {"pid-pressure", "NoSchedule"},       {"unschedulable", "NoSchedule"},
    {"network-unavailable", "NoSchedule"}};

class DaemonSets final : public workloads::WorkloadController {
 public:
  explicit DaemonSets(const ControllerContext& context) : WorkloadController(context, kSets) {}

  // A node concerns all of them.
  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    if (event.object->resource() != "nodes") return WorkloadController::OnEvent(event, enqueue);
    for (const store::ObjectPtr& set : context().store.List({"apps", "daemonsets"})) {
      enqueue(std::string(set->position()));
    }
  }

 private:
  struct State {
    Value set;
    std::string hash;                                // of the newest template
    std::map<std::string, std::vector<Value>> pods;  // by node
    std::int64_t desired = 0;
    std::int64_t current = 0;
    std::int64_t misscheduled = 0;
    std::int64_t ready = 0;
    std::int64_t available = 0;
    std::int64_t updated = 0;
    std::vector<Value> outdated;  // pods of older templates
    std::optional<base::Duration> again;
  };

  base::Result<std::optional<base::Duration>> Sync(Value set) override {
    State state;
    state.set = set;
    const auto selector = TRY(api::LabelSelector::FromJson(set["spec"]["selector"]));
    for (const Value& pod : TRY(Claim(set, selector, kPods))) {
      state.pods[NodeOf(pod)].push_back(pod);
    }
    TRY(KeepRevisions(state, selector));
    base::Status done;
    for (const store::ObjectPtr& object : context().store.List({"", "nodes"})) {
      const base::Status kept = KeepOn(state, Root(object));
      if (done.ok()) done = kept;
    }
    if (done.ok() && !workloads::IsEnding(set)) done = Renew(state);
    TRY(UpdateStatus(set, StatusOf(state)));
    TRY(std::move(done));
    return state.again;
  }

  // The node that a pod is on, or is for.
  static std::string NodeOf(Value pod) {
    const std::string_view bound = pod["spec"]["nodeName"].AsString();
    if (!bound.empty()) return std::string(bound);
    const Value terms =
        pod["spec"].At({"affinity", "nodeAffinity",
                        "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
    for (const Value& term : terms.elements()) {
      for (const Value& field : term["matchFields"].elements()) {
        return std::string(field["values"][std::size_t{0}].AsString());
      }
    }
    return {};
  }

  base::Status KeepRevisions(State& state, const api::LabelSelector& selector) {
    const Value template_ = state.set["spec"]["template"];
    const Value data = workloads::DataOf(arena(), template_);
    std::vector<Value> revisions = TRY(Claim(state.set, selector, workloads::kRevisions));
    Value newest = workloads::RevisionWith(revisions, data);
    const std::int64_t number = workloads::NewestNumber(revisions);
    if (newest.is_null()) {
      newest =
          TRY(Create(workloads::kRevisions,
                     workloads::MakeRevision(
                         arena(), Metadata(state.set), NameOf(state.set),
                         template_["metadata"]["labels"], data, number + 1,
                         workloads::HashOf(data, state.set["status"]["collisionCount"].AsInt()))));
      revisions.push_back(newest);
    } else if (newest["revision"].AsInt() < number) {
      TRY(Update(workloads::kRevisions,
                 json::With(arena(), newest, "revision", Value::Int(number + 1))));
    }
    state.hash = workloads::LabelOf(newest, workloads::kRevisionHash);
    std::vector<std::string> hashes;
    for (const auto& [node, pods] : state.pods) {
      for (const Value& pod : pods) {
        hashes.push_back(base::StrCat(NameOf(state.set), "-",
                                      workloads::LabelOf(pod, workloads::kRevisionHash)));
      }
    }
    std::vector<std::string_view> live(hashes.begin(), hashes.end());
    live.push_back(NameOf(newest));
    for (const Value& revision : workloads::Surplus(
             std::move(revisions), live, state.set["spec"]["revisionHistoryLimit"].AsInt(10))) {
      TRY(Delete(workloads::kRevisions, revision));
    }
    return base::OkStatus();
  }

  Value Tolerations(const State& state) {
    const Value spec = state.set["spec"]["template"]["spec"];
    json::ArrayBuilder out(arena(), spec["tolerations"]);
    for (const Taint& taint : kTolerated) {
      if (taint.name == "network-unavailable" && !spec["hostNetwork"].AsBool()) continue;
      const Value toleration = json::ObjectBuilder(arena())
                                   .Set("key", base::StrCat("node.kubernetes.io/", taint.name))
                                   .Set("operator", "Exists")
                                   .Set("effect", taint.effect)
                                   .Build();
      const auto given = spec["tolerations"].elements();
      if (std::find(given.begin(), given.end(), toleration) == given.end()) out.Add(toleration);
    }
    return out.Build();
  }

  base::Status KeepOn(State& state, Value node) {
    const Value spec = state.set["spec"]["template"]["spec"];
    const Value tolerations = Tolerations(state);
    const bool selected =
        workloads::SelectsNode(spec, node) &&
        (spec["nodeName"].AsString().empty() || spec["nodeName"].AsString() == NameOf(node));
    const bool runs = selected && !workloads::IsRepelled(tolerations, node, "NoSchedule") &&
                      !workloads::IsRepelled(tolerations, node, "NoExecute");
    const bool stays = selected && !workloads::IsRepelled(tolerations, node, "NoExecute");
    std::vector<Value> pods = state.pods[std::string(NameOf(node))];
    std::erase_if(pods, [](Value pod) { return workloads::IsEnding(pod); });
    state.desired += runs ? 1 : 0;
    state.misscheduled += !runs && !pods.empty() ? 1 : 0;
    if (runs && !pods.empty()) Count(state, pods);
    if (workloads::IsEnding(state.set)) return base::OkStatus();
    for (const Value& pod : pods) {
      const bool finished = workloads::IsFinished(pod);
      if (finished && stays) RecordFinished(state.set, node, pod);
      if (finished || !stays || !pod.IsSameAs(pods.front())) TRY(DeletePod(state.set, pod));
    }
    const bool waits = !state.pods[std::string(NameOf(node))].empty();
    return runs && !waits ? MakePod(state, node, tolerations) : base::OkStatus();
  }

  void RecordFinished(Value set, Value node, Value pod) {
    const bool failed = workloads::PhaseOf(pod) == "Failed";
    Record(set, failed ? "Warning" : "Normal", failed ? "FailedDaemonPod" : "SucceededDaemonPod",
           {"Found ", failed ? "failed" : "succeeded", " daemon pod ", NamespaceOf(pod), "/",
            NameOf(pod), " on node ", NameOf(node), ", will try to ", failed ? "kill" : "delete",
            " it"});
  }

  void Count(State& state, const std::vector<Value>& pods) {
    const Value pod = pods.front();
    ++state.current;
    state.ready += workloads::IsReady(pod) ? 1 : 0;
    state.available += workloads::IsAvailable(pod, state.set["spec"]["minReadySeconds"].AsInt(),
                                              now(), state.again)
                           ? 1
                           : 0;
    if (workloads::LabelOf(pod, workloads::kRevisionHash) == state.hash) {
      ++state.updated;
    } else {
      state.outdated.push_back(pod);
    }
  }

  base::Status MakePod(const State& state, Value node, Value tolerations) {
    json::ObjectBuilder metadata = Metadata(state.set);
    metadata.Set("generateName", base::StrCat(NameOf(state.set), "-"));
    Value pod = workloads::PodOf(arena(), state.set["spec"]["template"], std::move(metadata));
    json::ObjectBuilder labels(arena(), pod["metadata"]["labels"]);
    labels.Set(workloads::kRevisionHash, state.hash);
    const std::string_view generation =
        workloads::AnnotationOf(state.set, "deprecated.daemonset.template.generation");
    if (!generation.empty()) labels.Set(kGeneration, generation);
    pod = json::SetPath(arena(), pod, {"metadata", "labels"}, labels.Build());
    const Value field = json::ObjectBuilder(arena())
                            .Set("key", "metadata.name")
                            .Set("operator", "In")
                            .Set("values", json::MakeArray(arena(), {node["metadata"]["name"]}))
                            .Build();
    const Value term =
        json::ObjectBuilder(arena()).Set("matchFields", json::MakeArray(arena(), {field})).Build();
    pod = json::SetPath(
        arena(), pod,
        {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"},
        json::ObjectBuilder(arena())
            .Set("nodeSelectorTerms", json::MakeArray(arena(), {term}))
            .Build());
    pod = json::SetPath(arena(), pod, {"spec", "tolerations"}, tolerations);
    base::Status made = CreatePod(state.set, pod).status();
    return workloads::IsOfEndingNamespace(made) ? base::OkStatus() : made;
  }

  // Deletes pods of older templates, as many as may be unavailable.
  base::Status Renew(State& state) {
    const Value strategy = state.set["spec"]["updateStrategy"];
    if (strategy["type"].AsString() != "RollingUpdate") return base::OkStatus();
    const std::int64_t most = std::max<std::int64_t>(
        workloads::Scaled(strategy["rollingUpdate"]["maxUnavailable"], state.desired, true), 1);
    std::int64_t room = most - (state.desired - state.available);
    for (const Value& pod : state.outdated) {
      std::optional<base::Duration> ignored;
      const bool available =
          workloads::IsAvailable(pod, state.set["spec"]["minReadySeconds"].AsInt(), now(), ignored);
      if (available && room-- <= 0) continue;
      TRY(DeletePod(state.set, pod));
    }
    return base::OkStatus();
  }

  Value StatusOf(const State& state) {
    json::ObjectBuilder status(arena());
    status.Set("currentNumberScheduled", state.current);
    status.Set("numberMisscheduled", state.misscheduled);
    status.Set("desiredNumberScheduled", state.desired);
    status.Set("numberReady", state.ready);
    status.Set("observedGeneration", state.set["metadata"]["generation"]);
    workloads::SetCount(status, "updatedNumberScheduled", state.updated);
    workloads::SetCount(status, "numberAvailable", state.available);
    workloads::SetCount(status, "numberUnavailable", state.desired - state.available);
    const Value old = state.set["status"];
    for (const std::string_view kept : {"collisionCount", "conditions"}) {
      if (!old[kept].is_null()) status.Set(kept, old[kept]);
    }
    return status.Build();
  }
};

constexpr store::Collection kHears[] = {
    {"apps", "daemonsets"}, {"", "pods"}, {"", "nodes"}, {"apps", "controllerrevisions"}};

}  // namespace

const ControllerInfo kDaemonSet = {
    .name = "daemonset-controller",
    .account = "daemon-set-controller",
    .summary = "keeps a pod of each DaemonSet on each node",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<DaemonSets>(context);
    },
    .hears = kHears,
    .group = kWorkloads,
};

}  // namespace portcullis::controllers
