// SPDX-License-Identifier: Apache-2.0

#include "policy/cel_policy/static_policies.h"

#include <map>
#include <utility>

#include "admission/config_format.h"
#include "admission/match/cel_conditions.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "registry/admission/admission_policy_validation.h"

namespace portcullis::policy {
namespace {

constexpr admission::ConfigKind kKinds[] = {
    {"apiserver.config.k8s.io/v1", "ValidatingAdmissionPolicyConfiguration"},
    {"apiserver.config.k8s.io/v1", "MutatingAdmissionPolicyConfiguration"},
};
constexpr std::string_view kScheme =
    "k8s.io/apiserver/pkg/admission/plugin/policy/config/config.go:32";

std::string_view KindOf(PolicyType type) {
  return type == PolicyType::kMutating ? "MutatingAdmissionPolicy" : "ValidatingAdmissionPolicy";
}

registry::PolicyKind RegistryKind(PolicyType type) {
  return type == PolicyType::kMutating ? registry::PolicyKind::kMutating
                                       : registry::PolicyKind::kValidating;
}

base::Status CheckPolicy(std::string_view kind, json::Value object) {
  if (object["spec"]["paramKind"].is_null()) return base::OkStatus();
  return base::ConfigError(base::StrCat(kind, " ",
                                        base::GoQuote(object["metadata"]["name"].AsString()),
                                        ": spec.paramKind is not supported for static manifests"));
}

base::Status CheckBinding(json::Value object, const std::string&) {
  const std::string name = base::GoQuote(object["metadata"]["name"].AsString());
  const std::string_view policy = object["spec"]["policyName"].AsString();
  if (policy.empty()) {
    return base::ConfigError(
        base::StrCat("binding ", name, " must reference a policy (spec.policyName)"));
  }
  if (!policy.ends_with(admission::kStaticSuffix)) {
    return base::ConfigError(base::StrCat("binding ", name, ": spec.policyName ",
                                          base::GoQuote(policy), " must end with \"",
                                          admission::kStaticSuffix, "\""));
  }
  if (!object["spec"]["paramRef"].is_null()) {
    return base::ConfigError(
        base::StrCat("binding ", name, ": spec.paramRef is not supported for static manifests"));
  }
  return base::OkStatus();
}

}  // namespace

base::Result<std::string> ReadManifestsDirectory(const admission::PluginContext& context,
                                                 PolicyType type) {
  if (context.config == nullptr) return std::string();
  const std::string wanted = base::StrCat(KindOf(type), "Configuration");
  const std::string types = base::StrCat("v1.", wanted, ": staticManifestsDir string");
  TRY(admission::CheckConfig(*context.config, {.scheme = kScheme, .kinds = kKinds, .types = types},
                             *context.release));
  const std::string_view kind = context.config->document["kind"].AsString();
  if (kind != wanted) {
    return base::ConfigError(base::StrCat("unexpected type: *policyconfig.", kind));
  }
  std::string directory(context.config->document.root()["staticManifestsDir"].AsString());
  TRY(admission::CheckManifestsDirectory(context, directory));
  return directory;
}

base::Result<std::vector<ActivePolicy>> CompileManifests(
    const std::vector<admission::ManifestFile>& files, PolicyType type,
    kube_cel::Compiler& compiler, SelectorPool& selectors) {
  const auto checker = admission::match::MakeCelExpressionChecker(compiler);
  const std::string_view kind = KindOf(type);
  const std::string binding_kind = base::StrCat(kind, "Binding");
  admission::ManifestLoader loader(
      {{.name = kind,
        .validate =
            [&](json::Value object, api::FieldErrors& errors) {
              registry::ValidateAdmissionPolicy(object, {}, RegistryKind(type), checker.get(),
                                                errors);
            },
        .check = [&](json::Value object, const std::string&) { return CheckPolicy(kind, object); }},
       {.name = binding_kind,
        .validate =
            [&](json::Value object, api::FieldErrors& errors) {
              registry::ValidateAdmissionPolicyBinding(object, RegistryKind(type), errors);
            },
        .check = &CheckBinding}});
  TRY(loader.Load(files));

  std::map<std::string_view, std::shared_ptr<Bindings>> bindings;  // by policy
  for (const auto& [name, object] : loader.objects(0)) {
    bindings[name] = std::make_shared<Bindings>();
  }
  for (const auto& [name, object] : loader.objects(1)) {
    const std::string_view policy = object["spec"]["policyName"].AsString();
    const auto named = bindings.find(policy);
    if (named == bindings.end()) {
      return base::ConfigError(base::StrCat("binding ", base::GoQuote(name), " references policy ",
                                            base::GoQuote(policy),
                                            " which does not exist in the manifest directory"));
    }
    named->second->push_back(CompileBinding(selectors, object));
  }
  std::vector<ActivePolicy> policies;
  for (const auto& [name, object] : loader.objects(0)) {
    if (bindings[name]->empty()) continue;
    policies.push_back({CompilePolicy(compiler, selectors, type, object), bindings[name]});
  }
  return policies;
}

base::Result<std::unique_ptr<StaticPolicies>> StaticPolicies::Create(
    const admission::PluginContext& context, const std::string& directory, PolicyType type,
    kube_cel::Compiler& compiler, SelectorPool& selectors) {
  std::unique_ptr<StaticPolicies> self(new StaticPolicies);
  auto take = [self = self.get(), type, &compiler,
               &selectors](const std::vector<admission::ManifestFile>& files) -> base::Status {
    std::vector<ActivePolicy> policies = TRY(CompileManifests(files, type, compiler, selectors));
    self->policies_.Set(MakePolicySet(std::move(policies)));
    return base::OkStatus();
  };
  auto followed = admission::ManifestDirectory::Create(context, directory, std::move(take));
  if (!followed.ok()) {
    return base::ConfigError(base::StrCat("failed to load static policy manifests from ",
                                          base::GoQuote(directory), ": ",
                                          followed.status().message()));
  }
  self->directory_ = *std::move(followed);
  return self;
}

std::shared_ptr<const PolicySet> StaticPolicies::Get() const {
  directory_->Refresh();
  return policies_.Get();
}

}  // namespace portcullis::policy
