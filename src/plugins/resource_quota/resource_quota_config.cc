// SPDX-License-Identifier: Apache-2.0

#include "plugins/resource_quota/resource_quota_config.h"

#include "admission/config_format.h"
#include "api/field_error.h"
#include "api/field_path.h"

namespace portcullis::plugins::resource_quota {
namespace {

constexpr admission::ConfigKind kKinds[] = {
    {"apiserver.config.k8s.io/v1", "ResourceQuotaConfiguration"},
    {"resourcequota.admission.k8s.io/v1beta1", "Configuration"},
    {"resourcequota.admission.k8s.io/v1alpha1", "Configuration"}};
constexpr admission::ConfigFormat kFormat = {
    .scheme = "k8s.io/apiserver/pkg/admission/plugin/resourcequota/config.go:31",
    .kinds = kKinds,
    .types = R"(
v1.Configuration: limitedResources []v1.LimitedResource
v1.LimitedResource: apiGroup string, resource string, matchContains []string, matchScopes []v1.ScopedResourceSelectorRequirement
v1.ScopedResourceSelectorRequirement: scopeName v1.ResourceQuotaScope=string, operator v1.ScopeSelectorOperator=string, values []string)",
    .strict_since = 32,
};

LimitedResource ReadLimited(json::Value entry) {
  LimitedResource limited;
  limited.api_group = entry["apiGroup"].AsString();
  limited.resource = entry["resource"].AsString();
  for (const json::Value& text : entry["matchContains"].elements()) {
    limited.match_contains.emplace_back(text.AsString());
  }
  for (const json::Value& scope : entry["matchScopes"].elements()) {
    limited.match_scopes.push_back(api::quota::ReadScopeSelector(scope));
  }
  return limited;
}

}  // namespace

base::Result<std::vector<LimitedResource>> ParseConfig(const admission::PluginContext& context) {
  std::vector<LimitedResource> out;
  if (context.config == nullptr) return out;
  TRY(admission::CheckConfig(*context.config, kFormat, *context.release));
  api::FieldErrors errors;
  for (const json::Value& entry : context.config->document["limitedResources"].elements()) {
    out.push_back(ReadLimited(entry));
    if (out.back().resource.empty()) {
      errors.push_back(api::Required(
          api::FieldPath("limitedResources").Index(out.size() - 1).Child("resource"), ""));
    }
  }
  if (!errors.empty()) return base::ConfigError(api::AggregateText(errors));
  return out;
}

}  // namespace portcullis::plugins::resource_quota
