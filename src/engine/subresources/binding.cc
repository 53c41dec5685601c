// SPDX-License-Identifier: Apache-2.0

// Bindings: a pod is put on its node (pkg/registry/core/pod/storage, BindingREST).

#include <string>
#include <utility>

#include "api/api_status.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/subresources/pod_condition.h"
#include "engine/subresources/subresource_body.h"
#include "engine/subresources/subresources.h"
#include "engine/write/admit.h"
#include "engine/write/preconditions.h"
#include "engine/write/system_fields.h"
#include "engine/write/write.h"
#include "store/readable.h"
#include "store/store.h"

namespace portcullis::engine {
namespace {

// Why the pod cannot be bound to a node, or "".
std::string ObstacleToBinding(json::Value pod, std::string_view name) {
  if (!pod["metadata"]["deletionTimestamp"].is_null()) {
    return base::StrCat("pod ", name, " is being deleted, cannot be assigned to a host");
  }
  const json::Value spec = pod["spec"];
  if (const std::string_view node = spec["nodeName"].AsString(); !node.empty()) {
    return base::StrCat("pod ", name, " is already assigned to node ", base::GoQuote(node));
  }
  if (!spec["schedulingGates"].empty()) {
    return base::StrCat("pod ", name, " has non-empty .spec.schedulingGates");
  }
  return "";
}

// Validates the target of a binding. Kubernetes returns a plain error here, which makes it a 500.
base::Status CheckTarget(json::Value target) {
  api::FieldErrors errors;
  const std::string_view kind = target["kind"].AsString();
  if (!kind.empty() && kind != "Node") {
    errors.push_back(
        api::NotSupported(api::FieldPath("target", "kind"), kind, {"Node", "<empty>"}));
  }
  if (target["name"].AsString().empty()) {
    errors.push_back(api::Required(api::FieldPath("target", "name"), ""));
  }
  if (errors.empty()) return base::OkStatus();
  return base::Status(base::Reason::kUnknown, api::AggregateText(errors));
}

// That the binding means the pod that is there, in the state that is there.
base::Status CheckIdentity(json::Value binding, json::Value pod, const store::Key& key,
                           bool dry_run) {
  for (const auto& [field, shown] : {std::pair<std::string_view, std::string_view>{"uid", "UID"},
                                     {"resourceVersion", "ResourceVersion"}}) {
    const std::string_view wanted = binding["metadata"][field].AsString();
    const std::string_view actual = pod["metadata"][field].AsString();
    if (wanted.empty() || wanted == actual) continue;
    return api::ConflictStatus(
        {"", "pods"}, key.name,
        base::StrCat("StorageError: invalid object, Code: 4, Key: ", dry_run ? "" : "/registry",
                     "/pods/", key.ns, "/", key.name,
                     ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ", shown,
                     " in precondition: ", wanted, ", ", shown, " in object meta: ", actual));
  }
  return base::OkStatus();
}

// The pod on its node, with what admission has put on the binding.
json::Value Bound(Operation& op, json::Value pod, json::Value binding) {
  pod = json::SetPath(op.arena, pod, {"spec", "nodeName"}, binding["target"]["name"]);
  for (std::string_view kind_of : {"labels", "annotations"}) {
    for (const json::Member& member : binding["metadata"][kind_of].members()) {
      pod = json::SetPath(op.arena, pod, {"metadata", kind_of, member.name()}, member.value);
    }
  }
  if (pod["status"].Has("nominatedNodeName")) {
    pod = json::RemovePath(op.arena, pod, {"status", "nominatedNodeName"});
  }
  return WithTrueCondition(op.arena, pod, {"PodScheduled", "", ""}, *op.world.clock);
}

// A binding that has been admitted, on its way into the pod. It is not tried again after a conflict.
class Binding final : public Execution {
 public:
  Binding(Operation& op, std::optional<PendingWrite> write) : op_(op), write_(std::move(write)) {}
  std::optional<PendingWrite> Advance() override { return std::exchange(write_, std::nullopt); }
  void Committed(base::Result<store::ObjectPtr> stored) override {
    status_ = std::move(stored).status();
  }
  base::Result<Outcome> TakeOutcome() override {
    TRY(status_);
    return PlainOutcome(201, CreatedStatus(op_.arena));
  }

 private:
  Operation& op_;
  std::optional<PendingWrite> write_;  // null: a dry run
  base::Status status_;
};

// Up to the commit.
base::Result<std::optional<PendingWrite>> PlanBinding(Operation& op, const Input& input) {
  // POST /bindings names the pod in its body, POST /pods/<name>/binding in its path.
  const bool of_pod = op.subresource != nullptr;
  const WriteOptions& options = input.options;
  json::Value binding =
      DeduplicateOwners(op, TRY(DecodeSubresourceBody(op, input)), When::kBeforeAdmission);
  const std::string name(of_pod ? std::string_view(op.name)
                                : binding["metadata"]["name"].AsString());
  binding = TRY(RunMutating(op, {.operation = admission::kCreate,
                                 .name = name,
                                 .object = binding,
                                 .options = options.as_create}));
  if (of_pod && binding["metadata"]["name"].AsString() != name) {
    return base::BadRequest("name in URL does not match name in Binding object");
  }
  TRY(CheckTarget(binding["target"]));
  TRY(RunValidating(op, {.operation = admission::kCreate,
                         .name = name,
                         .object = binding,
                         .options = options.as_create}));
  const api::GroupResource pods{"", "pods"};
  TRY(CheckNameParameter(name));
  // A POST to the collection means no certain pod: the uid in its body does not count.
  if (!of_pod) binding = json::RemovePath(op.arena, binding, {"metadata", "uid"});
  const store::Key key{"", "pods", op.ns, name};
  const store::ObjectPtr current = TRY(store::GetReadable(*op.world.store, key));
  if (current == nullptr) return api::NotFoundStatus(pods, name);
  const api::catalog::ResourceInfo& resource = *op.catalog->Find("", "v1", "pods");
  const json::Value pod = TRY(FromStore(op.arena, current, resource));
  TRY(CheckIdentity(binding, pod, key, op.dry_run));
  if (const std::string obstacle = ObstacleToBinding(pod, name); !obstacle.empty()) {
    return api::ConflictStatus({"", "pods/binding"}, name, obstacle);
  }
  if (op.dry_run) return std::optional<PendingWrite>();
  PendingWrite write;
  write.kind = PendingWrite::Kind::kUpdate;
  write.resource = &resource;
  write.ns = op.ns;
  write.name = name;
  const json::Value bound = AsStored(*op.catalog, op.arena, resource.kind, Bound(op, pod, binding));
  write.encoded = TRY(EncodeForStore(op.arena, bound, resource));
  write.expected = current->revision();
  return std::optional<PendingWrite>(std::move(write));
}

}  // namespace

std::unique_ptr<Execution> CreateBinding(Operation& op, const Input& input) {
  auto write = PlanBinding(op, input);
  if (!write.ok()) return MakeFinished(std::move(write).status());
  return std::make_unique<Binding>(op, *std::move(write));
}

}  // namespace portcullis::engine
