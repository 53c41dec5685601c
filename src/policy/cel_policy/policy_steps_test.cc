// SPDX-License-Identifier: Apache-2.0

// The steps of policies and bindings in a trace, also of those that do not apply.
#include <gtest/gtest.h>

#include "policy/cel_policy/testing/cluster.h"

namespace portcullis::policy {
namespace {

constexpr std::string_view kMap =
    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"},)"
    R"("data":{"x":"1"}})";
constexpr std::string_view kPolicies = "validatingadmissionpolicies";
constexpr std::string_view kBindings = "validatingadmissionpolicybindings";
constexpr std::string_view kFalse = R"("validations":[{"expression":"false","message":"no"}])";
constexpr std::string_view kDeny = R"("validationActions":["Deny"])";

class PolicyStepsTest : public ::testing::Test {
 protected:
  // "policy/binding(param): outcome reason: message" of each step.
  std::string Validate() {
    admission::Trace trace(base::SystemClock());
    cluster_.set_trace(&trace);
    (void)cluster_.Validate(kMap);
    return Text(trace);
  }
  std::string Mutate() {
    admission::Trace trace(base::SystemClock());
    cluster_.set_trace(&trace);
    (void)cluster_.Mutate(kMap);
    return Text(trace);
  }

  static std::string Text(const admission::Trace& trace) {
    std::string out;
    for (const admission::TraceStep& step : trace.steps()) {
      if (step.actor.kind != admission::TraceActor::Kind::kPolicy) continue;
      out += base::StrCat(out.empty() ? "" : "\n", step.actor.name, "/", step.actor.member,
                          step.actor.param.empty() ? "" : "(", step.actor.param,
                          step.actor.param.empty() ? ": " : "): ", OutcomeText(step.outcome), " ",
                          ReasonText(step.reason), ": ", step.message);
    }
    return out;
  }

  testing::Cluster cluster_;
};

TEST_F(PolicyStepsTest, SayWhatABindingMakesOfAVerdict) {
  const struct {
    std::string_view spec;
    std::string_view binding;
    std::string_view step;
  } facts[] = {
      {R"("validations":[{"expression":"true"}])", kDeny, "p/p: Allowed : "},
      {kFalse, kDeny, "p/p: Denied : no"},
      {R"("validations":[{"expression":"false","message":"no"},{"expression":"false"}])", kDeny,
       "p/p: Denied : no; failed expression: false"},
      {kFalse, R"("validationActions":["Warn","Audit"])",
       R"(p/p: NotEnforced ValidationActions: validationActions ["Warn","Audit"]: no)"},
      {R"("validations":[{"expression":"object.none == 1"}])", kDeny,
       "p/p: Failed FailurePolicy: expression 'object.none == 1' resulted in error: no such key: "
       "none"},
      {R"("failurePolicy":"Ignore","validations":[{"expression":"object.none == 1"}])", kDeny,
       "p/p: FailedOpen FailurePolicy: expression 'object.none == 1' resulted in error: no such "
       "key: none"},
      {R"("matchConditions":[{"name":"c","expression":"object.data.x == '2'"}],)"
       R"("validations":[{"expression":"false"}])",
       kDeny, "p/p: Skipped MatchConditions: \"c\" is false"},
      {R"("failurePolicy":"Ignore","matchConditions":[{"name":"c","expression":)"
       R"("object.none == 1"}],"validations":[{"expression":"false"}])",
       kDeny,
       "p/p: Skipped MatchConditions: expression 'object.none == 1' resulted in error: no such "
       "key: "
       "none (failurePolicy Ignore passes over it)"},
  };
  for (const auto& fact : facts) {
    cluster_.Validating("p", fact.spec, fact.binding);
    EXPECT_EQ(Validate(), fact.step) << fact.spec;
  }
}

TEST_F(PolicyStepsTest, SayWhyABindingDoesNotApply) {
  const struct {
    std::string_view binding;
    std::string_view step;
  } facts[] = {
      {R"("matchResources":{"namespaceSelector":{"matchLabels":{"tier":"two"}},)"
       R"("objectSelector":{},"matchPolicy":"Equivalent"})",
       "Skipped NamespaceSelector: namespaceSelector \"tier=two\" does not select namespace "
       "default "
       "(labels tier=one)"},
      {R"("matchResources":{"namespaceSelector":{},"objectSelector":{"matchLabels":{"a":"b"}}})",
       "Skipped ObjectSelector: objectSelector \"a=b\" does not select the object (no labels)"},
      {R"("matchResources":{"namespaceSelector":{},"objectSelector":{},"resourceRules":[{)"
       R"("apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}]})",
       "Skipped Rules: rules[0]: resources [pods] do not include configmaps"},
      {R"("matchResources":{"namespaceSelector":{},"objectSelector":{},"excludeResourceRules":[{)"
       R"("apiGroups":["*"],"apiVersions":["*"],"operations":["*"],"resources":["*"]}]})",
       "Skipped ExcludeResourceRules: a rule of excludeResourceRules matches"},
  };
  cluster_.Policy(kPolicies, "p", kFalse);
  for (const auto& fact : facts) {
    cluster_.Binding(kBindings, "b", "p", base::StrCat(kDeny, ",", fact.binding));
    EXPECT_EQ(Validate(), base::StrCat("p/b: ", fact.step));
  }
}

