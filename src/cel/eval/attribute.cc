// SPDX-License-Identifier: Apache-2.0

// Attributes: resolving a variable and its qualifiers. This is where most evaluations spend their
// time, so JSON objects are walked with interned names and hashes, without making values on the
// way.
#include <cmath>
#include <string>

#include "cel/eval/node.h"

namespace portcullis::cel {
namespace {

Value NoSuchKey(EvalContext& context, Value key) {
  return context.Error("no such key: " + PlainText(key));
}

// What can qualify anything; the rest is refused whatever it qualifies.
bool IsQualifier(Value key) { return key.is_string() || key.is_bool() || key.is_number(); }

Value InvalidQualifier(EvalContext& context, Value key) {
  std::string type(GoTypeName(key));
  if (key.kind() == Kind::kNull) type = "<nil>";
  if (key.is_list() && key.json()) type = "[]interface {}";
  if (key.is_map() && key.json()) type = "map[string]interface {}";
  return context.Error("invalid qualifier type: " + type);
}

// A list index as cel-go takes it: int, uint, or a whole double.
Value IndexOf(EvalContext& context, Value key) {
  switch (key.kind()) {
    case Kind::kInt:
      return key;
    case Kind::kUint:
      if (key.uint_value() > static_cast<std::uint64_t>(INT64_MAX)) break;
      return Value::Int(static_cast<std::int64_t>(key.uint_value()));
    case Kind::kDouble: {
      const double d = key.double_value();
      if (d < -9223372036854775808.0 || d >= 9223372036854775808.0 || std::trunc(d) != d) break;
      return Value::Int(static_cast<std::int64_t>(d));
    }
    default:
      return context.Error("unsupported index type '" + std::string(TypeName(key)) + "' in list");
  }
  return context.Error("unsupported index value " + PlainText(key) + " in list");
}

Value QualifyList(EvalContext& context, Value operand, Value key, bool presence) {
  const Value index = IndexOf(context, key);
  if (index.is_error()) return index;
  const std::int64_t at = index.int_value();
  if (at >= 0 && static_cast<std::uint64_t>(at) < operand.size()) {
    return operand.At(context.arena(), static_cast<std::size_t>(at));
  }
  if (presence) return Value();
  return context.Error("index out of bounds: " + PlainText(key));
}

Value QualifyMap(EvalContext& context, Value operand, Value key, bool presence) {
  const Value found = operand.Find(context.arena(), key);
  if (!found.is_unset() || presence) return found;
  return NoSuchKey(context, key);
}

}  // namespace

Value Qualify(EvalContext& context, Value operand, Value key, bool presence) {
  if (!IsQualifier(key)) return InvalidQualifier(context, key);
  if (operand.is_map()) return QualifyMap(context, operand, key, presence);
  if (operand.is_list()) return QualifyList(context, operand, key, presence);
  if (operand.is_object() && operand.object()->is_struct() && key.is_string()) {
    if (presence && !operand.object()->HasField(key.text())) return Value();
    const Value found = operand.object()->Field(context.arena(), key.text());
    if (!found.is_unset() || presence) return found;
  }
  const bool strict = context.follows_specification() && operand.kind() != Kind::kOptional;
  if (presence && !strict) return Value();
  return NoSuchKey(context, key);
}

Value AttributeNode::RootValue(EvalContext& context) const {
  switch (root) {
    case Root::kVariable: {
      const Value value = context.activation().Get(index);
      if (!value.is_unset()) return value;
      break;
    }
    case Root::kSlot:
      return context.slots()[index];
    case Root::kLazySlot: {
      Value& slot = context.slots()[index];
      if (slot.is_unset()) slot = operand->Eval(context);
      return slot;
    }
    case Root::kOperand:
      return operand->Eval(context);
    case Root::kMissing:
      break;
  }
  return context.Error("no such attribute(s): " + std::string(name));
}

Value AttributeNode::EvalPlain(EvalContext& context) const {
  Value value = RootValue(context);
  if (value.kind() == Kind::kOptional && !qualifiers.empty()) return Value();  // the long way
  std::uint64_t steps = 0;
  const std::size_t count = qualifiers.size();
  std::size_t i = 0;
  bool present = true;
  // As long as it is JSON, follow the nodes themselves.
  const json::Value* node = value.is_map() ? value.json() : nullptr;
  while (node && i < count) {
    const Qualifier& qualifier = qualifiers[i];
    const json::Value* next = node->Find(qualifier.name, qualifier.hash);
    if (!next) {
      if (!node->is_object()) {
        value = Value::FromJson(node);
        break;
      }
      ++steps;
      if (test_only && i + 1 == count) {
        present = false;
        ++i;
        break;
      }
      return ChargedSteps(context, steps + static_cast<std::uint64_t>(own_cost),
                          NoSuchKey(context, qualifier.key));
    }
    ++steps;
    ++i;
    node = next;
  }
  if (i == count) {
    if (test_only) value = Value::Bool(present);
    if (!test_only && node) value = Value::FromJson(node);
    return ChargedSteps(context, steps + static_cast<std::uint64_t>(own_cost), value);
  }
  for (; i < count && !value.is_error(); ++i) {
    ++steps;
    const bool test = test_only && i + 1 == count;
    value = Qualify(context, value, qualifiers[i].key, test);
    if (test && !value.is_error()) value = Value::Bool(!value.is_unset());
  }
  if (value.is_error() && !IsOrdinaryError(value)) return value;
  return ChargedSteps(context, steps + static_cast<std::uint64_t>(own_cost), value);
}

AttributeNode::Resolved AttributeNode::Resolve(EvalContext& context) const {
  Resolved result;
  result.value = RootValue(context);
  if (result.value.is_error()) return result;
  // An optional at the root makes everything behind it optional.
  if (result.value.kind() == Kind::kOptional && !qualifiers.empty()) {
    result.optional = true;
    if (!result.value.content()) {
      result.present = false;
      return result;
    }
    result.value = *result.value.content();
  }
  for (std::size_t i = 0; i < qualifiers.size(); ++i) {
    const Qualifier& qualifier = qualifiers[i];
    result.optional = result.optional || qualifier.optional;
    Value key = qualifier.key;
    if (qualifier.kind == Qualifier::Kind::kDynamic) {
      key = qualifier.index->Eval(context);
      if (key.is_error()) {
        result.value = IsOrdinaryError(key) && !context.Charge(1) ? CostExceeded() : key;
        return result;
      }
    }
    const bool test = test_only && i + 1 == qualifiers.size();
    const bool presence = result.optional || test;
    Value next = Qualify(context, result.value, key, presence);
    const bool counts = !next.is_unset() || (test && !result.optional);
    if (counts && !context.Charge(1)) next = CostExceeded();
    if (next.is_error()) {
      result.value = next;
      return result;
    }
    if (test && !result.optional) next = Value::Bool(!next.is_unset());
    if (next.is_unset()) {
      result.present = false;
      return result;
    }
    result.value = next;
  }
  return result;
}

Value AttributeNode::Eval(EvalContext& context) const {
  if (plain) {
    const Value value = EvalPlain(context);
    if (!value.is_unset()) return value;
  }
  const Resolved resolved = Resolve(context);
  Value value = resolved.value;
  if (value.is_error()) {
    if (!IsOrdinaryError(value)) return value;
  } else if (test_only && resolved.optional) {
    value = Value::Bool(resolved.present);
  } else if (resolved.optional) {
    value = resolved.present ? MakeSome(context.arena(), value) : Value::None();
  }
  return ChargedSteps(context, static_cast<std::uint64_t>(own_cost), value);
}

}  // namespace portcullis::cel
