// SPDX-License-Identifier: Apache-2.0

// What expressions cost in Kubernetes' environment, estimated and counted, to the unit, and of some
// what becomes of them: tests/conformance/cel/kubernetes-costs.jsonl.
#include <gtest/gtest.h>

#include <fstream>

#include "cel/checker/cost_estimate.h"
#include "json/reader.h"
#include "kube_cel/access.h"
#include "kube_cel/compiler.h"
#include "kube_cel/libraries.h"

namespace portcullis::kube_cel {
namespace {

// Texts of at most 12 characters, nothing known of anything else.
class ShortTexts final : public cel::SizeEstimator {
 public:
  std::optional<cel::Range> Size(std::span<const std::string_view>,
                                 const cel::Type& type) const override {
    const bool text = type.kind == cel::TypeKind::kString || type.kind == cel::TypeKind::kBytes;
    if (!text) return std::nullopt;
    return cel::Range{0, 12};
  }
};

class AlwaysAllowed final : public AccessChecker {
 public:
  const AccessAnswer& Check(const AccessQuestion&) override { return answer_; }

 private:
  AccessAnswer answer_{.allowed = true};
};

auto Environment(bool fold_constants) {
  cel::EnvironmentBuilder builder;
  AddKubernetesLibraries(builder);
  builder.AddLibrary(kJsonPatchLibrary)
      .AddVariable("authorizer", "kubernetes.authorization.Authorizer");
  builder.options().fold_constants = fold_constants;
  builder.options().homogeneous_literals = false;
  return builder.Build();
}

TEST(CostFactsTest, EstimatesAndCostsAreKubernetes) {
  const auto unfolded = Environment(false);
  const auto folded = Environment(true);
  ASSERT_TRUE(unfolded.ok()) << unfolded.status().message();
  ASSERT_TRUE(folded.ok()) << folded.status().message();
  std::ifstream file(PC_SOURCE_DIR "/tests/conformance/cel/kubernetes-costs.jsonl");
  ASSERT_TRUE(file.is_open());
  AlwaysAllowed checker;
  api::UserInfo user;
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    json::Arena arena;
    const auto fact = json::Parse(arena, line);
    ASSERT_TRUE(fact.ok()) << line;
    const cel::Environment& environment = (*fact)["folded"].AsBool() ? **folded : **unfolded;
    const cel::Compilation compilation = environment.Compile((*fact)["expr"].AsString());
    ASSERT_TRUE(compilation.ok()) << line << compilation.ErrorText();
    const cel::Range estimate = cel::EstimateCost(environment, *compilation.ast, ShortTexts());
    const json::Value expected = (*fact)["estimated"];
    EXPECT_EQ(static_cast<std::int64_t>(estimate.min), expected[std::size_t{0}].AsInt()) << line;
    EXPECT_EQ(static_cast<std::int64_t>(estimate.max), expected[std::size_t{1}].AsInt()) << line;
    cel::Activation activation(environment);
    activation.Bind("authorizer", MakeAuthorizer(arena, checker, user));
    const cel::Outcome outcome = compilation.program->Evaluate(activation, arena);
    if (const json::Value cost = (*fact)["cost"]; !cost.is_null()) {
      EXPECT_EQ(static_cast<std::int64_t>(outcome.cost), cost.AsInt()) << line;
    }
    const bool failed = outcome.value.is_error();
    if (const json::Value error = (*fact)["error"]; !error.is_null()) {
      EXPECT_EQ(failed ? outcome.value.error()->text : "no error", error.AsString()) << line;
    }
    if (const json::Value value = (*fact)["value"]; !value.is_null()) {
      EXPECT_EQ(cel::DebugString(outcome.value), value.AsString()) << line;
    }
  }
  EXPECT_GT(count, 200);
}

}  // namespace
}  // namespace portcullis::kube_cel
