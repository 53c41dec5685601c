// SPDX-License-Identifier: Apache-2.0

#include "webhook/static_manifests.h"

#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "registry/admission/webhook_configuration_validation.h"

namespace portcullis::webhook {
namespace {

// Without a cluster there are no services to call.
base::Status CheckClients(json::Value object, const std::string& path) {
  for (const json::Value webhook : object["webhooks"].elements()) {
    const json::Value client = webhook["clientConfig"];
    const bool has_service = !client["service"].is_null();
    if (!has_service && !client["url"].AsString().empty()) continue;
    return base::ConfigError(base::StrCat(
        "webhook ", base::GoQuote(webhook["name"].AsString()), " in ",
        base::GoQuote(object["metadata"]["name"].AsString()), " (file ", base::GoQuote(path), "): ",
        has_service ? "clientConfig.service is not supported for static manifests; use "
                      "clientConfig.url instead"
                    : "clientConfig.url is required for static manifests"));
  }
  return base::OkStatus();
}

admission::ManifestKind KindOf(HookType type) {
  const bool mutating = type == HookType::kMutating;
  const auto kind =
      mutating ? registry::WebhookKind::kMutating : registry::WebhookKind::kValidating;
  return {.name = mutating ? "MutatingWebhookConfiguration" : "ValidatingWebhookConfiguration",
          .validate =
              [kind](json::Value object, api::FieldErrors& errors) {
                registry::ValidateWebhookConfiguration(object, {kind}, errors);
              },
          .check = &CheckClients};
}

}  // namespace

base::Result<Hooks> CompileManifests(const std::vector<admission::ManifestFile>& files,
                                     HookType type, const HookCompiler& compiler) {
  admission::ManifestLoader loader({KindOf(type)});
  TRY(loader.Load(files));
  Hooks hooks;
  for (const auto& [name, object] : loader.objects(0)) {
    const Hooks more = CompileConfiguration(compiler, object, "manifest/");
    hooks.insert(hooks.end(), more.begin(), more.end());
  }
  return hooks;
}

base::Result<std::unique_ptr<StaticManifests>> StaticManifests::Create(
    const admission::PluginContext& context, const std::string& directory, HookType type,
    const HookCompiler& compiler) {
  std::unique_ptr<StaticManifests> manifests(new StaticManifests);
  auto take = [self = manifests.get(), type,
               compiler](const std::vector<admission::ManifestFile>& files) -> base::Status {
    Hooks hooks = TRY(CompileManifests(files, type, compiler));
    self->hooks_.Set(std::make_shared<const Hooks>(std::move(hooks)));
    return base::OkStatus();
  };
  auto followed = admission::ManifestDirectory::Create(context, directory, std::move(take));
  if (!followed.ok()) {
    return base::ConfigError(base::StrCat("failed to load static webhook manifests from ",
                                          base::GoQuote(directory), ": ",
                                          followed.status().message()));
  }
  manifests->directory_ = *std::move(followed);
  return manifests;
}

std::shared_ptr<const Hooks> StaticManifests::Get() const {
  directory_->Refresh();
  return hooks_.Get();
}

}  // namespace portcullis::webhook
