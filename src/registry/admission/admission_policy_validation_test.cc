// SPDX-License-Identifier: Apache-2.0

#include "registry/admission/admission_policy_validation.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/reader.h"
#include "kube_cel/compiler.h"
#include "registry/admission/static_names.h"
#include "registry/testing/kind_test.h"

namespace portcullis::registry {
namespace {

class Compiling final : public ExpressionChecker {
 public:
  explicit Compiling(int minor) : compiler_(minor) {}
  std::string CheckMatchCondition(std::string_view, Environment) const override { return ""; }
  kube_cel::Compiler* compiler() const override { return &compiler_; }

 private:
  mutable kube_cel::Compiler compiler_;
};

class AdmissionPoliciesTest : public ::testing::Test {
 protected:
  json::Value Policy(std::string_view expression) {
    return json::Parse(arena_,
                       base::StrCat(R"({"metadata":{"name":"p"},"spec":{"failurePolicy":"Fail",)"
                                    R"("matchConstraints":{"matchPolicy":"Exact",)"
                                    R"("namespaceSelector":{},"objectSelector":{},)"
                                    R"("resourceRules":[{"operations":["*"],"apiGroups":["*"],)"
                                    R"("apiVersions":["*"],"resources":["*"]}]},)"
                                    R"("validations":[{"expression":")",
                                    expression, R"("}]}})"))
        .value();
  }
  json::Arena arena_;
};

// semver() came with v1.33, whose new expressions may use what v1.32 has.
TEST_F(AdmissionPoliciesTest, NewExpressionsUseWhatTheReleaseBeforeKnows) {
  const Compiling checker(33);
  const json::Value policy = Policy("isSemver('1.2.3')");
  api::FieldErrors errors;
  ValidateAdmissionPolicy(policy, {}, PolicyKind::kValidating, &checker, errors);
  EXPECT_EQ(testing::TextOf(errors),
            "spec.validations[0].expression: Invalid value: \"isSemver('1.2.3')\": compilation "
            "failed: ERROR: <input>:1:9: undeclared reference to 'isSemver' (in container '')\n"
            " | isSemver('1.2.3')\n"
            " | ........^\n");
  errors.clear();
  ValidateAdmissionPolicy(policy, policy, PolicyKind::kValidating, &checker, errors);
  EXPECT_EQ(testing::TextOf(errors), "");  // it was stored before
  const Compiling newest(36);
  ValidateAdmissionPolicy(policy, {}, PolicyKind::kValidating, &newest, errors);
  EXPECT_EQ(testing::TextOf(errors), "");
}

TEST_F(AdmissionPoliciesTest, ChecksWarningsAndConditionsOfTheStatus) {
  const auto check = [&](std::string_view status) {
    api::FieldErrors errors;
    ValidatePolicyStatus(json::Parse(arena_, status).value(), errors);
    return testing::TextOf(errors);
  };
  EXPECT_EQ(check(R"({"typeChecking":{"expressionWarnings":[{"fieldRef":"","warning":""},)"
                  R"({"fieldRef":"spec.[","warning":"x"},)"
                  R"({"fieldRef":"spec.validations[0].expression","warning":"x"}]}})"),
            "status.typeChecking.expressionWarnings[0].warning: Required value\n"
            "status.typeChecking.expressionWarnings[0].fieldRef: Required value\n"
            "status.typeChecking.expressionWarnings[1].fieldRef: Invalid value: \"spec.[\": "
            "invalid JSONPath: unterminated array\n");
  EXPECT_EQ(check(R"({"conditions":[{"type":"A","status":"True","reason":"R",)"
                  R"("lastTransitionTime":"2024-01-01T00:00:00Z"},{"type":"A","status":"x"}]})"),
            "status.conditions[1].type: Duplicate value: \"A\"\n"
            "status.conditions[1].status: Unsupported value: \"x\": supported values: \"False\", "
            "\"True\", \"Unknown\"\n"
            "status.conditions[1].lastTransitionTime: Required value\n"
            "status.conditions[1].reason: Required value\n");
}

TEST_F(AdmissionPoliciesTest, NamesOfFilesAreReserved) {
  const json::Value object =
      json::Parse(arena_, R"({"metadata":{"name":"a.static.k8s.io"}})").value();
  const api::GroupVersionResource resource;
  const api::GroupVersionKind kind;
  const api::UserInfo user;
  Context context{arena_, resource, kind, "", "a", "", user, base::SystemClock()};
  api::FieldErrors errors;
  std::vector<std::string> warnings;
  CheckStaticName(context, object, errors);
  WarnOfStaticName(context, object, warnings);
  EXPECT_TRUE(errors.empty());
  EXPECT_EQ(warnings.size(), 1U);
  context.reserves_static_names = true;
  CheckStaticName(context, object, errors);
  WarnOfStaticName(context, object, warnings);
  EXPECT_EQ(testing::TextOf(errors),
            "metadata.name: Invalid value: \"a.static.k8s.io\": names ending with "
            "\".static.k8s.io\" are reserved for static manifest-based configurations and cannot "
            "be managed via the API\n");
  EXPECT_EQ(warnings.size(), 1U);
}

}  // namespace
}  // namespace portcullis::registry
