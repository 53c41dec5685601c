// SPDX-License-Identifier: Apache-2.0

// Nothing runs: no container is started, no image looked at, and the addresses of pods are made up.
// It is what admission and controllers can see of a node (k8s.io/kubernetes/pkg/kubelet/status).
#include "controllers/workloads/node.h"

#include <algorithm>
#include <optional>

#include "api/condition.h"
#include "base/strings.h"
#include "controllers/workloads/pods.h"
#include "controllers/workloads/workload.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;
using json::Value;
using workloads::NameOf;
using workloads::NamespaceOf;

constexpr std::string_view kNode = "portcullis";
constexpr int kKilled = 137;  // exit code of a container that was killed
constexpr std::string_view kNodeAddress = "10.244.0.1";
const api::GroupVersionResource kNodes{"", "v1", "nodes"};

class WorkloadNode final : public Controller {
 public:
  explicit WorkloadNode(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    if (event.object->resource() == "nodes" || event.object->resource() == "namespaces") {
      if (event.object->name() == kNode || event.object->resource() == "namespaces") enqueue("");
    } else if (event.type != store::EventType::kDeleted) {
      enqueue(std::string(event.object->position()));
    }
  }

  std::optional<base::Duration> Reconcile(const std::string& position) override {
    arena_.emplace();
    const base::Status done = position.empty() ? KeepNode() : KeepPod(position);
    if (done.ok() || done.reason() == base::Reason::kNotFound) return std::nullopt;
    return 1s;
  }

 private:
  json::Arena& arena() { return *arena_; }
  json::ObjectBuilder Object() { return json::ObjectBuilder(*arena_); }
  Value Now() { return json::String(arena(), base::FormatTime(context_.clock.Now())); }
  Value Text(std::string_view text) { return json::String(arena(), text); }

  Value Condition(std::string_view type, bool status, std::string_view reason = {},
                  std::string_view message = {}) {
    json::ObjectBuilder condition = Object();
    condition.Set("type", type).Set("status", status ? "True" : "False");
    condition.Set("lastTransitionTime", Now());
    if (!reason.empty()) condition.Set("reason", reason).Set("message", message);
    return condition.Build();
  }

  // --- The node. ---

  base::Status KeepNode() {
    const store::ObjectPtr stored = context_.store.Get({"", "nodes", "", kNode});
    if (stored == nullptr) return MakeNode();
    const Value node = stored->document().root();
    if (!api::HasTrueCondition(node, "Ready")) {
      return WriteNodeStatus(node);
    }
    // Every new node has this taint until it is ready.
    json::ArrayBuilder taints(arena());
    for (const Value& taint : node["spec"]["taints"].elements()) {
      if (taint["key"].AsString() != "node.kubernetes.io/not-ready") taints.Add(taint);
    }
    if (taints.size() == node["spec"]["taints"].size()) return base::OkStatus();
    return WriteNode(engine::Verb::kUpdate, "",
                     json::SetPath(arena(), node, {"spec", "taints"}, taints.Build()));
  }

  base::Status MakeNode() {
    const Value labels = Object()
                             .Set("kubernetes.io/arch", "amd64")
                             .Set("kubernetes.io/hostname", kNode)
                             .Set("kubernetes.io/os", "linux")
                             .Build();
    return WriteNode(engine::Verb::kCreate, "",
                     Object()
                         .Set("apiVersion", "v1")
                         .Set("kind", "Node")
                         .Set("metadata", Object().Set("name", kNode).Set("labels", labels).Build())
                         .Build());
  }

  base::Status WriteNodeStatus(Value node) {
    const Value room = Object().Set("cpu", "1k").Set("memory", "1Ti").Set("pods", "1M").Build();
    const Value conditions = json::MakeArray(
        arena(), {Condition("MemoryPressure", false, "KubeletHasSufficientMemory",
                            "kubelet has sufficient memory available"),
                  Condition("DiskPressure", false, "KubeletHasNoDiskPressure",
                            "kubelet has no disk pressure"),
                  Condition("PIDPressure", false, "KubeletHasSufficientPID",
                            "kubelet has sufficient PID available"),
                  Condition("Ready", true, "KubeletReady", "kubelet is posting ready status")});
    const Value addresses = json::MakeArray(
        arena(), {Object().Set("type", "InternalIP").Set("address", kNodeAddress).Build(),
                  Object().Set("type", "Hostname").Set("address", kNode).Build()});
    const Value status = Object()
                             .Set("capacity", room)
                             .Set("allocatable", room)
                             .Set("conditions", conditions)
                             .Set("addresses", addresses)
                             .Build();
    return WriteNode(engine::Verb::kUpdate, "status", json::With(arena(), node, "status", status));
  }

