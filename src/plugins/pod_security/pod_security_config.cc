#include "plugins/pod_security/pod_security_config.h"

#include <functional>
#include <set>
#include <string_view>

#include "api/field_error.h"
#include "api/field_path.h"
#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "plugins/common/config_reader.h"

namespace portcullis::plugins::pod_security {
namespace {

using common::ConfigKind;
using common::ConfigReader;
using policy::pod_security::LevelVersion;

constexpr ConfigKind kKinds[] = {
    {"pod-security.admission.config.k8s.io/v1", "PodSecurityConfiguration"},
    {"pod-security.admission.config.k8s.io/v1beta1", "PodSecurityConfiguration"},
    {"pod-security.admission.config.k8s.io/v1alpha1", "PodSecurityConfiguration"}};

void ReadMode(ConfigReader& reader, const std::string& mode, LevelVersion& out,
              std::vector<std::string>& errors) {
  std::string_view level = reader.String(mode);
  if (!level.empty()) {
    if (auto parsed = policy::pod_security::ParseLevel(level)) {
      out.level = *parsed;
    } else {
      errors.push_back(base::StrCat(mode, ": ", policy::pod_security::kBadLevel));
    }
  }
  const std::string version_name = mode + "-version";
  std::string_view version = reader.String(version_name);
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

std::vector<std::string> UsernameProblems(std::string_view name) {
  if (name.empty()) return {"username must not be empty"};
  return {};
}

}  // namespace

base::Result<PodSecurityConfig> ParseConfig(const admission::PluginConfig* config) {
  PodSecurityConfig out;
  if (config == nullptr) return out;
  ConfigReader root(TRY(common::DecodeConfig(*config, kKinds)));
  std::vector<std::string> errors;
  ConfigReader defaults = root.Child("defaults");
  ReadMode(defaults, "enforce", out.defaults.enforce, errors);
  ReadMode(defaults, "audit", out.defaults.audit, errors);
  ReadMode(defaults, "warn", out.defaults.warn, errors);
  defaults.RefuseOthers();
  ConfigReader exemptions = root.Child("exemptions");
  out.exempt_usernames = exemptions.Strings("usernames");
  out.exempt_namespaces = exemptions.Strings("namespaces");
  out.exempt_runtime_classes = exemptions.Strings("runtimeClasses");
  exemptions.RefuseOthers();
  root.RefuseOthers();
  TRY(root.Finish());
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
