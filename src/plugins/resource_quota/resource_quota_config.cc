#include "plugins/resource_quota/resource_quota_config.h"

#include "api/field_error.h"
#include "api/field_path.h"
#include "plugins/common/config_reader.h"

namespace portcullis::plugins::resource_quota {
namespace {

using common::ConfigKind;
using common::ConfigReader;

constexpr ConfigKind kKinds[] = {{"apiserver.config.k8s.io/v1", "ResourceQuotaConfiguration"},
                                 {"resourcequota.admission.k8s.io/v1", "Configuration"},
                                 {"resourcequota.admission.k8s.io/v1beta1", "Configuration"},
                                 {"resourcequota.admission.k8s.io/v1alpha1", "Configuration"}};

LimitedResource ReadLimited(ConfigReader& reader) {
  LimitedResource limited;
  limited.api_group = reader.String("apiGroup");
  limited.resource = reader.String("resource");
  limited.match_contains = reader.Strings("matchContains");
  for (ConfigReader& scope : reader.Children("matchScopes")) {
    scope.String("scopeName");
    scope.String("operator");
    scope.Strings("values");
    scope.RefuseOthers();
    limited.match_scopes.push_back(api::quota::ReadScopeSelector(scope.value()));
  }
  reader.RefuseOthers();
  return limited;
}

}  // namespace

base::Result<std::vector<LimitedResource>> ParseConfig(const admission::PluginConfig* config) {
  std::vector<LimitedResource> out;
  if (config == nullptr) return out;
  ConfigReader root(TRY(common::DecodeConfig(*config, kKinds)));
  api::FieldErrors errors;
  for (ConfigReader& reader : root.Children("limitedResources")) {
    out.push_back(ReadLimited(reader));
    if (out.back().resource.empty()) {
      errors.push_back(api::Required(
          api::FieldPath("limitedResources").Index(out.size() - 1).Child("resource"), ""));
    }
  }
  root.RefuseOthers();
  TRY(root.Finish());
  if (!errors.empty()) return base::ConfigError(api::AggregateText(errors));
  return out;
}

}  // namespace portcullis::plugins::resource_quota
