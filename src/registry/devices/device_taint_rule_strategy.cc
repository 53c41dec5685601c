// SPDX-License-Identifier: Apache-2.0

// DeviceTaintRules (pkg/apis/resource/validation, pkg/registry/resource/devicetaintrule).

#include "base/clock.h"
#include "registry/devices/device_checks.h"
#include "registry/kind_table.h"
#include "registry/validation/conditions.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMostRuleConditions = 8;

void CheckRule(json::Value spec, json::Value old, FieldErrors& errors) {
  const json::Value selector = spec["deviceSelector"];
  const FieldPath path("spec", "deviceSelector");
  if (selector.Has("driver")) CheckDriverName(selector["driver"], path.Child("driver"), errors);
  if (selector.Has("pool")) CheckPoolName(selector["pool"], path.Child("pool"), errors);
  if (selector.Has("device")) {
    CheckDnsLabel(selector["device"].AsString(), path.Child("device"), errors);
  }
  CheckDeviceTaint(spec["taint"], old["taint"], FieldPath("spec", "taint"), errors);
}

void ValidateRule(const Context&, json::Value object, FieldErrors& errors) {
  CheckRule(object["spec"], {}, errors);
}

void ValidateRuleUpdate(const Context& ctx, json::Value object, json::Value old,
                        FieldErrors& errors) {
  if (ctx.subresource.empty()) return CheckRule(object["spec"], old["spec"], errors);
  const json::Value conditions = object["status"]["conditions"];
  const FieldPath path("status", "conditions");
  ValidateConditions(conditions, path, errors);
  CheckSize(conditions, kMostRuleConditions, path, errors);
}

class TaintRules final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  // A taint of another effect has been added now, unless the client says when.
  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    const json::Value taint = object["spec"]["taint"];
    const json::Value before = old["spec"]["taint"];
    if (ctx.subresource.empty() && !(taint["effect"] == before["effect"]) &&
        taint["timeAdded"] == before["timeAdded"]) {
      object = json::SetPath(ctx.arena, object, {"spec", "taint", "timeAdded"},
                             json::String(ctx.arena, base::FormatTime(ctx.clock.Now())));
    }
    return DefaultStrategy::PrepareForUpdate(ctx, object, old);
  }
};

}  // namespace

void AddDeviceTaintRuleStrategy(KindTable& table) {
  table.Add({.group = "resource.k8s.io",
             .resource = "devicetaintrules",
             .validate = &ValidateRule,
             .validate_update = &ValidateRuleUpdate,
             .traits = {.counts_generation = true,
                        .returns_deleted = true,
                        .status_keeps = StatusKeeps::kMetadata},
             .make = &Make<TaintRules>});
}

}  // namespace portcullis::registry
