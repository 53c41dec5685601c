// SPDX-License-Identifier: Apache-2.0

#include "plugins/default_storage_class/default_storage_class.h"

#include <string>

#include "plugins/common/default_class.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::default_storage_class {
namespace {

class DefaultStorageClass final : public admission::Plugin {
 public:
  explicit DefaultStorageClass(const admission::PluginContext& context) : reader_(context.reader) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!request.Is("", "persistentvolumeclaims")) return base::OkStatus();
    const json::Value claim = request.object();
    if (!claim["spec"]["storageClassName"].is_null() ||
        claim["metadata"]["annotations"].Has("volume.beta.kubernetes.io/storage-class")) {
      return base::OkStatus();
    }
    const std::string name =
        common::DefaultClass(reader_, "storage.k8s.io", "storageclasses",
                             {"storageclass.kubernetes.io/is-default-class",
                              "storageclass.beta.kubernetes.io/is-default-class"});
    if (name.empty()) return base::OkStatus();
    json::Arena& arena = request.arena();
    request.set_object(
        json::SetPath(arena, claim, {"spec", "storageClassName"}, json::String(arena, name)));
    return base::OkStatus();
  }

 private:
  const store::Reader* reader_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "DefaultStorageClass",
    .summary = "gives new claims the default storage class",
    .phases = admission::kMutate,
    .operations = admission::kCreate,
    .resources = "persistentvolumeclaims",
    .reads = "storageclasses.storage.k8s.io",
    .by_default = admission::Default::kOn,
    .create = &common::Make<DefaultStorageClass>,
};

}  // namespace portcullis::plugins::default_storage_class
