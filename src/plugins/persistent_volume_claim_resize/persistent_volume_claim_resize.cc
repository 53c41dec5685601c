// SPDX-License-Identifier: Apache-2.0

#include "plugins/persistent_volume_claim_resize/persistent_volume_claim_resize.h"

#include "admission/errors.h"
#include "api/quota/persistent_volume_claims.h"
#include "api/quota/resources.h"
#include "plugins/common/make.h"
#include "plugins/common/state.h"

namespace portcullis::plugins::persistent_volume_claim_resize {
namespace {

using api::quota::ReadQuantity;
using api::quota::StorageClassOf;

class PersistentVolumeClaimResize final : public admission::Plugin {
 public:
  explicit PersistentVolumeClaimResize(const admission::PluginContext& context)
      : reader_(context.reader) {}

  base::Status Validate(const admission::Request& request) const override {
    if (!request.Is("", "persistentvolumeclaims") || !Grows(request)) return base::OkStatus();
    if (request.old_object()["status"]["phase"].AsString() != "Bound") {
      return admission::Forbidden(request, "Only bound persistent volume claims can be expanded");
    }
    if (AllowsExpansion(StorageClassOf(request.object()), StorageClassOf(request.old_object()))) {
      return base::OkStatus();
    }
    return admission::Forbidden(request,
                                "only dynamically provisioned pvc can be resized and the "
                                "storageclass that provisions the pvc must support resize");
  }

 private:
  static bool Grows(const admission::Request& request) {
    auto storage = [](json::Value claim) {
      return ReadQuantity(claim.At({"spec", "resources", "requests", "storage"}));
    };
    return storage(request.object()) > storage(request.old_object());
  }

  bool AllowsExpansion(std::string_view new_class, std::string_view old_class) const {
    if (new_class.empty() || new_class != old_class) return false;
    const store::ObjectPtr found =
        common::Find(reader_, "storage.k8s.io", "storageclasses", "", new_class);
    return found != nullptr && found->document()["allowVolumeExpansion"].AsBool();
  }

  const store::Reader* reader_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "PersistentVolumeClaimResize",
    .summary = "claims may grow only if their storage class allows it",
    .phases = admission::kValidate,
    .operations = admission::kUpdate,
    .resources = "persistentvolumeclaims",
    .reads = "storageclasses.storage.k8s.io",
    .by_default = admission::Default::kOn,
    .create = &common::Make<PersistentVolumeClaimResize>,
    .since_minor = 8,
};

}  // namespace portcullis::plugins::persistent_volume_claim_resize
