// SPDX-License-Identifier: Apache-2.0

#include "controllers/workloads/scheduler.h"

#include "api/condition.h"
#include "base/strings.h"
#include "controllers/workloads/node_fit.h"
#include "controllers/workloads/pods.h"
#include "controllers/workloads/workload.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;
using json::Value;

constexpr std::string_view kAllPods = "*";  // no namespace has that name

bool WaitsForANode(Value pod) {
  const Value spec = pod["spec"];
  return spec["nodeName"].AsString().empty() && spec["schedulingGates"].empty() &&
         spec["schedulerName"].AsString() == "default-scheduler" && workloads::IsActive(pod);
}

class Scheduler final : public Controller {
 public:
  explicit Scheduler(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    if (event.type == store::EventType::kDeleted) return;
    const store::Object& object = *event.object;
    // A new or a changed node may be what a pod has waited for.
    enqueue(object.resource() == "nodes" ? std::string(kAllPods) : std::string(object.position()));
  }

  std::optional<base::Duration> Reconcile(const std::string& position) override {
    if (position != kAllPods) {
      const auto place = base::Cut(position, "/");
      return place ? Place(context_.store.Get({"", "pods", place->first, place->second}))
                   : std::nullopt;
    }
    std::optional<base::Duration> again;
    for (const store::ObjectPtr& pod : context_.store.List({"", "pods"})) {
      again = workloads::Sooner(again, Place(pod));
    }
    return again;
  }

 private:
  std::optional<base::Duration> Place(const store::ObjectPtr& object) {
    if (object == nullptr) return std::nullopt;
    const json::Document document = store::DocumentOf(object);
    const Value pod = document.root();
    if (!WaitsForANode(pod)) return std::nullopt;
    std::vector<std::string> nodes;
    for (const store::ObjectPtr& node : context_.store.List({"", "nodes"})) {
      const Value root = node->document().root();
      const bool fits = !root["spec"]["unschedulable"].AsBool() && !workloads::IsEnding(root) &&
                        workloads::SelectsNode(pod["spec"], root) &&
                        !workloads::IsRepelled(pod["spec"]["tolerations"], root, "NoSchedule") &&
                        !workloads::IsRepelled(pod["spec"]["tolerations"], root, "NoExecute");
      if (fits) nodes.emplace_back(node->name());
    }
    json::Arena arena;
    if (nodes.empty()) return Refuse(arena, pod);
    // Pods spread by their names.
    const std::string& node =
        nodes[std::hash<std::string_view>()(object->position()) % nodes.size()];
    const Value binding =
        json::ObjectBuilder(arena)
            .Set("apiVersion", "v1")
            .Set("kind", "Binding")
            .Set("metadata", json::ObjectBuilder(arena)
                                 .Set("name", object->name())
                                 .Set("namespace", object->ns())
                                 .Set("uid", pod["metadata"]["uid"])
                                 .Build())
            .Set("target", json::ObjectBuilder(arena).Set("kind", "Node").Set("name", node).Build())
            .Build();
    const auto bound = context_.client.Do({.verb = engine::Verb::kCreate,
                                           .resource = workloads::kPods,
                                           .subresource = "binding",
                                           .ns = object->ns(),
                                           .name = object->name(),
                                           .body = binding});
    const bool done = bound.ok() || bound.status().reason() == base::Reason::kConflict ||
                      bound.status().reason() == base::Reason::kNotFound;
    if (done) return std::nullopt;
    return 1s;
  }

  // Says in the pod's condition PodScheduled that no node fits.
  std::optional<base::Duration> Refuse(json::Arena& arena, Value pod) {
    if (api::ConditionOf(pod, "PodScheduled")["status"].AsString() == "False") {
      return std::nullopt;
    }
    const Value condition =
        json::ObjectBuilder(arena)
            .Set("type", "PodScheduled")
            .Set("status", "False")
            .Set("reason", "Unschedulable")
            .Set("message",
                 base::StrCat("0/", std::to_string(context_.store.Count({"", "nodes"})),
                              " nodes are available: none that the pod selects and tolerates"))
            .Set("lastTransitionTime", base::FormatTime(context_.clock.Now()))
            .Build();
    const Value patch = json::SetPath(arena, Value(), {"status", "conditions"},
                                      json::MakeArray(arena, {condition}));
    (void)context_.client.Do({.verb = engine::Verb::kPatch,
                              .resource = workloads::kPods,
                              .subresource = "status",
                              .ns = workloads::NamespaceOf(pod),
                              .name = workloads::NameOf(pod),
                              .body = patch,
                              .patch = engine::PatchType::kStrategic});
    return std::nullopt;
  }

  const ControllerContext& context_;
};

constexpr store::Collection kHears[] = {{"", "pods"}, {"", "nodes"}};

}  // namespace

const ControllerInfo kWorkloadScheduler = {
    .name = "workload-scheduler",
    .account = "system:kube-scheduler",
    .summary = "binds pods to nodes that they select and tolerate",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<Scheduler>(context);
    },
    .hears = kHears,
    .group = kWorkloads,
};

}  // namespace portcullis::controllers
