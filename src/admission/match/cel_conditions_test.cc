// SPDX-License-Identifier: Apache-2.0

#include "admission/match/cel_conditions.h"

#include <gtest/gtest.h>

#include "json/reader.h"

namespace portcullis::admission::match {
namespace {

using Verdict = ConditionOutcome::Verdict;

class CelConditionsTest : public ::testing::Test {
 protected:
  ConditionOutcome Evaluate(std::vector<MatchCondition> conditions,
                            std::string_view object = R"({"metadata":{"name":"a"}})") {
    const auto evaluator = MakeCelConditions(compiler_, allow_.get());
    const auto program = evaluator->Compile(std::move(conditions));
    Attributes attributes;
    attributes.resource = {"", "v1", "configmaps"};
    attributes.kind = {"", "v1", "ConfigMap"};
    attributes.namespace_name = "default";
    attributes.user.name = "alice";
    attributes.user.groups = {"dev"};
    json::Arena arena;
    Recorder recorder;
    const json::Value parsed = *json::Parse(arena, object);
    const Request request(std::move(attributes), arena, recorder);
    const std::size_t before = arena.bytes_used();
    ConditionOutcome outcome = program->Evaluate({&request, request.kind(), parsed, {}});
    taken_ = arena.bytes_used() - before;
    return outcome;
  }

  std::size_t taken_ = 0;  // of the request's arena, by the last Evaluate()
  kube_cel::Compiler compiler_;
  std::unique_ptr<authz::Authorizer> allow_ = authz::MakeAlwaysAllow();
};

TEST_F(CelConditionsTest, MatchesWhenAllAreTrue) {
  EXPECT_EQ(Evaluate({{"a", "object.metadata.name == 'a'"}, {"b", "oldObject == null"}}).verdict,
            Verdict::kMatch);
  EXPECT_EQ(Evaluate({}).verdict, Verdict::kMatch);
}

TEST_F(CelConditionsTest, WhatTheyTakeOnTheirWayDoesNotStayWithTheRequest) {
  EXPECT_EQ(Evaluate({{"a", "lists.range(1000).map(i, i).size() == 1000"}}).verdict,
            Verdict::kMatch);
  EXPECT_LT(taken_, 1000U);
}

TEST_F(CelConditionsTest, FalseBeatsErrors) {
  const auto outcome = Evaluate({{"a", "object.nope == 'x'"}, {"b", "false"}, {"c", "true"}});
  EXPECT_EQ(outcome.verdict, Verdict::kNoMatch);
  EXPECT_EQ(outcome.failed_condition, "b");
  EXPECT_EQ(outcome.erroring_expressions, 1);
}

TEST_F(CelConditionsTest, TellsDistinctErrorsOnce) {
  EXPECT_EQ(Evaluate({{"a", "object.nope == 'x'"}, {"b", "object.nope == 'x'"}}).error,
            "expression 'object.nope == 'x'' resulted in error: no such key: nope");
  EXPECT_EQ(Evaluate({{"a", "object.n == 'x'"}, {"b", "object.m == 'x'"}}).error,
            "[expression 'object.n == 'x'' resulted in error: no such key: n, "
            "expression 'object.m == 'x'' resulted in error: no such key: m]");
}

TEST_F(CelConditionsTest, SeesRequestAndAuthorizer) {
  EXPECT_EQ(Evaluate({{"a",
                       "request.userInfo.username == 'alice' && 'dev' in "
                       "request.userInfo.groups && request.kind.kind == 'ConfigMap' && "
                       "request.resource.resource == 'configmaps' && !has(request.name)"}})
                .verdict,
            Verdict::kMatch);
  EXPECT_EQ(Evaluate({{"a", "authorizer.requestResource.check('create').allowed()"}}).verdict,
            Verdict::kMatch);
}

TEST_F(CelConditionsTest, ChecksExpressionsWhenTheyAreWritten) {
  const auto checker = MakeCelExpressionChecker(compiler_);
  const auto check = [&](std::string_view text) {
    return checker->CheckMatchCondition(text, registry::ExpressionChecker::Environment::kNew);
  };
  EXPECT_EQ(check("true"), "");
  EXPECT_EQ(check("'x'"), "must evaluate to bool but got string");
  EXPECT_NE(check("request.uid == ''").find("undefined field 'uid'"), std::string::npos);
}

}  // namespace
}  // namespace portcullis::admission::match
