// SPDX-License-Identifier: Apache-2.0

#include "controllers/volume_protection.h"

#include "base/strings.h"
#include "store/readable.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kClaimFinalizer = "kubernetes.io/pvc-protection";
constexpr std::string_view kVolumeFinalizer = "kubernetes.io/pv-protection";

bool IsEnding(json::Value object, std::string_view finalizer) {
  if (object["metadata"]["deletionTimestamp"].is_null()) return false;
  for (const json::Value& item : object["metadata"]["finalizers"].elements()) {
    if (item.AsString() == finalizer) return true;
  }
  return false;
}

std::optional<base::Duration> Release(Client& client, std::string_view resource, json::Value object,
                                      std::string_view finalizer) {
  json::Arena arena;
  json::ArrayBuilder kept(arena);
  for (const json::Value& item : object["metadata"]["finalizers"].elements()) {
    if (item.AsString() != finalizer) kept.Add(item);
  }
  const auto written =
      client.Do({.verb = engine::Verb::kUpdate,
                 .resource = {"", "v1", std::string(resource)},
                 .ns = object["metadata"]["namespace"].AsString(),
                 .name = object["metadata"]["name"].AsString(),
                 .body = json::SetPath(arena, object, {"metadata", "finalizers"}, kept.Build())});
  if (written.ok() || written.status().reason() == base::Reason::kNotFound) return std::nullopt;
  return 1s;
}

// Pods use claims by name, and those that are made for their ephemeral volumes.
bool Uses(json::Value pod, std::string_view claim) {
  for (const json::Value& volume : pod["spec"]["volumes"].elements()) {
    if (volume["persistentVolumeClaim"]["claimName"].AsString() == claim) return true;
    if (!volume["ephemeral"].is_null() &&
        base::StrCat(pod["metadata"]["name"].AsString(), "-", volume["name"].AsString()) == claim) {
      return true;
    }
  }
  return false;
}

class ClaimProtection final : public Controller {
 public:
  explicit ClaimProtection(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    if (!object.group().empty()) return;
    if (object.resource() == "persistentvolumeclaims") {
      if (object.bytes().find("\"deletionTimestamp\"") != std::string_view::npos) {
        enqueue(std::string(object.position()));
      }
    } else if (object.resource() == "pods" && event.type == store::EventType::kDeleted) {
      for (const store::ObjectPtr& claim :
           context_.store.List({"", "persistentvolumeclaims"}, object.ns())) {
        enqueue(std::string(claim->position()));
      }
    }
  }

  std::optional<base::Duration> Reconcile(const std::string& position) override {
    const std::size_t slash = position.find('/');
    const std::string ns = position.substr(0, slash);
    const std::string name = position.substr(slash + 1);
    const store::ObjectPtr claim = context_.store.Get({"", "persistentvolumeclaims", ns, name});
    if (claim == nullptr) return std::nullopt;
    const json::Value object = claim->document().root();
    if (!IsEnding(object, kClaimFinalizer)) return std::nullopt;
    const auto pods = store::ListReadable(context_.store, {"", "pods"}, ns);
    if (!pods.ok()) return kReadAgain;
    for (const store::ObjectPtr& pod : *pods) {
      const json::Value root = pod->document().root();
      // One without a node has mounted nothing; its deletion comes to us otherwise.
      if (!root["spec"]["nodeName"].AsString().empty() && Uses(root, name)) return std::nullopt;
    }
    return Release(context_.client, "persistentvolumeclaims", object, kClaimFinalizer);
  }

 private:
  const ControllerContext& context_;
};

class VolumeProtection final : public Controller {
 public:
  explicit VolumeProtection(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    const store::Object& object = *event.object;
    if (object.group().empty() && object.resource() == "persistentvolumes" &&
        object.bytes().find("\"deletionTimestamp\"") != std::string_view::npos) {
      enqueue(std::string(object.name()));
    }
  }

  std::optional<base::Duration> Reconcile(const std::string& name) override {
    const store::ObjectPtr volume = context_.store.Get({"", "persistentvolumes", "", name});
    if (volume == nullptr) return std::nullopt;
    const json::Value object = volume->document().root();
    if (!IsEnding(object, kVolumeFinalizer) || object["status"]["phase"].AsString() == "Bound") {
      return std::nullopt;
    }
    return Release(context_.client, "persistentvolumes", object, kVolumeFinalizer);
  }

 private:
  const ControllerContext& context_;
};

constexpr store::Collection kClaimHears[] = {{"", "persistentvolumeclaims"}, {"", "pods"}};
constexpr store::Collection kVolumeHears[] = {{"", "persistentvolumes"}};

}  // namespace

const ControllerInfo kClaimProtection = {
    .name = "persistentvolumeclaim-protection-controller",
    .account = "pvc-protection-controller",
    .summary = "lets go of deleted persistent volume claims that no pod uses",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<ClaimProtection>(context);
    },
    .hears = kClaimHears,
};

const ControllerInfo kVolumeProtection = {
    .name = "persistentvolume-protection-controller",
    .account = "pv-protection-controller",
    .summary = "lets go of deleted persistent volumes that no claim is bound to",
    .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
      return std::make_unique<VolumeProtection>(context);
    },
    .hears = kVolumeHears,
};

}  // namespace portcullis::controllers