  base::Status WriteNode(engine::Verb verb, std::string_view subresource, Value node) {
    return context_.client
        .Do({.verb = verb,
             .resource = kNodes,
             .subresource = subresource,
             .name = verb == engine::Verb::kCreate ? std::string_view() : kNode,
             .body = node})
        .status();
  }

  // --- Its pods. ---

  base::Status KeepPod(const std::string& position) {
    const auto place = base::Cut(position, "/");
    const store::ObjectPtr stored =
        place ? context_.store.Get({"", "pods", place->first, place->second}) : nullptr;
    if (stored == nullptr) return base::OkStatus();
    const Value pod = stored->document().root();
    if (pod["spec"]["nodeName"].AsString().empty()) return base::OkStatus();
    if (workloads::IsEnding(pod)) return End(pod);
    if (workloads::IsFinished(pod)) return base::OkStatus();
    if (workloads::PhaseOf(pod) != "Running") return WriteStatus(pod, RunningStatus(pod));
    if (workloads::ControllerOf(pod)["kind"].AsString() == "Job") {
      return WriteStatus(pod, EndedStatus(pod, 0));
    }
    // Gates that have opened or closed meanwhile. Of pods without gates, what somebody else writes
    // into the status stays: that is how a pod is made unready in a test.
    const bool changed =
        !pod["spec"]["readinessGates"].empty() && workloads::IsReady(pod) != GatesAreOpen(pod);
    return changed ? WriteStatus(pod, RunningStatus(pod)) : base::OkStatus();
  }

  // The containers stop at once; then nothing holds the pod but its finalizers.
  base::Status End(Value pod) {
    if (!workloads::IsFinished(pod)) {
      const bool job = workloads::ControllerOf(pod)["kind"].AsString() == "Job";
      TRY(WriteStatus(pod, EndedStatus(pod, job ? kKilled : 0)));
    }
    if (pod["metadata"]["deletionGracePeriodSeconds"].AsInt() == 0) return base::OkStatus();
    return context_.client
        .Do({.verb = engine::Verb::kDelete,
             .resource = workloads::kPods,
             .ns = NamespaceOf(pod),
             .name = NameOf(pod),
             .uid = pod["metadata"]["uid"].AsString(),
             .grace_period_seconds = 0})
        .status();
  }

  static bool GatesAreOpen(Value pod) {
    for (const Value& gate : pod["spec"]["readinessGates"].elements()) {
      const Value condition = api::ConditionOf(pod, gate["conditionType"].AsString());
      if (condition["status"].AsString() != "True") return false;
    }
    return true;
  }

  // `exit_code` of the containers; none: they run.
  Value ContainerStatuses(Value pod, std::string_view list, std::optional<int> exit_code) {
    const bool run = !exit_code;
    const bool init = list == "initContainers";
    json::ArrayBuilder statuses(arena());
    for (const Value& container : pod["spec"][list].elements()) {
      const bool runs = run && (!init || container["restartPolicy"].AsString() == "Always");
      const Value state =
          runs ? Object().Set("running", Object().Set("startedAt", Now()).Build()).Build()
               : Object()
                     .Set("terminated",
                          Object()
                              .Set("exitCode", init ? 0 : exit_code.value_or(0))
                              .Set("reason",
                                   init || exit_code.value_or(0) == 0 ? "Completed" : "Error")
                              .Set("startedAt", Now())
                              .Set("finishedAt", Now())
                              .Build())
                     .Build();
      statuses.Add(Object()
                       .Set("name", container["name"])
                       .Set("image", container["image"])
                       .Set("imageID", "")
                       .Set("ready", runs || (init && run))
                       .Set("started", runs)
                       .Set("restartCount", 0)
                       .Set("state", state)
                       .Build());
    }
    return statuses.size() == 0 ? Value() : statuses.Build();
  }

