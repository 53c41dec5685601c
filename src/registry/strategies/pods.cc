// Pods: status belongs to the kubelet, and a pod that runs is deleted with a grace period
// (Kubernetes docs: Pod Lifecycle).

#include "registry/default_strategy.h"
#include "registry/strategies/strategies.h"

namespace portcullis::registry {
namespace {

// PodQOSClass as documented under "Pod Quality of Service Classes".
struct QosCounter {
  bool any = false;
  bool guaranteed = true;

  void Count(json::Value container) {
    const json::Value requests = container["resources"]["requests"];
    const json::Value limits = container["resources"]["limits"];
    for (std::string_view name : {"cpu", "memory"}) {
      const json::Value* request = requests.Find(name);
      const json::Value* limit = limits.Find(name);
      if (request != nullptr || limit != nullptr) any = true;
      if (limit == nullptr || (request != nullptr && !(*request == *limit))) guaranteed = false;
    }
  }
  std::string_view Class() const {
    if (!any) return "BestEffort";
    return guaranteed ? "Guaranteed" : "Burstable";
  }
};

class Pods final : public DefaultStrategy {
 public:
  Pods() : DefaultStrategy({.has_status = true, .counts_generation = true}) {}

  bool ReturnsDeletedObject() const override { return true; }

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    QosCounter qos;
    for (std::string_view list : {"initContainers", "containers"}) {
      for (const json::Value& container : object["spec"][list].elements()) qos.Count(container);
    }
    const json::Value status =
        json::MakeObject(ctx.arena, {{"phase", json::Value::StringView("Pending")},
                                     {"qosClass", json::Value::StringView(qos.Class())}});
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

}  // namespace

std::unique_ptr<Strategy> MakePods() { return std::make_unique<Pods>(); }

}  // namespace portcullis::registry
