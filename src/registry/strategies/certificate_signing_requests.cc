// CertificateSigningRequests carry who has made them; nobody can say that for himself
// (Kubernetes docs: Certificates and Certificate Signing Requests).

#include "base/clock.h"
#include "registry/default_strategy.h"
#include "registry/strategies/strategies.h"

namespace portcullis::registry {
namespace {

class Requests final : public DefaultStrategy {
 public:
  Requests() : DefaultStrategy({.has_status = true}) {}

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    json::ObjectBuilder spec(ctx.arena, object["spec"]);
    const json::Value user = api::UserInfoToJson(ctx.arena, ctx.user);
    for (std::string_view name : {"username", "uid", "groups", "extra"}) {
      if (const json::Value* value = user.Find(name)) {
        spec.Set(name, *value);
      } else {
        spec.Remove(name);
      }
    }
    return json::With(ctx.arena, object, "spec", spec.Build());
  }

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    if (ctx.subresource == "approval") {
      // Approving changes conditions and nothing else.
      const json::Value conditions = WithTimes(ctx, object["status"]["conditions"], old);
      object = OnlyStatus(ctx.arena, old, object);
      object = KeepStatus(ctx.arena, object, old);
      if (conditions.is_null()) {
        return json::RemovePath(ctx.arena, object, {"status", "conditions"});
      }
      return json::SetPath(ctx.arena, object, {"status", "conditions"}, conditions);
    }
    object = DefaultStrategy::PrepareForUpdate(ctx, object, old);
    if (ctx.subresource == "status" && !object["status"]["conditions"].is_null()) {
      object = json::SetPath(ctx.arena, object, {"status", "conditions"},
                             WithTimes(ctx, object["status"]["conditions"], old));
    }
    return json::With(ctx.arena, object, "spec", old["spec"]);
  }

 private:
  // When a condition was written and since when it holds, where the client does not say.
  static json::Value WithTimes(const Context& ctx, json::Value conditions, json::Value old) {
    if (conditions.is_null()) return conditions;
    const json::Value now = json::String(ctx.arena, base::FormatTime(ctx.clock.Now()));
    json::ArrayBuilder result(ctx.arena);
    for (json::Value condition : conditions.elements()) {
      json::Value since = now;
      for (const json::Value& before : old["status"]["conditions"].elements()) {
        if (before["type"] == condition["type"] && before["status"] == condition["status"]) {
          since = before["lastTransitionTime"];
        }
      }
      for (const auto& [name, time] :
           {std::pair<std::string_view, json::Value>{"lastUpdateTime", now},
            std::pair<std::string_view, json::Value>{"lastTransitionTime", since}}) {
        if (condition[name].is_null()) condition = json::With(ctx.arena, condition, name, time);
      }
      result.Add(condition);
    }
    return result.Build();
  }
};

}  // namespace

std::unique_ptr<Strategy> MakeCertificateSigningRequests() { return std::make_unique<Requests>(); }

}  // namespace portcullis::registry
