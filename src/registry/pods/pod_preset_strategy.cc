// SPDX-License-Identifier: Apache-2.0

// PodPresets (pkg/apis/settings/validation up to v1.19, docs/legacy.md). Once made, they do not
// change but for their metadata.

#include "json/edit.h"
#include "registry/default_strategy.h"
#include "registry/kind_table.h"
#include "registry/pods/pod_parts.h"

namespace portcullis::registry {
namespace {

void ValidatePodPreset(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckLabelSelector(spec["selector"], path.Child("selector"), errors);
  if (spec["env"].is_null() && spec["envFrom"].is_null() && spec["volumeMounts"].is_null() &&
      spec["volumes"].is_null()) {
    errors.push_back(api::Required(path.Child("volumes", "env", "envFrom", "volumeMounts"),
                                   "must specify at least one"));
  }
  PodContext pod{.ctx = ctx, .spec = spec};
  CheckVolumes(pod, {}, path.Child("volumes"), errors);
  CheckEnv(spec["env"], path.Child("env"), errors);
  CheckEnvFrom(spec["envFrom"], path.Child("envFrom"), errors);
  CheckVolumeMounts(spec, pod, path.Child("volumeMounts"), errors);
}

class PodPresets final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    object = DefaultStrategy::PrepareForUpdate(ctx, object, old);
    return json::With(ctx.arena, object, "spec", old["spec"]);
  }
};

}  // namespace

void AddPodPresetStrategy(KindTable& table) {
  table.Add({.group = "settings.k8s.io",
             .resource = "podpresets",
             .validate = &ValidatePodPreset,
             .traits = {.counts_generation = true},
             .make = &Make<PodPresets>});
}

}  // namespace portcullis::registry
