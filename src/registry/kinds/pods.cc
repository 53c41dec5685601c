// Pods: status belongs to the kubelet, and a pod that runs is deleted with a grace period
// (Kubernetes docs: Pod Lifecycle).

#include "api/quota/pod_resources.h"
#include "registry/app_armor.h"
#include "registry/default_strategy.h"
#include "registry/kind_table.h"
#include "registry/pod_warnings.h"
#include "registry/template_warnings.h"
#include "registry/validation/pod_parts.h"

namespace portcullis::registry {
namespace {

std::string_view QosText(json::Value pod) {
  switch (api::quota::QosOf(pod)) {
    case api::quota::QosClass::kGuaranteed:
      return "Guaranteed";
    case api::quota::QosClass::kBurstable:
      return "Burstable";
    case api::quota::QosClass::kBestEffort:
      break;
  }
  return "BestEffort";
}

class Pods final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    object = ReadAppArmorAnnotations(ctx.arena, json::Without(ctx.arena, object, "status"));
    const json::Value status =
        json::MakeObject(ctx.arena, {{"phase", json::Value::StringView("Pending")},
                                     {"qosClass", json::Value::StringView(QosText(object))}});
    return json::With(ctx.arena, object, "status", status);
  }

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    if (ctx.subresource == "status") {
      object = OnlyStatus(ctx.arena, object, old);
      if (!object["status"].Has("qosClass") && old["status"].Has("qosClass")) {
        object =
            json::SetPath(ctx.arena, object, {"status", "qosClass"}, old["status"]["qosClass"]);
      }
      return object;
    }
    return DefaultStrategy::PrepareForUpdate(ctx, object, old);
  }

  std::optional<std::int64_t> GracePeriod(const Context&, json::Value object,
                                          const DeleteRequest& request) const override {
    std::int64_t period = request.grace_period_seconds.value_or(
        object["spec"]["terminationGracePeriodSeconds"].AsInt());
    const std::string_view phase = object["status"]["phase"].AsString();
    // Nothing runs that would need time to stop.
    if (object["spec"]["nodeName"].AsString().empty() || phase == "Failed" ||
        phase == "Succeeded") {
      period = 0;
    }
    if (period < 0) period = 1;
    return period;
  }
};

void WarnOfPod(const Context& ctx, json::Value object, json::Value old,
               std::vector<std::string>& warnings) {
  if (old.is_null()) WarnOfPodName(ctx, object, warnings);
  PodWarnings(object["metadata"], object["spec"], api::FieldPath(), warnings);
}

}  // namespace

void AddPods(KindTable& table) {
  table.Add({.group = "",
             .resource = "pods",
             .validate = &ValidatePod,
             .validate_update = &ValidatePodUpdate,
             .warn = &WarnOfPod,
             .traits = {.counts_generation = true, .returns_deleted = true},
             .make = &Make<Pods>});
  table.Add(
      {.group = "",
       .resource = "podtemplates",
       .traits = {.counts_generation = true, .returns_deleted = true, .created_by_put = true}});
}

}  // namespace portcullis::registry
