// PersistentVolumes and their claims begin as pending; what binds them is a controller.

#include "base/clock.h"
#include "registry/default_strategy.h"
#include "registry/strategies/strategies.h"

namespace portcullis::registry {
namespace {

constexpr Traits kTraits = {.has_status = true, .returns_deleted = true};

json::Value Pending() { return json::Value::StringView("Pending"); }

class Claims final : public DefaultStrategy {
 public:
  Claims() : DefaultStrategy(kTraits) {}

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
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
