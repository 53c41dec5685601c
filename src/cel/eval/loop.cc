// SPDX-License-Identifier: Apache-2.0

// Comprehensions. The forms that macros make have loops of their own, which charge exactly what the
// general loop (accumulator, condition, step, result) would.
#include <string>
#include <unordered_set>
#include <vector>

#include "cel/eval/arithmetic.h"
#include "cel/eval/node.h"

namespace portcullis::cel {
namespace {

constexpr std::uint64_t kListCost = 10;
constexpr std::uint64_t kMapCost = 30;

// The keys a map under construction has so far. Numbers are one key across kinds.
class KeySet {
 public:
  // False if the key was there.
  bool Add(json::Arena& arena, Value key) {  // numbers are the same across kinds
    if (key.is_string()) return names_.insert(key.text()).second;
    if (key.kind() == Kind::kInt && others_.empty()) return ints_.insert(key.int_value()).second;
    for (const std::int64_t known : ints_) others_.push_back(Value::Int(known));
    ints_.clear();
    for (const Value known : others_) {
      const bool same = key.is_number() ? Equal(arena, known, key).is_true() : SameKey(known, key);
      if (same) return false;
    }
    others_.push_back(key);
    return true;
  }

 private:
  std::unordered_set<std::string_view> names_;
  std::unordered_set<std::int64_t> ints_;
  std::vector<Value> others_;
};

bool IsFatal(Value value) { return value.is_error() && !IsOrdinaryError(value); }

}  // namespace

Value LoopNode::Range(EvalContext& context) const {
  const Value value = range->Eval(context);
  if (value.is_list() || value.is_map() || value.is_error()) return value;
  if (slot2 >= 0) {
    return context.Error("unsupported comprehension range type: " + std::string(GoTypeName(value)));
  }
  return context.Error("got '" + std::string(GoTypeName(value)) + "', expected iterable type");
}

void LoopNode::SetVariables(EvalContext& context, Value value, std::size_t index) const {
  Value* slots = context.slots();
  json::Arena& arena = context.arena();
  if (value.is_list()) {
    const Value element = value.At(arena, index);
    if (slot2 < 0) {
      slots[slot] = element;
      return;
    }
    slots[slot] = Value::Int(static_cast<std::int64_t>(index));
    slots[slot2] = element;
    return;
  }
  slots[slot] = value.KeyAt(arena, index);
  if (slot2 >= 0) slots[slot2] = value.ValueAt(arena, index);
}

Value AllNode::Eval(EvalContext& context) const {
  const Value values = Range(context);
  if (values.is_error()) return values;
  // Per iteration: the condition (2 for all, 3 for exists) and the accumulator in the step (1).
  const std::uint64_t condition = exists ? 3 : 2;
  const bool decisive = exists;
  bool decided = false;
  Value error;
  const std::size_t size = values.size();
  for (std::size_t i = 0; i < size; ++i) {
    if (!context.ChargeSteps(condition)) return CostExceeded();
    if (decided) break;
    if (!context.ChargeSteps(1)) return CostExceeded();
    SetVariables(context, values, i);
    const Value value = body->Eval(context);
    if (value.is_bool()) {
      decided = value.bool_value() == decisive;
    } else if (IsFatal(value)) {
      return value;
    } else if (error.is_unset()) {
      error = value.is_error() ? value : NoSuchOverload();
    }
    if (!context.Step()) return InterruptedError();
  }
  const Value result = decided            ? Value::Bool(decisive)
                       : error.is_unset() ? Value::Bool(!decisive)
                                          : error;
  return ChargedSteps(context, 1, result);
}

Value ExistsOneNode::Eval(EvalContext& context) const {
  const Value values = Range(context);
  if (values.is_error()) return values;
  std::int64_t count = 0;
  Value error;
  const std::size_t size = values.size();
  for (std::size_t i = 0; i < size; ++i) {
    SetVariables(context, values, i);
    const Value value = body->Eval(context);
    if (IsFatal(value)) return value;
    if (value.is_true()) {
      if (!context.ChargeSteps(2)) return CostExceeded();
      ++count;
    } else if (!value.is_false()) {
      error = value.is_error() ? value : NoSuchOverload();
    }
    if (!context.Step()) return InterruptedError();
  }
  return ChargedSteps(context, 2, error.is_unset() ? Value::Bool(count == 1) : error);
}

Value ListLoopNode::Eval(EvalContext& context) const {
  const Value values = Range(context);
  if (values.is_error()) return values;
  // The empty start is made, and paid, when the accumulator is read first.
  bool start = !fold;
  const auto read_accumulator = [&] {
    const std::uint64_t cost = start ? kListCost : 0;
    start = false;
    return context.Charge(cost);
  };
  const std::size_t size = values.size();
  json::Arena& arena = context.arena();
  Value* results = nullptr;
  std::size_t count = 0;
  Value error;
  for (std::size_t i = 0; i < size; ++i) {
    SetVariables(context, values, i);
    bool take = true;
    if (filter) {
      const Value value = filter->Eval(context);
      if (IsFatal(value)) return value;
      take = value.is_true();
      if (!value.is_bool()) {
        error = value.is_error() ? value : NoSuchOverload();
        start = false;
      }
    }
    if (!read_accumulator()) return CostExceeded();
    if (take) {
      if (!context.ChargeSteps(1)) return CostExceeded();
      const Value value = body->Eval(context);
      if (IsFatal(value)) return value;
      if (!body_is_constant && !context.Charge(kListCost)) return CostExceeded();
      if (!context.ChargeSteps(1)) return CostExceeded();
      if (value.is_error()) {
        if (error.is_unset()) error = value;
      } else if (error.is_unset()) {
        if (!results) {
          results = static_cast<Value*>(arena.Allocate(size * sizeof(Value), alignof(Value)));
        }
        new (results + count++) Value(value);
      }
    }
    if (!context.Step()) return InterruptedError();
  }
  if (!read_accumulator() || !context.ChargeSteps(1)) return CostExceeded();
  if (!error.is_unset()) return error;
  return MakeList(arena, std::span<const Value>(results, count));
}

Value MapLoopNode::Eval(EvalContext& context) const {
  const Value values = Range(context);
  if (values.is_error()) return values;
  // The empty start is made, and paid, when the accumulator is read first.
  bool start = !fold;
  const auto read_accumulator = [&] {
    const std::uint64_t cost = start ? kMapCost : 0;
    start = false;
    return context.Charge(cost);
  };
  json::Arena& arena = context.arena();
  std::vector<MapEntry> results;
  KeySet keys;
  Value error;
  const std::size_t size = values.size();
  for (std::size_t i = 0; i < size; ++i) {
    SetVariables(context, values, i);
    bool take = true;
    if (filter) {
      const Value value = filter->Eval(context);
      if (IsFatal(value)) return value;
      take = value.is_true();
      if (!value.is_bool()) {
        error = value.is_error() ? value : NoSuchOverload();
        start = false;
      }
    }
    if (!read_accumulator()) return CostExceeded();
    if (take) {
      // The accumulator; a call with three arguments stops at an error in it.
      if (!context.ChargeSteps(1)) return CostExceeded();
      if (entries || error.is_unset()) {
        if (!entries && !context.ChargeSteps(1)) return CostExceeded();  // the key
        const Value value = body->Eval(context);
        if (IsFatal(value)) return value;
        if (!context.ChargeSteps(1)) return CostExceeded();
        if (value.is_error()) {
          if (error.is_unset()) error = value;
        } else if (error.is_unset() && !entries) {
          const Value key =
              values.is_list() ? Value::Int(static_cast<std::int64_t>(i)) : values.KeyAt(arena, i);
          results.push_back({key, value});
        } else if (error.is_unset() && value.is_map()) {
          for (std::size_t e = 0; e < value.size() && error.is_unset(); ++e) {
            const Value key = value.KeyAt(arena, e);
            if (!keys.Add(arena, key)) {
              error = context.Error("insert failed: key " + PlainText(key) + " already exists");
            }
            if (error.is_unset()) results.push_back({key, value.ValueAt(arena, e)});
          }
        } else if (error.is_unset()) {
          error = NoSuchOverload();
        }
      }
    }
    if (!context.Step()) return InterruptedError();
  }
  if (!read_accumulator() || !context.ChargeSteps(1)) return CostExceeded();
  if (!error.is_unset()) return error;
  return MakeMap(arena, results);
}

Value GenericLoopNode::Eval(EvalContext& context) const {
  const Value values = Range(context);
  if (values.is_error()) return values;
  Value* slots = context.slots();
  slots[accumulator] = Value();  // evaluated when it is first asked for
  const std::size_t size = values.size();
  for (std::size_t i = 0; i < size; ++i) {
    SetVariables(context, values, i);
    const Value go_on = condition->Eval(context);
    if (IsFatal(go_on)) return go_on;
    if (go_on.is_false()) break;
    const Value next = step->Eval(context);
    if (IsFatal(next)) return next;
    slots[accumulator] = next;
    if (!context.Step()) return InterruptedError();
  }
  return result->Eval(context);
}

}  // namespace portcullis::cel
