// SPDX-License-Identifier: Apache-2.0

// MutatingWebhookConfigurations and ValidatingWebhookConfigurations.

#include <algorithm>
#include <vector>

#include "registry/admission/configurations.h"
#include "registry/admission/static_names.h"
#include "registry/admission/webhook_configuration_validation.h"
#include "registry/kind_table.h"
#include "registry/validation/sent_values.h"

namespace portcullis::registry {
namespace {

// With the caBundles that the client has sent empty.
json::Value WithSentBundles(const Context& ctx, json::Value configuration) {
  const json::Value all = configuration["webhooks"];
  SentElements sent(ctx.sent["webhooks"]);
  std::vector<json::Value> webhooks;
  for (const json::Value& webhook : all.elements()) {
    const json::Value given =
        sent.Find(webhooks.size(), webhook["name"])["clientConfig"]["caBundle"];
    const bool adds = given.is_string() && given.AsString().empty() &&
                      webhook.Has("clientConfig") && !webhook["clientConfig"].Has("caBundle");
    webhooks.push_back(adds ? json::SetPath(ctx.arena, webhook, {"clientConfig", "caBundle"}, given)
                            : webhook);
  }
  const bool same = std::equal(webhooks.begin(), webhooks.end(), all.elements().begin(),
                               [](json::Value a, json::Value b) { return a.IsSameAs(b); });
  return same ? configuration
              : json::With(ctx.arena, configuration, "webhooks",
                           json::MakeArray(ctx.arena, webhooks));
}

template <WebhookKind kKind>
class Webhooks final : public Configurations {
 public:
  using Configurations::Configurations;

  // To Go, a caBundle that is empty differs from none: it counts as a change, and is stored.
  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    const json::Value counted =
        Configurations::PrepareForUpdate(ctx, WithSentBundles(ctx, object), old);
    if (!object.Has("webhooks")) return counted;
    return json::With(ctx.arena, counted, "webhooks", object["webhooks"]);
  }

  json::Value Complete(const Context& ctx, json::Value object) const override {
    return WithSentBundles(ctx, object);
  }

  void Validate(const Context& ctx, json::Value object, api::FieldErrors& errors) const override {
    ValidateWebhookConfiguration(object, CheckOf(ctx), errors);
    CheckStaticName(ctx, object, errors);
  }

  void ValidateUpdate(const Context& ctx, json::Value object, json::Value old,
                      api::FieldErrors& errors) const override {
    ValidateWebhookConfigurationUpdate(object, old, CheckOf(ctx), errors);
  }

 private:
  static WebhookCheck CheckOf(const Context& ctx) {
    const bool is_old = ctx.resource.version == "v1beta1";
    return {kKind, ctx.expressions, is_old ? WebhookVersion::kV1beta1 : WebhookVersion::kV1,
            ctx.release};
  }
};

}  // namespace

void AddWebhookConfigurationStrategy(KindTable& table) {
  table.Add(
      ConfigurationRow<Webhooks<WebhookKind::kMutating>>("mutatingwebhookconfigurations", true));
  table.Add(ConfigurationRow<Webhooks<WebhookKind::kValidating>>("validatingwebhookconfigurations",
                                                                 true));
}

}  // namespace portcullis::registry
