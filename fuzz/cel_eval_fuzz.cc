// Random expressions: a program and the reference interpreter agree on value, error and cost, and a
// cost limit always ends an evaluation.
#include <cstdlib>

#include "cel/testing/fixture.h"
#include "cel/testing/generator.h"
#include "cel/testing/reference.h"

namespace cel = portcullis::cel;
namespace json = portcullis::json;

namespace {

std::string Show(const cel::Outcome& outcome) {
  const cel::Value value = outcome.value;
  if (value.is_error()) return "error: " + std::string(value.error()->text);
  return cel::DebugString(value) + " at " + std::to_string(outcome.cost);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static cel::testing::Fixture fixture;
  const std::string text = size > 0 && data[0] == '='
                               ? std::string(reinterpret_cast<const char*>(data) + 1, size - 1)
                               : cel::testing::GenerateExpression({data, size});
  const cel::Compilation compilation = fixture.environment().Compile(text);
  if (!compilation.ok()) return 0;
  json::Arena arena;
  const cel::Activation activation = fixture.Bindings();
  cel::EvalOptions options;
  options.cost_limit = 20000;
  const cel::Outcome outcome = compilation.program->Evaluate(activation, arena, options);
  if (outcome.value.is_unset()) std::abort();
  const bool stopped =
      outcome.value.is_error() && outcome.value.error()->code != cel::ErrorCode::kOrdinary;
  if (stopped != (outcome.cost > options.cost_limit)) std::abort();
  if (stopped) return 0;
  const cel::Outcome expected =
      cel::testing::Interpret(fixture.environment(), *compilation.ast, activation, arena);
  if (Show(outcome) != Show(expected)) std::abort();
  return 0;
}
