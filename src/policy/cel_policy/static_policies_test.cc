// SPDX-License-Identifier: Apache-2.0

#include "policy/cel_policy/static_policies.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "base/testing/temporary_folder.h"

namespace portcullis::policy {
namespace {

constexpr std::string_view kPolicy = R"(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints:
    resourceRules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"]}]
  validations: [{expression: "EXPRESSION"}]
---
)";
constexpr std::string_view kBinding = R"(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b.static.k8s.io}
spec: {policyName: NAME, validationActions: [Deny]}
---
)";

std::string Policy(std::string_view name, std::string_view expression = "true") {
  return base::ReplaceAll(base::ReplaceAll(kPolicy, "NAME", name), "EXPRESSION", expression);
}
std::string Binding(std::string_view policy) { return base::ReplaceAll(kBinding, "NAME", policy); }

class StaticPoliciesTest : public ::testing::Test {
 protected:
  // "policy:bindings;" of each, or what is wrong.
  std::string Compile(const std::string& text) {
    const auto policies =
        CompileManifests({{"d/a.yaml", text}}, PolicyType::kValidating, compiler_, selectors_);
    if (!policies.ok()) return policies.status().message();
    std::string out;
    for (const ActivePolicy& active : *policies) {
      out += base::StrCat(active.policy->name, ":", std::to_string(active.bindings->size()), ";");
    }
    return out;
  }

  kube_cel::Compiler compiler_;
  SelectorPool selectors_;
};

TEST_F(StaticPoliciesTest, TakesPoliciesThatHaveBindings) {
  EXPECT_EQ(
      Compile(Policy("p.static.k8s.io") + Policy("q.static.k8s.io") + Binding("p.static.k8s.io")),
      "p.static.k8s.io:1;");
}

TEST_F(StaticPoliciesTest, SaysWhatIsWrong) {
  EXPECT_EQ(Compile(Policy("p")),
            "error loading d/a.yaml: \"p\" in file \"d/a.yaml\" must have a name ending with "
            "\".static.k8s.io\"");
  EXPECT_EQ(Compile(Policy("p.static.k8s.io", "1")),
            "error loading d/a.yaml: ValidatingAdmissionPolicy \"p.static.k8s.io\": "
            "spec.validations[0].expression: Invalid value: \"1\": must evaluate to bool but got "
            "int");
  EXPECT_EQ(Compile(base::ReplaceAll(Policy("p.static.k8s.io"), "spec:",
                                     "spec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}")),
            "error loading d/a.yaml: ValidatingAdmissionPolicy \"p.static.k8s.io\": spec.paramKind "
            "is not supported for static manifests");
  EXPECT_EQ(Compile(Binding("p")),
            "error loading d/a.yaml: binding \"b.static.k8s.io\": spec.policyName \"p\" must end "
            "with \".static.k8s.io\"");
  EXPECT_EQ(Compile(base::ReplaceAll(
                Binding("p.static.k8s.io"), "validationActions",
                "paramRef: {name: x, parameterNotFoundAction: Deny}, validationActions")),
            "error loading d/a.yaml: binding \"b.static.k8s.io\": spec.paramRef is not supported "
            "for static manifests");
  EXPECT_EQ(Compile(Binding("p.static.k8s.io")),
            "binding \"b.static.k8s.io\" references policy \"p.static.k8s.io\" which does not "
            "exist in the manifest directory");
  EXPECT_EQ(Compile("apiVersion: apps/v1\nkind: Deployment\n"),
            "error loading d/a.yaml: unsupported resource type apps/v1, Kind=Deployment");
}

TEST_F(StaticPoliciesTest, TellsMetricsWhichFilesAreInForce) {
  const base::TemporaryFolder folder;
  const auto write = [&](const std::string& text) {
    std::ofstream(folder.path() + "/a.yaml") << text;
  };
  write(Policy("p.static.k8s.io") + Binding("p.static.k8s.io"));
  base::FakeClock clock;
  metrics::Registry registry;
  admission::PluginContext context;
  context.name = "ValidatingAdmissionPolicy";
  context.clock = &clock;
  context.metrics = &registry;
  context.server_identity = "testAPIServerID";
  const auto policies = StaticPolicies::Create(context, folder.path(), PolicyType::kValidating,
                                               compiler_, selectors_);
  ASSERT_TRUE(policies.ok()) << policies.status().message();
  EXPECT_EQ((*policies)->Get()->policies.size(), 1U);
  const std::string first = registry.Expose();

  write("");
  clock.Advance(std::chrono::seconds(2));
  EXPECT_EQ((*policies)->Get()->policies.size(), 0U);
  const std::string page = registry.Expose();
  constexpr std::string_view kInfo =
      "apiserver_manifest_admission_config_controller_last_config_info{apiserver_id_hash="
      "\"sha256:14f9d63e669337ac6bfda2e2162915ee6a6067743eddd4e5c374b572f951ff37\",hash=\"";
  EXPECT_NE(first.find(base::StrCat(kInfo, "sha256:")), std::string::npos) << first;
  EXPECT_NE(page.find(base::StrCat(kInfo, "\",plugin=\"ValidatingAdmissionPolicy\"} 1")),
            std::string::npos)
      << page;
  EXPECT_EQ(page.find(base::StrCat(kInfo, "sha256:")), std::string::npos);
}

}  // namespace
}  // namespace portcullis::policy
