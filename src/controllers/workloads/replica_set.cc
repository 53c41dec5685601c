// SPDX-License-Identifier: Apache-2.0

// Pods are made in batches of 1, 2, 4 …, and none after a batch in which one was refused: a template
// that admission refuses costs one request for each try (pkg/controller/replicaset).
#include "controllers/workloads/replica_set.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "controllers/workloads/pods.h"
#include "controllers/workloads/workload.h"

namespace portcullis::controllers {
namespace {

using json::Value;
using workloads::kPods;
using workloads::OwnerKind;

constexpr std::int64_t kMostAtOnce = 500;
constexpr OwnerKind kSets{"apps", "v1", "replicasets", "ReplicaSet", "replicaset-controller"};
constexpr OwnerKind kReplicationControllers{"", "v1", "replicationcontrollers",
                                            "ReplicationController", "replication-controller"};

class ReplicaSets final : public workloads::WorkloadController {
 public:
  ReplicaSets(const ControllerContext& context, const OwnerKind& kind)
      : WorkloadController(context, kind), is_set_(&kind == &kSets) {}

 private:
  base::Result<std::optional<base::Duration>> Sync(Value set) override {
    const Value spec = set["spec"];
    const auto selector = is_set_ ? TRY(api::LabelSelector::FromJson(spec["selector"]))
                                  : api::LabelSelector::FromSet(spec["selector"]);
    std::vector<Value> active;
    std::int64_t terminating = 0;
    for (const Value& pod : TRY(Claim(set, selector, kPods))) {
      if (workloads::IsActive(pod)) active.push_back(pod);
      if (workloads::IsEnding(pod) && !workloads::IsFinished(pod)) ++terminating;
    }
    const std::int64_t wanted = spec["replicas"].AsInt(1);
    const auto have = static_cast<std::int64_t>(active.size());
    base::Status done;
    if (!workloads::IsEnding(set)) {
      done = have < wanted ? MakePods(set, std::min(wanted - have, kMostAtOnce))
                           : DeletePods(set, active, std::min(have - wanted, kMostAtOnce));
    }
    std::optional<base::Duration> again;
    TRY(UpdateStatus(set, StatusOf(set, active, terminating, wanted - have, done, again)));
    TRY(std::move(done));
    return again;
  }

  base::Status MakePods(Value set, std::int64_t count) {
    for (std::int64_t batch = 1; count > 0; batch *= 2) {
      base::Status refused;
      for (std::int64_t i = 0; i < std::min(batch, count); ++i) {
        json::ObjectBuilder metadata = Metadata(set);
        metadata.Set("generateName", base::StrCat(workloads::NameOf(set), "-"));
        const base::Status made =
            CreatePod(set, workloads::PodOf(arena(), set["spec"]["template"], std::move(metadata)))
                .status();
        // Its other pods would be refused as well.
        if (workloads::IsOfEndingNamespace(made)) return base::OkStatus();
        if (!made.ok() && refused.ok()) refused = made;
      }
      TRY(std::move(refused));
      count -= batch;
    }
    return base::OkStatus();
  }

  base::Status DeletePods(Value set, std::vector<Value> pods, std::int64_t count) {
    std::stable_sort(pods.begin(), pods.end(), workloads::GoesBefore);
    for (std::int64_t i = 0; i < count; ++i) {
      TRY(DeletePod(set, pods[static_cast<std::size_t>(i)]));
    }
    return base::OkStatus();
  }

  Value StatusOf(Value set, const std::vector<Value>& active, std::int64_t terminating,
                 std::int64_t missing, const base::Status& done,
                 std::optional<base::Duration>& again) {
    const auto template_labels =
        api::LabelSelector::FromSet(set["spec"]["template"]["metadata"]["labels"]);
    const auto counts =
        workloads::CountPods(active, set["spec"]["minReadySeconds"].AsInt(), now(), again);
    const auto labeled = std::count_if(active.begin(), active.end(), [&](Value pod) {
      return template_labels.Matches(pod["metadata"]["labels"]);
    });
    Value conditions = set["status"]["conditions"];
    if (done.ok()) {
      conditions = WithoutCondition(conditions, "ReplicaFailure");
    } else {
      conditions =
          WithCondition(conditions, {.type = "ReplicaFailure",
                                     .reason = missing > 0 ? "FailedCreate" : "FailedDelete",
                                     .message = done.message()});
    }
    json::ObjectBuilder status(arena());
    status.Set("replicas", static_cast<std::int64_t>(active.size()));
    workloads::SetCount(status, "fullyLabeledReplicas", labeled);
    workloads::SetCount(status, "readyReplicas", counts.ready);
    workloads::SetCount(status, "availableReplicas", counts.available);
    if (is_set_) status.Set("terminatingReplicas", terminating);
    status.Set("observedGeneration", set["metadata"]["generation"]);
    if (!conditions.is_null()) status.Set("conditions", conditions);
    return status.Build();
  }

  const bool is_set_;
};

constexpr store::Collection kSetHears[] = {{"apps", "replicasets"}, {"", "pods"}};
constexpr store::Collection kReplicationHears[] = {{"", "replicationcontrollers"}, {"", "pods"}};

}  // namespace

const ControllerInfo kReplicaSet = {
    .name = "replicaset-controller",
    .account = "replicaset-controller",
    .summary = "keeps as many pods as a ReplicaSet asks for",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<ReplicaSets>(context, kSets);
    },
    .hears = kSetHears,
    .group = kWorkloads,
};

const ControllerInfo kReplicationController = {
    .name = "replicationcontroller-controller",
    .account = "replication-controller",
    .summary = "keeps as many pods as a ReplicationController asks for",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<ReplicaSets>(context, kReplicationControllers);
    },
    .hears = kReplicationHears,
    .group = kWorkloads,
};

}  // namespace portcullis::controllers
