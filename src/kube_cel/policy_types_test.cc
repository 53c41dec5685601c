// SPDX-License-Identifier: Apache-2.0

#include "kube_cel/policy_types.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::kube_cel {
namespace {

class PolicyTypesTest : public ::testing::Test {
 protected:
  // "fieldRef warning" of each finding. `spec` may name validations and anything else.
  std::vector<std::string> Check(std::string_view spec) {
    const json::Value policy =
        json::Parse(arena_, base::StrCat(R"({"spec":{)", spec, "}}")).value();
    std::vector<std::string> out;
    const json::Value found = CheckPolicyTypes(arena_, compiler_, *catalog_, policy);
    for (const json::Value& warning : found.elements()) {
      out.push_back(
          base::StrCat(warning["fieldRef"].AsString(), " ", warning["warning"].AsString()));
    }
    return out;
  }

  static std::string Rule(std::string_view group, std::string_view version,
                          std::string_view resources) {
    return base::StrCat(R"("matchConstraints":{"resourceRules":[{"apiGroups":[")", group,
                        R"("],"apiVersions":[")", version, R"("],"resources":[)", resources,
                        "]}]}");
  }
  std::vector<std::string> CheckDeployment(std::string_view expression) {
    return Check(base::StrCat(Rule("apps", "v1", R"("deployments")"),
                              R"(,"validations":[{"expression":")", expression, R"("}])"));
  }

  json::Arena arena_;
  Compiler compiler_;
  std::shared_ptr<const api::catalog::Catalog> catalog_ =
      api::catalog::Catalog::BuiltIn({}).value();
};

using Texts = std::vector<std::string>;

TEST_F(PolicyTypesTest, SaysWhichExpressionIsWrongForWhichKind) {
  EXPECT_EQ(Check(base::StrCat(Rule("apps", "v1", R"("replicasets","deployments","pods/log")"),
                               R"(,"validations":[{"expression":"object.spec.replicas > '1'",)"
                               R"("messageExpression":"object.spec.replica"}])")),
            (Texts{"spec.validations[0].expression apps/v1, Kind=Deployment: ERROR: <input>:1:22: "
                   "found no matching overload for '_>_' applied to '(int, string)'\n"
                   " | object.spec.replicas > '1'\n"
                   " | .....................^\n"
                   "\n"
                   "apps/v1, Kind=ReplicaSet: ERROR: <input>:1:22: found no matching overload for "
                   "'_>_' applied to '(int, string)'\n"
                   " | object.spec.replicas > '1'\n"
                   " | .....................^\n",
                   "spec.validations[0].messageExpression apps/v1, Kind=Deployment: ERROR: "
                   "<input>:1:12: undefined field 'replica'\n"
                   " | object.spec.replica\n"
                   " | ...........^\n"
                   "\n"
                   "apps/v1, Kind=ReplicaSet: ERROR: <input>:1:12: undefined field 'replica'\n"
                   " | object.spec.replica\n"
                   " | ...........^\n"}));
}

TEST_F(PolicyTypesTest, AcceptsWhatTheSchemaSays) {
  for (const std::string_view expression : {
           "object.spec.replicas > 1 && oldObject == null",
           "object.metadata.creationTimestamp < timestamp('2020-01-01T00:00:00Z')",
           "object.metadata.labels['a'] == 'b'",
           "object.spec.template.spec.containers.all(c, c.image.startsWith('x'))",
           "object.spec.strategy.rollingUpdate.maxSurge == 1",
           "object.spec.template.metadata.__namespace__ == object.spec.template.metadata.namespace",
           "authorizer.group('').resource('pods').check('get').allowed()",
           "request.operation == 'CREATE' && namespaceObject.metadata.name == 'x'",
       }) {
    EXPECT_EQ(CheckDeployment(expression), Texts{}) << expression;
  }
}

TEST_F(PolicyTypesTest, DoesNotKnowQuantitiesNorTheRequestsOwnCheck) {
  EXPECT_EQ(CheckDeployment("has(object.spec.template.spec.containers[0].resources.limits)").size(),
            1U);
  EXPECT_EQ(CheckDeployment("authorizer.requestResource.check('get').allowed()").size(), 1U);
}

TEST_F(PolicyTypesTest, LooksOnlyAtKindsNamedWithoutWildcards) {
  const std::string_view wrong = R"(,"validations":[{"expression":"object.nope"}])";
  EXPECT_EQ(Check(base::StrCat(Rule("*", "v1", R"("pods")"), wrong)), Texts{});
  EXPECT_EQ(Check(base::StrCat(Rule("", "*", R"("pods")"), wrong)), Texts{});
  EXPECT_EQ(Check(base::StrCat(Rule("", "v1", R"("*","pods/status")"), wrong)), Texts{});
  EXPECT_EQ(Check(base::StrCat(Rule("", "v1", R"("*","pods")"), wrong)).size(), 1U);
  EXPECT_EQ(Check(base::StrCat(Rule("example.com", "v1", R"("foos")"), wrong)), Texts{});
}

TEST_F(PolicyTypesTest, TypesParametersAndVariables) {
  const std::string rule = Rule("", "v1", R"("pods")");
  const auto check = [&](std::string_view expression) {
    return Check(base::StrCat(rule, R"(,"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},)",
                              R"("variables":[{"name":"n","expression":"object.metadata.name"},)",
                              R"({"name":"bad","expression":"object.nope"}],)",
                              R"("validations":[{"expression":")", expression, R"("}])"));
  };
  EXPECT_EQ(check("params.data['x'] == variables.n && variables.bad == 1"), Texts{});
  EXPECT_EQ(check("variables.n == 1").size(), 1U);
  EXPECT_EQ(check("params.spec == 1").size(), 1U);
  // Of a kind that is not known, or not yet.
  EXPECT_EQ(
      Check(base::StrCat(rule, R"(,"paramKind":{"apiVersion":"example.com/v1","kind":"Foo"},)",
                         R"("validations":[{"expression":"params.x == params.y"}])")),
      Texts{});
}

TEST_F(PolicyTypesTest, SetsTheStatusOnce) {
  const json::Value policy =
      json::Parse(arena_, R"({"metadata":{"generation":2},"spec":{},"status":{}})").value();
  EXPECT_TRUE(NeedsTypeChecking(policy));
  const json::Value checked = WithTypeChecking(arena_, compiler_, *catalog_, policy);
  EXPECT_EQ(json::ToString(checked["status"]), R"({"observedGeneration":2,"typeChecking":{}})");
  EXPECT_FALSE(NeedsTypeChecking(checked));
}

}  // namespace
}  // namespace portcullis::kube_cel
