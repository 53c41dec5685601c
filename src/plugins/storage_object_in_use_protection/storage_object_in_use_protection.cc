// SPDX-License-Identifier: Apache-2.0

#include "plugins/storage_object_in_use_protection/storage_object_in_use_protection.h"

#include "plugins/common/finalizers.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::storage_object_in_use_protection {
namespace {

struct Protected {
  std::string_view group;
  std::string_view resource;
  std::string_view finalizer;
  std::string_view fact;  // of the releases that protect it; "" for all
};
constexpr Protected kProtected[] = {
    {"", "persistentvolumes", "kubernetes.io/pv-protection", ""},
    {"", "persistentvolumeclaims", "kubernetes.io/pvc-protection", ""},
    {"storage.k8s.io", "volumeattributesclasses", "kubernetes.io/vac-protection",
     "StorageProtectsVolumeAttributesClasses"},
};

class StorageObjectInUseProtection final : public admission::Plugin {
 public:
  explicit StorageObjectInUseProtection(const admission::PluginContext& context) {
    for (const Protected& rule : kProtected) {
      if (rule.fact.empty() || context.release->Has(rule.fact)) rules_.push_back(&rule);
    }
  }

  base::Status Mutate(admission::Request& request) const override {
    for (const Protected* each : rules_) {
      const Protected& rule = *each;
      if (!request.Is(rule.group, rule.resource)) continue;
      common::AddFinalizer(request, rule.finalizer);
      return base::OkStatus();
    }
    return base::OkStatus();
  }

 private:
  std::vector<const Protected*> rules_;  // of the release
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "StorageObjectInUseProtection",
    .summary = "protects volumes and claims in use by finalizers",
    .phases = admission::kMutate,
    .operations = admission::kCreate,
    .resources = "persistentvolumes persistentvolumeclaims volumeattributesclasses.storage.k8s.io",
    .by_default = admission::Default::kOn,
    .create = &common::Make<StorageObjectInUseProtection>,
    .since_minor = 10,
};

}  // namespace portcullis::plugins::storage_object_in_use_protection
