// SPDX-License-Identifier: Apache-2.0

#include "plugins/pod_toleration_restriction/pod_toleration_restriction_config.h"

#include <string_view>

#include "admission/config_format.h"
#include "api/field_error.h"
#include "api/field_path.h"
#include "api/named_value.h"
#include "api/selector/label_selector.h"
#include "base/strings.h"

namespace portcullis::plugins::pod_toleration_restriction {
namespace {

constexpr admission::ConfigKind kKinds[] = {
    {"podtolerationrestriction.admission.k8s.io/v1alpha1", "Configuration"}};
// Kubernetes passes over unknown fields here; a whitelist that is misspelt would allow everything.
constexpr admission::ConfigFormat kFormat = {
    .scheme = "k8s.io/kubernetes/plugin/pkg/admission/podtolerationrestriction/config.go:32",
    .kinds = kKinds,
    .types = R"(
v1alpha1.Configuration: default []v1.Toleration, whitelist []v1.Toleration
v1.Toleration: key string, operator v1.TolerationOperator=string, value string, effect v1.TaintEffect=string, tolerationSeconds int64)",
};

void CheckToleration(json::Value toleration, const api::FieldPath& path, api::FieldErrors& errors) {
  std::string_view key = toleration["key"].AsString();
  std::string_view op = toleration["operator"].AsString();
  std::string_view effect = toleration["effect"].AsString();
  std::string_view value = toleration["value"].AsString();
  if (!key.empty()) {
    for (const std::string& problem : api::IsQualifiedName(key)) {
      errors.push_back(api::Invalid(path.Child("key"), key, problem));
    }
  } else if (op != "Exists") {
    errors.push_back(api::Invalid(path.Child("operator"), op,
                                  "operator must be Exists when `key` is empty, which means "
                                  "\"match all values and all keys\""));
  }
  if (!toleration["tolerationSeconds"].is_null() && effect != "NoExecute") {
    errors.push_back(api::Invalid(path.Child("effect"), effect,
                                  "effect must be 'NoExecute' when `tolerationSeconds` is set"));
  }
  if (op == "Equal" || op.empty()) {
    const std::vector<std::string> problems = api::IsValidLabelValue(value);
    if (!problems.empty()) {
      errors.push_back(api::Invalid(path.Child("operator"), value, base::Join(problems, ";")));
    }
  } else if (op == "Exists") {
    if (!value.empty()) {
      errors.push_back(api::Invalid(path.Child("operator"), toleration,
                                    "value must be empty when `operator` is 'Exists'"));
    }
  } else {
    errors.push_back(
        api::NotSupported(path.Child("operator"), api::NamedValue(op), {"Equal", "Exists"}));
  }
  if (!effect.empty() && effect != "NoSchedule" && effect != "PreferNoSchedule" &&
      effect != "NoExecute") {
    errors.push_back(api::NotSupported(path.Child("effect"), api::NamedValue(effect),
                                       {"NoExecute", "NoSchedule", "PreferNoSchedule"}));
  }
}

void CheckTolerations(const json::Document& document, std::string_view name,
                      api::FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& toleration : document[name].elements()) {
    CheckToleration(toleration,
                    api::FieldPath("podtolerationrestriction").Child(name).Index(index++), errors);
  }
}

}  // namespace

base::Result<PodTolerationRestrictionConfig> ParseConfig(const admission::PluginContext& context) {
  if (context.config == nullptr) return PodTolerationRestrictionConfig();
  const json::Document& document = context.config->document;
  TRY(admission::CheckConfig(*context.config, kFormat, *context.release));
  api::FieldErrors errors;
  CheckTolerations(document, "default", errors);
  CheckTolerations(document, "whitelist", errors);
  if (!errors.empty()) {
    std::vector<std::string> texts;
    for (const api::FieldError& error : errors) texts.push_back(error.ToString());
    return base::ConfigError(base::StrCat("invalid config: [", base::Join(texts, " "), "]"));
  }
  return PodTolerationRestrictionConfig(document);
}

}  // namespace portcullis::plugins::pod_toleration_restriction
