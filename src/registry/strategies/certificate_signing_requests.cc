// CertificateSigningRequests carry who has made them; nobody can say that for himself
// (Kubernetes docs: Certificates and Certificate Signing Requests).

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
      const json::Value conditions = object["status"]["conditions"];
      object = OnlyStatus(ctx.arena, old, object);
      object = KeepStatus(ctx.arena, object, old);
      if (conditions.is_null()) {
        return json::RemovePath(ctx.arena, object, {"status", "conditions"});
      }
      return json::SetPath(ctx.arena, object, {"status", "conditions"}, conditions);
    }
    object = DefaultStrategy::PrepareForUpdate(ctx, object, old);
    return json::With(ctx.arena, object, "spec", old["spec"]);
  }
};

}  // namespace

std::unique_ptr<Strategy> MakeCertificateSigningRequests() { return std::make_unique<Requests>(); }

}  // namespace portcullis::registry
