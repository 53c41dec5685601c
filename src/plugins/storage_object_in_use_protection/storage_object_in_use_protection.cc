#include "plugins/storage_object_in_use_protection/storage_object_in_use_protection.h"

#include "plugins/common/make.h"

namespace portcullis::plugins::storage_object_in_use_protection {
namespace {

struct Protected {
  std::string_view group;
  std::string_view resource;
  std::string_view finalizer;
  int since_minor;
};
constexpr Protected kProtected[] = {
    {"", "persistentvolumes", "kubernetes.io/pv-protection", 0},
    {"", "persistentvolumeclaims", "kubernetes.io/pvc-protection", 0},
    {"storage.k8s.io", "volumeattributesclasses", "kubernetes.io/vac-protection", 34},
};

bool Contains(json::Value finalizers, std::string_view wanted) {
  for (const json::Value& finalizer : finalizers.elements()) {
    if (finalizer.AsString() == wanted) return true;
  }
  return false;
}

class StorageObjectInUseProtection final : public admission::Plugin {
 public:
  explicit StorageObjectInUseProtection(const admission::PluginContext& context)
      : kubernetes_minor_(context.kubernetes_minor) {}

  base::Status Mutate(admission::Request& request) const override {
    for (const Protected& rule : kProtected) {
      if (!request.Is(rule.group, rule.resource) || kubernetes_minor_ < rule.since_minor) continue;
      const json::Value finalizers = request.object()["metadata"]["finalizers"];
      if (Contains(finalizers, rule.finalizer)) return base::OkStatus();
      json::Arena& arena = request.arena();
      request.set_object(
          json::SetPath(arena, request.object(), {"metadata", "finalizers"},
                        json::Append(arena, finalizers, json::Value::StringView(rule.finalizer))));
      return base::OkStatus();
    }
    return base::OkStatus();
  }

 private:
  int kubernetes_minor_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "StorageObjectInUseProtection",
    .summary = "protects volumes and claims in use by finalizers",
    .phases = admission::kMutate,
    .operations = admission::kCreate,
    .by_default = admission::Default::kOn,
    .create = &common::Make<StorageObjectInUseProtection>,
};

}  // namespace portcullis::plugins::storage_object_in_use_protection
