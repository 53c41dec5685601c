// SPDX-License-Identifier: Apache-2.0

// ServiceAccounts name the secrets that their pods may mount: of a reference only the name counts.

#include "base/strings.h"
#include "registry/default_strategy.h"
#include "registry/kind_table.h"

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
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    return NamesOnly(ctx.arena, DefaultStrategy::PrepareForCreate(ctx, object));
  }
  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    return NamesOnly(ctx.arena, DefaultStrategy::PrepareForUpdate(ctx, object, old));
  }
};

// Who keeps the annotation has been warned of it before.
void WarnOfServiceAccount(const Context&, json::Value object, json::Value old,
                          std::vector<std::string>& warnings) {
  constexpr std::string_view kEnforce = "kubernetes.io/enforce-mountable-secrets";
  if (!object["metadata"]["annotations"].Has(kEnforce)) return;
  if (old["metadata"]["annotations"].Has(kEnforce)) return;
  warnings.push_back(base::StrCat("metadata.annotations[", kEnforce,
                                  "]: deprecated in v1.32+; prefer separate namespaces to isolate "
                                  "access to mounted secrets"));
}

}  // namespace

void AddServiceAccountStrategy(KindTable& table) {
  table.Add({.group = "",
             .resource = "serviceaccounts",
             .warn = &WarnOfServiceAccount,
             .traits = {.returns_deleted = true},
             .metadata = {.update = "UF"},
             .make = &Make<ServiceAccounts>});
}

}  // namespace portcullis::registry
