// SPDX-License-Identifier: Apache-2.0

#include "plugins/pod_security/pod_security_config.h"

#include <functional>
#include <set>
#include <string_view>

#include "admission/config_format.h"
#include "api/field_error.h"
#include "api/field_path.h"
#include "api/selector/label_selector.h"
#include "base/strings.h"

namespace portcullis::plugins::pod_security {
namespace {

using policy::pod_security::LevelVersion;

constexpr admission::ConfigKind kKinds[] = {
    {"pod-security.admission.config.k8s.io/v1", "PodSecurityConfiguration"},
    {"pod-security.admission.config.k8s.io/v1beta1", "PodSecurityConfiguration"},
    {"pod-security.admission.config.k8s.io/v1alpha1", "PodSecurityConfiguration"}};
constexpr admission::ConfigFormat kFormat = {
    .scheme = "k8s.io/pod-security-admission/admission/api/scheme/scheme.go:31",
    .kinds = kKinds,
    .types = R"(
v1.PodSecurityConfiguration: defaults v1.PodSecurityDefaults, exemptions v1.PodSecurityExemptions
v1.PodSecurityDefaults: enforce string, enforce-version string, audit string, audit-version string, warn string, warn-version string
v1.PodSecurityExemptions: usernames []string, namespaces []string, runtimeClasses []string)",
};

void ReadMode(json::Value defaults, const std::string& mode, LevelVersion& out,
              std::vector<std::string>& errors) {
  std::string_view level = defaults[mode].AsString();
  if (!level.empty()) {
    if (auto parsed = policy::pod_security::ParseLevel(level)) {
      out.level = *parsed;
    } else {
      errors.push_back(base::StrCat(mode, ": ", policy::pod_security::kBadLevel));
    }
  }
  const std::string version_name = mode + "-version";
  std::string_view version = defaults[version_name].AsString();
  if (version.empty()) return;
  if (auto parsed = policy::pod_security::ParseVersion(version)) {
    out.version = *parsed;
  } else {
    errors.push_back(base::StrCat(version_name, ": ", policy::pod_security::kBadVersion));
  }
}

void CheckNames(const std::vector<std::string>& names, std::string_view field,
                const std::function<std::vector<std::string>(std::string_view)>& problems,
                api::FieldErrors& errors) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const api::FieldPath path = api::FieldPath("exemptions").Child(field).Index(i);
    for (const std::string& problem : problems(names[i])) {
      errors.push_back(api::Invalid(path, names[i], problem));
    }
    if (!seen.insert(names[i]).second) errors.push_back(api::Duplicate(path, names[i]));
  }
}

std::vector<std::string> Names(json::Value list) {
  std::vector<std::string> names;
  for (const json::Value& name : list.elements()) names.emplace_back(name.AsString());
  return names;
}

std::vector<std::string> UsernameProblems(std::string_view name) {
  if (name.empty()) return {"username must not be empty"};
  return {};
}

}  // namespace

base::Result<PodSecurityConfig> ParseConfig(const admission::PluginContext& context) {
  PodSecurityConfig out;
  if (context.config == nullptr || context.config->text.empty()) return out;
  TRY(admission::CheckConfig(*context.config, kFormat, *context.release));
  const json::Document& document = context.config->document;
  std::vector<std::string> errors;
  const json::Value defaults = document["defaults"];
  ReadMode(defaults, "enforce", out.defaults.enforce, errors);
  ReadMode(defaults, "audit", out.defaults.audit, errors);
  ReadMode(defaults, "warn", out.defaults.warn, errors);
  const json::Value exemptions = document["exemptions"];
  out.exempt_usernames = Names(exemptions["usernames"]);
  out.exempt_namespaces = Names(exemptions["namespaces"]);
  out.exempt_runtime_classes = Names(exemptions["runtimeClasses"]);
  if (!errors.empty()) {
    return base::ConfigError("PodSecurity configuration error: " + api::AggregateText(errors));
  }
  api::FieldErrors invalid;
  CheckNames(out.exempt_namespaces, "namespaces", &api::IsDns1123Label, invalid);
  CheckNames(out.exempt_runtime_classes, "runtimeClasses", &api::IsDns1123Subdomain, invalid);
  CheckNames(out.exempt_usernames, "usernames", &UsernameProblems, invalid);
  if (!invalid.empty()) {
    return base::ConfigError("PodSecurity invalid: " + api::AggregateText(invalid));
  }
  return out;
}

}  // namespace portcullis::plugins::pod_security
