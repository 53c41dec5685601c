// PersistentVolumes and their claims begin as pending; what binds them is a controller.

#include "base/clock.h"
#include "registry/default_strategy.h"
#include "registry/strategies/strategies.h"

namespace portcullis::registry {
namespace {

constexpr Traits kTraits = {.has_status = true, .returns_deleted = true};

json::Value Pending() { return json::Value::StringView("Pending"); }

// What a volume may be filled from by dataSource; dataSourceRef takes anything (KEP-1495).
bool IsClaimOrSnapshot(json::Value source) {
  const std::string_view group = source["apiGroup"].AsString();
  const std::string_view kind = source["kind"].AsString();
  return (kind == "PersistentVolumeClaim" && group.empty()) ||
         (kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io");
}

// dataSource and dataSourceRef say the same, unless the reference leads to another namespace.
json::Value NormalizeDataSources(json::Arena& arena, json::Value spec) {
  const json::Value reference = spec["dataSourceRef"];
  json::Value source = spec["dataSource"];
  if (source.is_object() && !reference.is_object() && !IsClaimOrSnapshot(source)) {
    spec = json::Without(arena, spec, "dataSource");
    source = json::Value();
  }
  if (source.is_object() && !reference.is_object()) {
    return json::With(arena, spec, "dataSourceRef", source);
  }
  if (reference.is_object() && !source.is_object() && reference["namespace"].AsString().empty()) {
    return json::With(arena, spec, "dataSource", json::Without(arena, reference, "namespace"));
  }
  return spec;
}

class Claims final : public DefaultStrategy {
 public:
  Claims() : DefaultStrategy(kTraits) {}

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = json::With(ctx.arena, object, "spec", NormalizeDataSources(ctx.arena, object["spec"]));
    return json::With(ctx.arena, object, "status",
                      json::MakeObject(ctx.arena, {json::Member("phase", Pending())}));
  }
};

class Volumes final : public DefaultStrategy {
 public:
  Volumes() : DefaultStrategy(kTraits) {}

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    const std::string now = base::FormatTime(ctx.clock.Now());
    return json::With(
        ctx.arena, object, "status",
        json::MakeObject(ctx.arena, {{"phase", Pending()},
                                     {"lastPhaseTransitionTime", json::String(ctx.arena, now)}}));
  }
};

}  // namespace

std::unique_ptr<Strategy> MakePersistentVolumeClaims() { return std::make_unique<Claims>(); }
std::unique_ptr<Strategy> MakePersistentVolumes() { return std::make_unique<Volumes>(); }

}  // namespace portcullis::registry
