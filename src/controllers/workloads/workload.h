// SPDX-License-Identifier: Apache-2.0

// What the controllers of workloads (Deployment, ReplicaSet, Job …) share: one key of work is one
// owner, and everything that is decided is decided from what is stored, so that no controller
// remembers anything but when to try again.
//
// A controller writes only what differs: a status that is as it should be is not written again.
// (Kubernetes documentation, "Workload Management"; k8s.io/kubernetes/pkg/controller.)
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/names.h"
#include "api/selector/label_selector.h"
#include "base/status.h"
#include "controllers/controller.h"
#include "controllers/workloads/event_recorder.h"
#include "json/value.h"

namespace portcullis::controllers::workloads {

// A kind of owners, and where its objects are. Of static storage.
struct OwnerKind {
  std::string_view group;
  std::string_view version;
  std::string_view resource;
  std::string_view kind;
  // The source of Events about them: as kube-controller-manager's controller names itself.
  std::string_view component = {};
};

// The reference of the owner that controls the object; null if none does.
json::Value ControllerOf(json::Value object);
bool IsControlledBy(json::Value object, json::Value owner);
bool IsEnding(json::Value object);  // has a deletionTimestamp
std::string_view NameOf(json::Value object);
std::string_view NamespaceOf(json::Value object);
// What an annotation or label holds, "" if it is absent.
std::string_view AnnotationOf(json::Value object, std::string_view name);
std::string_view LabelOf(json::Value object, std::string_view name);

// Seconds since 1970 of a time of the API; 0 if it is absent.
std::int64_t SecondsOf(json::Value time);

// A hash in the alphabet of generated names, as they stand in `pod-template-hash` and
// `controller-revision-hash`. Kubernetes hashes Go's form of the template; this hashes its JSON.
std::string HashOf(json::Value value, std::int64_t collisions);

// Whether a create was refused because its namespace is being deleted.
bool IsOfEndingNamespace(const base::Status& status);

// A number, or a percentage of `total`, rounded up or down.
std::int64_t Scaled(json::Value number_or_percent, std::int64_t total, bool up);

// Writes counts into a status; one that is 0 is left out, as Kubernetes encodes it.
void SetCount(json::ObjectBuilder& status, std::string_view name, std::int64_t count);

// The sooner of two times to look again.
std::optional<base::Duration> Sooner(std::optional<base::Duration> a,
                                     std::optional<base::Duration> b);

class WorkloadController : public Controller {
 public:
  void OnEvent(const store::Event& event, const Enqueue& enqueue) override;
  // The key is the owner's position, "namespace/name".
  std::optional<base::Duration> Reconcile(const std::string& position) override;

 protected:
  WorkloadController(const ControllerContext& context, const OwnerKind& kind)
      : context_(context), kind_(kind), events_(context.client, context.clock, kind.component) {}

  // Makes what belongs to `owner` as it should be; when to look again without an event. After an
  // error it is tried again, later each time.
  virtual base::Result<std::optional<base::Duration>> Sync(json::Value owner) = 0;

  // The objects of a collection that `owner` controls. Those that match `selector` and that no one
  // controls are adopted, those that match no longer are released.
  base::Result<std::vector<json::Value>> Claim(json::Value owner,
                                               const api::LabelSelector& selector,
                                               const api::GroupVersionResource& resource);

  // An object of that kind in the owner's namespace, controlled by the owner.
  json::ObjectBuilder Metadata(json::Value owner);
  base::Result<json::Value> Create(const api::GroupVersionResource& resource, json::Value object);
  base::Status Update(const api::GroupVersionResource& resource, json::Value object);
  base::Status Patch(const api::GroupVersionResource& resource, json::Value object,
                     json::Value merge_patch);
  // Nothing happens if it is gone already. `propagation`: as in DeleteOptions, "" for the default.
  base::Status Delete(const api::GroupVersionResource& resource, json::Value object,
                      std::string_view propagation = {});
  // Create and Delete, and an Event about the owner: SuccessfulCreate "Created pod: web-x7k2p",
  // FailedCreate "Error creating: …" and so on. Nothing is said of a namespace that is being deleted,
  // nor of a pod that is gone already.
  base::Result<json::Value> CreatePod(json::Value owner, json::Value pod);
  base::Status DeletePod(json::Value owner, json::Value pod);
  // An Event about the owner, or another object of its kind. `type`: "Normal" or "Warning".
  // The pieces of the message are joined.
  void Record(json::Value owner, std::string_view type, std::string_view reason,
              std::initializer_list<std::string_view> message);
  // The owner, with `status` and what else it has been given, unless that is what is stored.
  base::Status UpdateStatus(json::Value owner, json::Value status);

  // The list of conditions with one set; lastTransitionTime changes with the status only.
  // A condition that says nothing new stays as it is.
  struct Condition {
    std::string_view type;
    std::string_view status = "True";  // or False, Unknown
    std::string_view reason;
    std::string_view message;
    std::string_view other_time;  // the name of a time that some kinds have besides
  };
  json::Value WithCondition(json::Value conditions, const Condition& condition);
  json::Value WithoutCondition(json::Value conditions, std::string_view type);

  std::int64_t now() const;  // seconds since 1970
  json::Value Now();         // as a time of the API
  json::Arena& arena() { return *arena_; }
  const ControllerContext& context() const { return context_; }
  // A stored object's root, kept as long as the arena.
  json::Value Root(const store::ObjectPtr& object);
  json::Value Find(const store::Key& key);

 private:
  const ControllerContext& context_;
  const OwnerKind& kind_;
  EventRecorder events_;
  std::optional<json::Arena> arena_;     // of one Reconcile
  std::map<std::string, int> failures_;  // in a row, by key
};

}  // namespace portcullis::controllers::workloads