  // Conditions of others, those of readiness gates for instance, stay.
  Value Conditions(Value pod, bool ready, std::string_view reason, std::string_view message) {
    constexpr std::string_view kOurs[] = {"PodReadyToStartContainers", "Initialized", "Ready",
                                          "ContainersReady", "PodScheduled"};
    json::ArrayBuilder conditions(arena());
    const auto add = [&](std::string_view type, bool status) {
      const Value old = api::ConditionOf(pod, type);
      const Value made = status ? Condition(type, true) : Condition(type, false, reason, message);
      conditions.Add(old["status"] == made["status"] ? old : made);
    };
    const bool done = reason == "PodCompleted" || reason == "PodFailed";
    add(kOurs[0], !done);
    add(kOurs[1], true);
    add(kOurs[2], ready);
    add(kOurs[3], !done);
    add(kOurs[4], true);
    for (const Value& condition : pod["status"]["conditions"].elements()) {
      const std::string_view type = condition["type"].AsString();
      const bool ours = std::find(std::begin(kOurs), std::end(kOurs), type) != std::end(kOurs);
      if (!ours) conditions.Add(condition);
    }
    return conditions.Build();
  }

  Value RunningStatus(Value pod) {
    const bool ready = GatesAreOpen(pod);
    return StatusOf(pod, "Running",
                    Conditions(pod, ready, "ReadinessGatesNotReady",
                               "a readiness gate of the pod is not \"True\""),
                    std::nullopt);
  }
  Value EndedStatus(Value pod, int exit_code) {
    return StatusOf(pod, exit_code == 0 ? "Succeeded" : "Failed",
                    Conditions(pod, false, exit_code == 0 ? "PodCompleted" : "PodFailed", ""),
                    exit_code);
  }

  Value StatusOf(Value pod, std::string_view phase, Value conditions,
                 std::optional<int> exit_code) {
    const Value old = pod["status"];
    json::ObjectBuilder status(arena(), old);
    status.Set("phase", phase).Set("conditions", conditions);
    status.Set("observedGeneration", pod["metadata"]["generation"]);
    if (old["startTime"].is_null()) status.Set("startTime", Now());
    if (old["podIP"].is_null()) {
      const Value address =
          Text(pod["spec"]["hostNetwork"].AsBool() ? std::string(kNodeAddress) : NextAddress());
      const Value host = Text(kNodeAddress);
      status.Set("hostIP", host)
          .Set("hostIPs", json::MakeArray(arena(), {Object().Set("ip", host).Build()}))
          .Set("podIP", address)
          .Set("podIPs", json::MakeArray(arena(), {Object().Set("ip", address).Build()}));
    }
    const auto set = [&](std::string_view name, Value statuses) {
      if (!statuses.is_null()) status.Set(name, statuses);
    };
    set("initContainerStatuses", ContainerStatuses(pod, "initContainers", exit_code));
    set("containerStatuses", ContainerStatuses(pod, "containers", exit_code));
    return status.Build();
  }

  // The next address of 10.244.0.0/16.
  std::string NextAddress() {
    address_ = address_ >= 65533 ? 2 : address_ + 1;
    return base::StrCat("10.244.", std::to_string(address_ / 256), ".",
                        std::to_string(address_ % 256));
  }

  base::Status WriteStatus(Value pod, Value status) {
    return context_.client
        .Do({.verb = engine::Verb::kUpdate,
             .resource = workloads::kPods,
             .subresource = "status",
             .ns = NamespaceOf(pod),
             .name = NameOf(pod),
             .body = json::With(arena(), pod, "status", status)})
        .status();
  }

  const ControllerContext& context_;
  std::optional<json::Arena> arena_;
  int address_ = 1;
};

constexpr store::Collection kHears[] = {{"", "pods"}, {"", "nodes"}, {"", "namespaces"}};

}  // namespace

const ControllerInfo kWorkloadNode = {
    .name = "workload-node",
    .account = "",
    .summary = "makes a Node and says of the pods of all nodes that they run",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<WorkloadNode>(context);
    },
    .hears = kHears,
    .group = kWorkloads,
};

}  // namespace portcullis::controllers
