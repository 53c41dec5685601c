// SPDX-License-Identifier: Apache-2.0

// The nodes of a planned program. Each evaluates itself and charges its own cost; the tree lives in
// the program's arena and is immutable. Depth is bounded by the parser's limit, hence so is the
// recursion.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cel/program.h"
#include "cel/value.h"

namespace portcullis::cel {

class ObjectFactory;  // cel/environment.h
struct Overload;      // cel/checker/declarations.h
struct FunctionGroup;

struct Node {
  virtual Value Eval(EvalContext& context) const = 0;
  // The constant's value, or unset.
  virtual Value constant() const { return Value(); }

 protected:
  ~Node() = default;
};

Value CostExceeded();
Value InterruptedError();

// `value`, or the error that ends the evaluation if its cost passes the limit.
inline Value Charged(EvalContext& context, std::uint64_t cost, Value value) {
  return context.Charge(cost) ? value : CostExceeded();
}
inline Value ChargedSteps(EvalContext& context, std::uint64_t steps, Value value) {
  return context.ChargeSteps(steps) ? value : CostExceeded();
}

struct ConstNode final : Node {
  explicit ConstNode(Value v) : value(v) {}
  Value Eval(EvalContext&) const override { return value; }
  Value constant() const override { return value; }
  Value value;
};

// --- Attributes: a variable, or the result of a node, followed by qualifiers ---

struct Qualifier {
  enum class Kind : std::uint8_t { kField, kConstant, kDynamic };
  Kind kind = Kind::kField;
  bool optional = false;
  std::string_view name;        // kField
  std::uint32_t hash = 0;       // of name
  Value key;                    // kField (as a string), kConstant
  const Node* index = nullptr;  // kDynamic: its own identifier is not charged
};

struct AttributeNode final : Node {
  enum class Root : std::uint8_t { kVariable, kSlot, kLazySlot, kOperand, kMissing };

  // What resolving came to; `value` is the content if present in an optional.
  struct Resolved {
    Value value;
    bool optional = false;  // an optional was involved
    bool present = true;
  };

  Value Eval(EvalContext& context) const override;
  Resolved Resolve(EvalContext& context) const;

  Root root = Root::kVariable;
  bool test_only = false;  // has(): the last qualifier is only tested
  bool plain = false;      // a variable and fields, none optional: the short way
  std::int8_t own_cost = 1;
  std::int32_t index = 0;         // variable or slot
  const Node* operand = nullptr;  // kOperand; the initial value for kLazySlot
  std::string_view name;          // for "no such attribute(s)"
  std::span<const Qualifier> qualifiers;

 private:
  Value RootValue(EvalContext& context) const;
  // Unset if the variable holds an optional.
  Value EvalPlain(EvalContext& context) const;
};

// `operand` qualified by `key`; unset if absent and `presence`, an error otherwise.
Value Qualify(EvalContext& context, Value operand, Value key, bool presence);

// --- Logic ---

struct AndNode final : Node {
  Value Eval(EvalContext& context) const override;
  std::span<const Node* const> terms;
};
struct OrNode final : Node {
  Value Eval(EvalContext& context) const override;
  std::span<const Node* const> terms;
};
struct NotNode final : Node {
  Value Eval(EvalContext& context) const override;
  const Node* operand = nullptr;
};
struct ConditionalNode final : Node {
  Value Eval(EvalContext& context) const override;
  const Node* condition = nullptr;
  const Node* then = nullptr;
  const Node* otherwise = nullptr;
};
struct EqualNode final : Node {
  Value Eval(EvalContext& context) const override;
  const Node* left = nullptr;
  const Node* right = nullptr;
  bool negated = false;
  ActualCost cost = nullptr;
};
// optional.or() and orValue(): the argument is evaluated only if it is needed.
struct OptionalOrNode final : Node {
  Value Eval(EvalContext& context) const override;
  const Node* optional = nullptr;
  const AttributeNode* attribute = nullptr;  // `optional` if it is one
  const Node* alternative = nullptr;
  bool take_value = false;
};
// `x in [constants]`
struct MemberOfNode final : Node {
  Value Eval(EvalContext& context) const override;
  const Node* element = nullptr;
  std::span<const Value> values;
  bool strings = false;  // all values are strings
};

// --- Calls ---

struct OperatorNode final : Node {
  using Binary = Value (*)(json::Arena& arena, Value a, Value b);
  Value Eval(EvalContext& context) const override;
  Binary apply = nullptr;
  std::string_view name;
  std::uint32_t kinds = 0;  // left operands that have the operation, as bits of Kind
  const Node* left = nullptr;
  const Node* right = nullptr;  // null: unary
  ActualCost cost = nullptr;    // null: 1
};

struct CallNode final : Node {
  Value Eval(EvalContext& context) const override;
  Value Invoke(EvalContext& context, std::span<const Value> values) const;
  const FunctionGroup* function = nullptr;
  const Overload* overload = nullptr;  // the only candidate, or null: found by the arguments
  std::span<const Node* const> args;
  const Prepared* prepared = nullptr;
  bool has_pattern = false;  // a constant one: cel-go then makes a call that does not name itself
  ActualCost cost = nullptr;
};

// A function that the environment does not have, in an unchecked expression.
struct MissingCallNode final : Node {
  Value Eval(EvalContext& context) const override;
  std::string_view name;
};

// --- Aggregates ---

struct ListNode final : Node {
  Value Eval(EvalContext& context) const override;
  std::span<const Node* const> elements;
  std::span<const bool> optional;  // empty if none is
};
struct MapNode final : Node {
  Value Eval(EvalContext& context) const override;
  std::span<const Node* const> keys;
  std::span<const Node* const> values;
  std::span<const bool> optional;
};
struct StructNode final : Node {
  Value Eval(EvalContext& context) const override;
  const Type* type = nullptr;
  const ObjectFactory* factory = nullptr;
  std::span<const std::string_view> names;
  std::span<const Node* const> values;
  std::span<const bool> optional;
};

// --- Loops ---

struct LoopNode : Node {
  const Node* range = nullptr;
  const Node* body = nullptr;
  const Node* filter = nullptr;
  std::int32_t slot = 0;          // of the first variable
  std::int32_t slot2 = -1;        // of the second, or -1
  bool body_is_constant = false;  // the one-element list or map of each step costs nothing
  bool fold = true;               // the empty start costs nothing

 protected:
  ~LoopNode() = default;
  // Evaluates the range; an error if it cannot be iterated.
  Value Range(EvalContext& context) const;
  void SetVariables(EvalContext& context, Value value, std::size_t index) const;
};
struct AllNode final : LoopNode {
  Value Eval(EvalContext& context) const override;
  bool exists = false;
};
struct ExistsOneNode final : LoopNode {
  Value Eval(EvalContext& context) const override;
};
struct ListLoopNode final : LoopNode {
  Value Eval(EvalContext& context) const override;
};
struct MapLoopNode final : LoopNode {
  Value Eval(EvalContext& context) const override;
  bool entries = false;  // transformMapEntry
};
struct GenericLoopNode final : LoopNode {
  Value Eval(EvalContext& context) const override;
  const Node* init = nullptr;
  const Node* condition = nullptr;
  const Node* step = nullptr;
  const Node* result = nullptr;
  std::int32_t accumulator = 0;
};

// Shows the value to the observer.
struct TraceNode final : Node {
  Value Eval(EvalContext& context) const override;
  const Node* inner = nullptr;
  const Expr* expr = nullptr;
};

}  // namespace portcullis::cel
