// Jobs: unless the user has chosen a selector, the job's pods are told by its uid
// (Kubernetes docs: Jobs, "Specifying your own Pod selector").

#include "registry/default_strategy.h"
#include "registry/strategies/strategies.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kControllerUid = "batch.kubernetes.io/controller-uid";
constexpr std::string_view kJobName = "batch.kubernetes.io/job-name";
constexpr std::string_view kLegacyControllerUid = "controller-uid";
constexpr std::string_view kLegacyJobName = "job-name";

class Jobs final : public DefaultStrategy {
 public:
  Jobs() : DefaultStrategy({.has_status = true, .counts_generation = true}) {}

  bool OrphansDependentsByDefault() const override { return true; }

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    if (object["spec"]["manualSelector"].AsBool()) return object;
    json::Arena& arena = ctx.arena;
    const json::Value name = object["metadata"]["name"];
    const json::Value uid = object["metadata"]["uid"];
    const std::pair<std::string_view, json::Value> labels[] = {{kControllerUid, uid},
                                                               {kJobName, name},
                                                               {kLegacyControllerUid, uid},
                                                               {kLegacyJobName, name}};
    for (const auto& [key, value] : labels) {
      object = json::SetPath(arena, object, {"spec", "template", "metadata", "labels", key}, value);
    }
    // What the defaults had copied of the template's labels before is completed likewise.
    for (const auto& [key, value] : labels) {
      object = json::SetPath(arena, object, {"metadata", "labels", key}, value);
    }
    return json::SetPath(arena, object, {"spec", "selector", "matchLabels", kControllerUid}, uid);
  }
};

class DaemonSets final : public DefaultStrategy {
 public:
  DaemonSets() : DefaultStrategy({.has_status = true, .counts_generation = true}) {}

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    return WithTemplateGeneration(ctx, object, 1);
  }

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    object = DefaultStrategy::PrepareForUpdate(ctx, object, old);
    if (!ctx.subresource.empty()) return object;
    std::int64_t number = 0;
    for (char c : old["metadata"]["annotations"][kTemplateGeneration].AsString()) {
      if (c >= '0' && c <= '9') number = number * 10 + (c - '0');
    }
    if (number == 0) return object;
    const bool changed = !(object["spec"]["template"] == old["spec"]["template"]);
    return WithTemplateGeneration(ctx, object, changed ? number + 1 : number);
  }

 private:
  static constexpr std::string_view kTemplateGeneration =
      "deprecated.daemonset.template.generation";

  static json::Value WithTemplateGeneration(const Context& ctx, json::Value object,
                                            std::int64_t number) {
    return json::SetPath(ctx.arena, object, {"metadata", "annotations", kTemplateGeneration},
                         json::String(ctx.arena, std::to_string(number)));
  }
};

}  // namespace

std::unique_ptr<Strategy> MakeJobs() { return std::make_unique<Jobs>(); }
std::unique_ptr<Strategy> MakeDaemonSets() { return std::make_unique<DaemonSets>(); }

}  // namespace portcullis::registry
