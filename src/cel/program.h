// SPDX-License-Identifier: Apache-2.0

// A compiled expression and what one evaluation needs.
//
//   Activation activation(*environment);
//   activation.Bind("object", MakeFromJson(arena, document.root()));
//   Outcome outcome = program->Evaluate(activation, arena);
//   if (outcome.value.is_true()) …
//   else if (outcome.value.is_error()) report(outcome.value.error()->text);
//
// Programs are immutable and shared between threads. The result is valid as long as the program,
// the arena and what was bound. Evaluation cost is counted as cel-go's CostTracker does, to the
// unit.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "cel/library.h"
#include "cel/value.h"
#include "json/value.h"

namespace portcullis::cel {

class Ast;  // cel/syntax/ast.h
class Environment;
class Program;
struct Node;  // cel/eval/node.h

// Values of the variables of one environment. Variables keep their index in environments that
// extend another, so that one activation serves programs of the environment and of all it extends.
// Confined to one thread while it is changed.
class Activation {
 public:
  explicit Activation(const Environment& environment);
  // Unknown names are ignored: an expression cannot mention them either.
  void Bind(std::string_view name, Value value);
  // The JSON node must outlive the evaluation's result and stay in place.
  void BindJson(std::string_view name, const json::Value* node) {
    Bind(name, Value::FromJson(node));
  }
  void Set(int index, Value value) { values_[static_cast<std::size_t>(index)] = value; }
  Value Get(int index) const {
    const auto i = static_cast<std::size_t>(index);
    return i < values_.size() ? values_[i] : Value();
  }

 private:
  const Environment& environment_;
  std::vector<Value> values_;
};

// Asked now and then (every 100 iterations of a comprehension) whether to stop.
class Interrupt {
 public:
  virtual ~Interrupt() = default;
  virtual bool Interrupted() = 0;
};

// Sees the value of each sub-expression of a program compiled with `trace`.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void Observe(const Expr& expression, Value value) = 0;
};

inline constexpr std::uint64_t kNoCostLimit = kUnbounded;

struct EvalOptions {
  // Above it the result is the error "operation cancelled: actual cost limit exceeded".
  std::uint64_t cost_limit = kNoCostLimit;
  // The evaluation is to be short: a call with an argument that is large (cel/eval/call.cc) is not made,
  // but counts as one that passes the cost limit, since its cost need not say how long it takes.
  // REQUIRES: there is a cost limit.
  bool only_small_calls = false;
  Interrupt* interrupt = nullptr;  // "operation interrupted"
  Observer* observer = nullptr;
};

struct Outcome {
  Value value;  // never unset; an error if the evaluation failed
  std::uint64_t cost = 0;
};

// One evaluation under way; what function implementations are given.
class EvalContext {
 public:
  EvalContext(json::Arena& arena, const Activation& activation, const EvalOptions& options)
      : arena_(arena), activation_(activation), options_(options) {}
  EvalContext(const EvalContext&) = delete;
  EvalContext& operator=(const EvalContext&) = delete;

  json::Arena& arena() { return arena_; }
  // An ordinary error value with a copy of the text.
  Value Error(std::string_view text) { return MakeError(arena_, text); }
  // What the row's `prepare` made for this call, or null.
  const Prepared* prepared() const { return prepared_; }

  const Activation& activation() const { return activation_; }
  std::uint64_t cost() const { return cost_; }
  const EvalOptions& options() const { return options_; }

  // For the evaluator: counts cost; false once the limit is passed.
  bool Charge(std::uint64_t cost) {
    cost_ += cost;
    return cost_ <= options_.cost_limit;
  }
  // As Charge(), for `count` steps of 1 each: stops at the very step that passes the limit.
  bool ChargeSteps(std::uint64_t count) {
    cost_ += count;
    if (cost_ <= options_.cost_limit) return true;
    cost_ = options_.cost_limit + 1;
    return false;
  }
  // Counts an iteration; false if the evaluation is to stop (asked every 100th time).
  bool Step() {
    if (++steps_ % 100 != 0 || !options_.interrupt) return true;
    return !options_.interrupt->Interrupted();
  }
  // What cel-go takes but the specification of the language does not is an error: fields of values
  // without fields behind an optional or in has(), map literals with keys that repeat or are
  // doubles, searching a string from behind its end.
  bool follows_specification() const { return follows_specification_; }
  void set_follows_specification(bool follows) { follows_specification_ = follows; }
  void set_prepared(const Prepared* prepared) { prepared_ = prepared; }
  Value* slots() { return slots_; }
  void set_slots(Value* slots) { slots_ = slots; }

 private:
  json::Arena& arena_;
  const Activation& activation_;
  const EvalOptions& options_;
  const Prepared* prepared_ = nullptr;
  Value* slots_ = nullptr;  // iteration variables and accumulators, by index
  std::uint64_t cost_ = 0;
  std::uint32_t steps_ = 0;
  bool follows_specification_ = false;
};

class Program {
 public:
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  Outcome Evaluate(const Activation& activation, json::Arena& arena,
                   const EvalOptions& options = {}) const;

  const Type* result_type() const { return result_type_; }
  // Does the expression mention the variable (by its index in the environment)?
  bool Uses(int variable) const;
  // Approximate bytes that the program occupies.
  std::size_t memory_bytes() const;

 private:
  friend class Planner;
  Program() = default;

  json::Arena arena_{512};  // nodes and constants
  std::shared_ptr<const Environment> environment_;
  std::shared_ptr<const Ast> ast_;  // only if it is traced
  std::vector<std::shared_ptr<const Prepared>> prepared_;
  std::vector<int> variables_;
  const Node* root_ = nullptr;
  const Type* result_type_ = nullptr;
  int slot_count_ = 0;
  bool follows_specification_ = false;
};

}  // namespace portcullis::cel
