// SPDX-License-Identifier: Apache-2.0

#include "cel/program.h"

#include <algorithm>

#include "base/inline_vector.h"
#include "cel/environment.h"
#include "cel/eval/node.h"

namespace portcullis::cel {

Activation::Activation(const Environment& environment)
    : environment_(environment), values_(environment.variables().size()) {}

void Activation::Bind(std::string_view name, Value value) {
  if (const int index = environment_.VariableIndex(name); index >= 0) Set(index, value);
}

Program::~Program() = default;

Outcome Program::Evaluate(const Activation& activation, json::Arena& arena,
                          const EvalOptions& options) const {
  constexpr std::size_t kUsualSlots = 16;
  base::InlineVector<Value, kUsualSlots> slots;
  for (std::int32_t i = 0; i < slot_count_; ++i) slots.push_back(Value());  // mostly there is none
  EvalContext context(arena, activation, options);
  context.set_follows_specification(follows_specification_);
  context.set_slots(slots.data());
  Outcome outcome;
  outcome.value = root_->Eval(context);
  outcome.cost = context.cost();
  return outcome;
}

bool Program::Uses(int variable) const {
  return std::find(variables_.begin(), variables_.end(), variable) != variables_.end();
}

std::size_t Program::memory_bytes() const {
  return sizeof(Program) + arena_.bytes_used() + variables_.capacity() * sizeof(int);
}

}  // namespace portcullis::cel
