// ServiceAccounts name the secrets that their pods may mount: of a reference only the name counts.

#include "registry/default_strategy.h"
#include "registry/strategies/strategies.h"

namespace portcullis::registry {
namespace {

json::Value NamesOnly(json::Arena& arena, json::Value account) {
  const json::Value secrets = account["secrets"];
  if (secrets.empty()) return account;
  json::ArrayBuilder names(arena);
  for (const json::Value& secret : secrets.elements()) {
    json::ObjectBuilder name(arena);
    if (const json::Value* value = secret.Find("name")) name.Set("name", *value);
    names.Add(name.Build());
  }
  return json::With(arena, account, "secrets", names.Build());
}

class ServiceAccounts final : public DefaultStrategy {
 public:
  ServiceAccounts() : DefaultStrategy({.returns_deleted = true}) {}

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    return NamesOnly(ctx.arena, DefaultStrategy::PrepareForCreate(ctx, object));
  }
  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    return NamesOnly(ctx.arena, DefaultStrategy::PrepareForUpdate(ctx, object, old));
  }
};

}  // namespace

std::unique_ptr<Strategy> MakeServiceAccounts() { return std::make_unique<ServiceAccounts>(); }

}  // namespace portcullis::registry
