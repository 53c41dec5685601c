// SPDX-License-Identifier: Apache-2.0

// Operators that do not evaluate all of their operands, and equality.
#include <algorithm>
#include <cmath>

#include "cel/eval/node.h"

namespace portcullis::cel {
namespace {

constexpr ErrorNode kCostExceeded{"operation cancelled: actual cost limit exceeded",
                                  ErrorCode::kCostLimit};
constexpr ErrorNode kInterrupted{"operation interrupted", ErrorCode::kInterrupted};

// Evaluates terms up to the first that is `decisive`. An error is kept while a later term can still
// decide; the first one is the result then.
Value Logical(EvalContext& context, std::span<const Node* const> terms, bool decisive) {
  Value error;
  for (const Node* term : terms) {
    const Value value = term->Eval(context);
    if (value.is_bool()) {
      if (value.bool_value() == decisive) return value;
      continue;
    }
    if (value.is_error() && !IsOrdinaryError(value)) return value;
    if (error.is_unset()) error = value.is_error() ? value : NoSuchOverload();
  }
  return error.is_unset() ? Value::Bool(!decisive) : error;
}

// Sizes of strings are code points; most are short, so counting them is cheap.
std::uint64_t EqualityCost(Value a, Value b) {
  const std::uint64_t size = std::min(CostSize(a), CostSize(b));
  return (size + 9) / 10;
}

}  // namespace

Value CostExceeded() { return Value::Error(&kCostExceeded); }
Value InterruptedError() { return Value::Error(&kInterrupted); }

Value AndNode::Eval(EvalContext& context) const { return Logical(context, terms, false); }
Value OrNode::Eval(EvalContext& context) const { return Logical(context, terms, true); }

Value NotNode::Eval(EvalContext& context) const {
  const Value value = operand->Eval(context);
  if (value.is_bool()) return Charged(context, 1, Value::Bool(!value.bool_value()));
  if (!value.is_error()) return Charged(context, 1, NoSuchOverload());
  return IsOrdinaryError(value) ? Charged(context, 1, value) : value;
}

Value ConditionalNode::Eval(EvalContext& context) const {
  const Value value = condition->Eval(context);
  if (value.is_true()) return then->Eval(context);
  if (value.is_false()) return otherwise->Eval(context);
  return value.is_error() ? value : NoSuchOverload();
}

Value EqualNode::Eval(EvalContext& context) const {
  const Value a = left->Eval(context);
  if (a.is_error() && !IsOrdinaryError(a)) return a;
  const Value b = right->Eval(context);
  if (b.is_error() && !IsOrdinaryError(b)) return b;
  Value result;
  if (a.is_error() || b.is_error()) {
    result = a.is_error() ? a : b;
  } else {
    result = Equal(context.arena(), a, b);
    // An undecidable comparison is "not equal".
    if (negated) result = Value::Bool(!result.is_true());
  }
  if (cost) {
    const Value args[] = {a, b};
    return Charged(context, cost(std::span<const Value>(args), result), result);
  }
  const bool opaque = !negated && a.is_object() && !a.object()->is_struct();
  return Charged(context, opaque ? 1 : EqualityCost(a, b), result);
}

Value OptionalOrNode::Eval(EvalContext& context) const {
  if (attribute && !attribute->plain && !attribute->test_only) {
    // Straight from the attribute, without an optional in between.
    const AttributeNode::Resolved resolved = attribute->Resolve(context);
    const bool ended = resolved.value.is_error() && !IsOrdinaryError(resolved.value);
    if (ended) return resolved.value;
    if (!context.ChargeSteps(static_cast<std::uint64_t>(attribute->own_cost))) {
      return CostExceeded();
    }
    if (resolved.value.is_error()) return resolved.value;
    if (resolved.optional) {
      if (!resolved.present) return alternative->Eval(context);
      return take_value ? resolved.value : MakeSome(context.arena(), resolved.value);
    }
    if (resolved.value.kind() != Kind::kOptional) return resolved.value;
    if (!resolved.value.content()) return alternative->Eval(context);
    return take_value ? *resolved.value.content() : resolved.value;
  }
  const Value value = optional->Eval(context);
  if (value.kind() != Kind::kOptional) return value;
  if (!value.content()) return alternative->Eval(context);
  return take_value ? *value.content() : value;
}

Value MemberOfNode::Eval(EvalContext& context) const {
  const Value value = element->Eval(context);
  if (value.is_error()) return value;
  if (strings) {
    if (!value.is_string()) return Value::Bool(false);
    const std::string_view text = value.text();
    for (const Value& candidate : values) {
      if (candidate.text() == text) return Value::Bool(true);
    }
    return Value::Bool(false);
  }
  for (const Value& candidate : values) {
    if (Equal(context.arena(), candidate, value).is_true()) return Value::Bool(true);
  }
  return Value::Bool(false);
}

Value TraceNode::Eval(EvalContext& context) const {
  const Value value = inner->Eval(context);
  if (context.options().observer) context.options().observer->Observe(*expr, value);
  return value;
}

}  // namespace portcullis::cel
