// SPDX-License-Identifier: Apache-2.0

// What the evaluator's targets check of an expression: the program agrees with the reference
// interpreter (cel/testing/reference.h), and an evaluation stops at its limit.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cel/testing/fixture.h"
#include "cel/testing/reference.h"

namespace portcullis::fuzz {

class Agreement {
 public:
  explicit Agreement(bool fold) : fixture_(fold) {}

  void Check(std::string_view text) {
    const cel::Compilation compilation = fixture_.environment().Compile(text);
    if (!compilation.ok()) return;
    json::Arena arena;
    const cel::Activation activation = fixture_.Bindings();
    cel::EvalOptions options;
    options.cost_limit = 20000;
    const cel::Outcome outcome = compilation.program->Evaluate(activation, arena, options);
    if (outcome.value.is_unset()) std::abort();
    const bool stopped =
        outcome.value.is_error() && outcome.value.error()->code != cel::ErrorCode::kOrdinary;
    if (stopped != (outcome.cost > options.cost_limit)) std::abort();
    if (stopped) return;
    const cel::Outcome expected =
        cel::testing::Interpret(fixture_.environment(), *compilation.ast, activation, arena);
    if (Show(outcome) == Show(expected)) return;
    std::fprintf(stderr, "%.*s\n  program:   %s\n  reference: %s\n", static_cast<int>(text.size()),
                 text.data(), Show(outcome).c_str(), Show(expected).c_str());
    std::abort();
  }

 private:
  static std::string Show(const cel::Outcome& outcome) {
    const cel::Value value = outcome.value;
    if (value.is_error()) {
      return "error: " + std::string(value.error()->text) + " at " + std::to_string(outcome.cost);
    }
    return cel::DebugString(value) + " at " + std::to_string(outcome.cost);
  }

  cel::testing::Fixture fixture_;
};

}  // namespace portcullis::fuzz