TEST_F(PolicyStepsTest, NamePoliciesThatDoNotMatchOrHaveNoBindings) {
  cluster_.Policy(kPolicies, "a", kFalse, "pods");
  cluster_.Binding(kBindings, "a", "a", kDeny);
  cluster_.Policy(kPolicies, "b", kFalse);
  EXPECT_EQ(Validate(),
            "a/: Skipped Rules: rules[0]: resources [pods] do not include configmaps\n"
            "b/: Skipped NoBindings: no binding names this policy");
}

TEST_F(PolicyStepsTest, TellOfParameters) {
  constexpr std::string_view kSpec =
      R"("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},)"
      R"("validations":[{"expression":"params.data.x == object.data.x","message":"differs"}])";
  const auto bind = [](std::string_view action) {
    return base::StrCat(kDeny, R"(,"paramRef":{"name":"q","namespace":"params",)",
                        R"("parameterNotFoundAction":")", action, "\"}");
  };
  cluster_.Validating("p", kSpec, bind("Allow"));
  EXPECT_EQ(Validate(),
            "p/p: Skipped ParameterNotFound: no parameter is found, and parameterNotFoundAction is "
            "Allow");
  cluster_.Validating("p", kSpec, bind("Deny"));
  EXPECT_EQ(Validate(),
            "p/p: Failed FailurePolicy: no params found for policy binding with `Deny` "
            "parameterNotFoundAction");
  cluster_.Put("", "configmaps", "params",
               R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"q",)"
               R"("namespace":"params"},"data":{"x":"2"}})");
  EXPECT_EQ(Validate(), "p/p(params/q): Denied : differs");
}

TEST_F(PolicyStepsTest, TellWhatAMutationCameTo) {
  const auto mutation = [](std::string_view expression) {
    return base::StrCat(R"("mutations":[{"patchType":"ApplyConfiguration",)",
                        R"("applyConfiguration":{"expression":")", expression, "\"}}]");
  };
  cluster_.Mutating("m", mutation("Object{data: {'y': '2'}}"));
  EXPECT_EQ(Mutate(), "m/m: Changed : ");
  cluster_.Mutating("m", mutation("Object{data: {'x': '1'}}"));
  EXPECT_EQ(Mutate(), "m/m: Allowed : ");
  cluster_.Mutating("m", mutation("Object{data: {'x': object.none}}"));
  EXPECT_EQ(Mutate(),
            "m/m: Failed FailurePolicy: expression 'Object{data: {'x': object.none}}' resulted in "
            "error: no such key: none");
  cluster_.Mutating("m", base::StrCat(mutation("Object{}"),
                                      R"(,"matchConditions":[{"name":"c","expression":"false"}])"));
  EXPECT_EQ(Mutate(), "m/m: Skipped MatchConditions: \"c\" is false");
}

TEST_F(PolicyStepsTest, CostOfASharedEvaluationIsThatOfTheFirstBinding) {
  cluster_.Validating("p", R"("validations":[{"expression":"object.data.x == '1'"}])");
  cluster_.Binding(kBindings, "q", "p", kDeny);
  admission::Trace trace(base::SystemClock());
  cluster_.set_trace(&trace);
  (void)cluster_.Validate(kMap);
  ASSERT_EQ(trace.steps().size(), 3U);
  EXPECT_GT(trace.steps()[1].cost, 0U);
  EXPECT_EQ(trace.steps()[2].cost, 0U);
}

}  // namespace
}  // namespace portcullis::policy
