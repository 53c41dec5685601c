// SPDX-License-Identifier: Apache-2.0

#include "cel/program.h"

#include <algorithm>
#include <array>

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
  constexpr std::size_t kInlineSlots = 16;
  std::array<Value, kInlineSlots> inline_slots;
  std::vector<Value> more_slots;
  EvalContext context(arena, activation, options);
  context.set_follows_specification(follows_specification_);
  context.set_slots(inline_slots.data());
  if (static_cast<std::size_t>(slot_count_) > kInlineSlots) {
    more_slots.resize(static_cast<std::size_t>(slot_count_));
    context.set_slots(more_slots.data());
  }
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
