// SPDX-License-Identifier: Apache-2.0

// Policies judging on fibers: the fiber moves when that takes long, and the outcome is the same.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/fiber.h"
#include "policy/cel_policy/testing/cluster.h"

namespace portcullis::policy {
namespace {

// Each time it is read, so much has passed.
class TickingClock final : public base::Clock {
 public:
  base::WallTime Now() const override { return {}; }
  base::SteadyTime Steady() const override { return now_ += tick_; }
  void set_tick(base::Duration tick) { tick_ = tick; }

 private:
  mutable base::SteadyTime now_{};
  base::Duration tick_{};
};

constexpr std::string_view kParams = R"("validationActions":["Deny","Audit"],"paramRef":{)"
                                     R"("namespace":"params","parameterNotFoundAction":"Deny",)";

class PolicyFibersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!base::Fiber::kSupported) GTEST_SKIP() << "no fibers on this processor";
  }

  // A config map with so many keys.
  static std::string Map(int keys) {
    std::string data;
    for (int i = 0; i < keys; ++i) {
      data += base::StrCat(i == 0 ? "" : ",", "\"k", std::to_string(i), "\":\"v\"");
    }
    return base::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a",)",
                        R"("namespace":"default"},"data":{)", data, "}}");
  }

  // What both phases come to: "refusal; warnings; annotations; object".
  std::string Judge(const std::string& map) {
    std::string out;
    const auto take = [&](const base::Status& status) {
      out += base::StrCat(status.message(), "; ", base::Join(cluster_.recorder().warnings(), ", "));
      for (const admission::AuditAnnotation& annotation : cluster_.recorder().annotations()) {
        out += base::StrCat("; ", annotation.key, "=", annotation.value);
      }
      out += base::StrCat("; ", json::ToString(cluster_.request().object()), "\n");
    };
    take(cluster_.Mutate(map));
    take(cluster_.Validate(map));
    return out;
  }

  // Whether the request moves its fiber; on one it comes to what it comes to on a thread.
  bool Moves(const std::string& map) {
    base::FiberStacks stacks;
    std::function<void()> go_on;
    std::string outcome;
    base::Fiber::Run(stacks, [&] {
      base::Fiber::Current()->set_elsewhere(
          [&](std::function<void()> run) { go_on = std::move(run); });
      outcome = Judge(map);
    });
    const bool moved = go_on != nullptr;
    if (moved) go_on();
    EXPECT_EQ(outcome, Judge(map));
    return moved;
  }

  void PutParams(int count, int bytes) {
    for (int i = 0; i < count; ++i) {
      cluster_.Put("", "configmaps", "params",
                   base::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c)",
                                std::to_string(i), R"(","namespace":"params"},"data":{"v":")",
                                std::string(static_cast<std::size_t>(bytes), 'v'), "\"}}"));
    }
  }

  void PutPolicyWithParams(std::string_view ref) {
    cluster_.Validating("p",
                        R"("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},)"
                        R"("validations":[{"expression":"params.data.v != 'w'"}])",
                        base::StrCat(kParams, ref, "}"));
  }

  TickingClock clock_;
  testing::Cluster cluster_{clock_};
};

TEST_F(PolicyFibersTest, TheyMoveIfAnExpressionTakesLong) {
  constexpr std::string_view kPairs =
      "object.data.all(a, object.data.all(b, size(a) + size(b) > 0))";
  cluster_.Validating(
      "p",
      base::StrCat(R"("validations":[{"expression":")", kPairs,
                   R"(","messageExpression":"'no'"},{"expression":"false","message":"no"}],)"
                   R"("auditAnnotations":[{"key":"k","valueExpression":"'value'"}])"),
      R"("validationActions":["Warn","Audit"])");
  EXPECT_FALSE(Moves(Map(5)));
  EXPECT_TRUE(Moves(Map(100)));
}

TEST_F(PolicyFibersTest, TheyMoveIfAMutationTakesLong) {
  cluster_.Mutating("m", R"("mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":)"
                         R"("[JSONPatch{op: 'add', path: '/data/all', value: object.data.map(a, )"
                         R"(object.data.map(b, a + b).join('')).join('')}]"}}])");
  EXPECT_FALSE(Moves(Map(5)));
  EXPECT_TRUE(Moves(Map(100)));
}

TEST_F(PolicyFibersTest, TheyMoveIfTheirStepsTakeLong) {
  const std::string_view spec =
      R"("validations":[{"expression":"true"},{"expression":"false"},{"expression":"true"}])";
  for (const std::string_view name : {"p", "q"}) cluster_.Validating(std::string(name), spec);
  EXPECT_FALSE(Moves(Map(1)));
  clock_.set_tick(base::Fiber::kLong);
  EXPECT_TRUE(Moves(Map(1)));
}

TEST_F(PolicyFibersTest, TheyMoveForManyOrLargeParameters) {
  PutPolicyWithParams(R"("selector":{})");
  PutParams(1, 10);
  EXPECT_FALSE(Moves(Map(1)));
  PutParams(101, 10);
  EXPECT_TRUE(Moves(Map(1)));
  PutPolicyWithParams(R"("name":"c0")");
  EXPECT_FALSE(Moves(Map(1)));
  PutParams(1, 65 * 1024);
  EXPECT_TRUE(Moves(Map(1)));
}

TEST_F(PolicyFibersTest, TheyMoveForManyBindings) {
  clock_.set_tick(base::Fiber::kLong);
  const auto put = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      cluster_.Binding("validatingadmissionpolicybindings", base::StrCat("b", std::to_string(i)),
                       "p",
                       R"("matchResources":{"namespaceSelector":{"matchLabels":{"tier":"two"}}},)"
                       R"("validationActions":["Deny"])");
    }
  };
  cluster_.Policy("validatingadmissionpolicies", "p", R"("validations":[{"expression":"false"}])");
  put(0, 100);
  EXPECT_FALSE(Moves(Map(1)));
  put(100, 200);
  EXPECT_TRUE(Moves(Map(1)));
}

}  // namespace
}  // namespace portcullis::policy
