// SPDX-License-Identifier: Apache-2.0

// Calls of functions and operators, and the making of lists, maps and structs.
#include <array>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/strings.h"
#include "cel/checker/declarations.h"
#include "cel/environment.h"
#include "cel/eval/node.h"

namespace portcullis::cel {
namespace {

constexpr std::size_t kMaxArgs = 8;

bool Accepts(json::Arena& arena, const Overload& overload, std::span<const Value> values) {
  if (overload.checks.size() != values.size()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!overload.checks[i].Accepts(arena, values[i])) return false;
  }
  return true;
}

// Kinds with methods of their own: an operator they lack is "no such overload" without its name.
bool HasMethods(Kind kind) {
  return kind == Kind::kString || kind == Kind::kTimestamp || kind == Kind::kDuration;
}

// Functions of which cel-go has one implementation for all overloads: whichever the checker has taken.
bool IsShared(const FunctionGroup& group) { return group.name == "size" || group.name == "@in"; }

Value NoMatch(EvalContext& context, const FunctionGroup& group, std::span<const Value> values) {
  const std::string_view function = group.name;
  // Functions that cel-go dispatches like operators.
  if (function == "size" || function == "matches" || function == "sort") {
    if (HasMethods(values[0].kind())) return NoSuchOverload();
    return context.Error("no such overload: " + std::string(function));
  }
  if (function == "@in" || !group.overloads.front().row->guarded) return NoSuchOverload();
  std::string text = "no such overload: " + std::string(function) + "(";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ", ";
    text += TypeName(values[i]);
  }
  return context.Error(text + ")");
}

// Worth asking for the cost of a call before it is made?
bool AnyLarge(std::span<const Value> values) {
  constexpr std::size_t kLarge = 500;
  for (const Value value : values) {
    if ((value.is_list() || value.is_map()) && value.size() > kLarge) return true;
  }
  return false;
}

// Larger than what a short evaluation may call functions with: some take the square of the size, or the
// product of two, and cost the size.
bool AnyNotSmall(std::span<const Value> values) {
  constexpr std::size_t kSmall = 200;           // elements
  constexpr std::size_t kSmallText = 4 * 1024;  // bytes
  for (const Value value : values) {
    if ((value.is_list() || value.is_map()) && value.size() > kSmall) return true;
    const bool is_text = value.is_string() || value.kind() == Kind::kBytes;
    if (is_text && value.text().size() > kSmallText) return true;
  }
  return false;
}

Value NotOptional(EvalContext& context, std::string_view what, Value value) {
  return context.Error("cannot initialize optional " + std::string(what) +
                       " from non-optional value " + PlainText(value));
}

// Short lists of values on the stack, long ones on the heap.
class Values {
 public:
  explicit Values(std::size_t size) {
    if (size > inline_.size()) {
      heap_.resize(size);
      data_ = heap_.data();
    }
  }
  Value* data() { return data_; }
  void Add(Value value) { data_[count_++] = value; }
  std::span<const Value> all() const { return {data_, count_}; }

 private:
  std::array<Value, 16> inline_;
  std::vector<Value> heap_;
  Value* data_ = inline_.data();
  std::size_t count_ = 0;
};

}  // namespace

Value OperatorNode::Eval(EvalContext& context) const {
  const Value a = left->Eval(context);
  if (a.is_error() && !IsOrdinaryError(a)) return a;
  Value b;
  if (right) {
    b = right->Eval(context);
    if (b.is_error() && !IsOrdinaryError(b)) return b;
  }
  Value result;
  if (a.is_error() || b.is_error()) {
    result = a.is_error() ? a : b;
  } else if ((kinds >> static_cast<unsigned>(a.kind()) & 1U) != 0) {
    result = apply(context.arena(), a, b);
  } else if (HasMethods(a.kind())) {
    result = NoSuchOverload();
  } else {
    result = context.Error("no such overload: " + std::string(name));
  }
  if (!cost) return Charged(context, 1, result);
  const Value args[] = {a, b};
  return Charged(context, cost(std::span<const Value>(args, right ? 2 : 1), result), result);
}

Value CallNode::Invoke(EvalContext& context, std::span<const Value> values) const {
  const Overload* chosen =
      overload && Accepts(context.arena(), *overload, values) ? overload : nullptr;
  if (!chosen && (!overload || IsShared(*function))) {
    for (const Overload& candidate : function->overloads) {
      if (candidate.row->impl && Accepts(context.arena(), candidate, values)) {
        chosen = &candidate;
        break;
      }
    }
  }
  if (!chosen) return has_pattern ? NoSuchOverload() : NoMatch(context, *function, values);
  context.set_prepared(prepared);
  return chosen->row->impl(context, values);
}

Value CallNode::Eval(EvalContext& context) const {
  std::array<Value, kMaxArgs> values;
  const std::size_t count = args.size();
  Value error;
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = args[i]->Eval(context);
    if (!values[i].is_error()) continue;
    if (!IsOrdinaryError(values[i])) return values[i];
    if (error.is_unset()) error = values[i];
    // From three arguments on, cel-go stops at the first error, and counts the call only if that
    // was the last argument.
    if (count > 2 && i + 1 < count) return error;
    if (count > 2) break;
  }
  const std::span<const Value> all(values.data(), count);
  // Do not begin a call that exceeds the cost limit; its result could only add to the cost.
  if (cost && error.is_unset() && AnyLarge(all)) {
    const std::uint64_t at_least = cost(all, Value());
    if (at_least > context.options().cost_limit) return Charged(context, at_least, Value());
  }
  if (context.options().only_small_calls && error.is_unset() && AnyNotSmall(all)) {
    return Charged(context, context.options().cost_limit + 1, Value());
  }
  const Value result = error.is_unset() ? Invoke(context, all) : error;
  if (overload && overload->row->panic) {
    const std::string panic = overload->row->panic(all);
    if (!panic.empty()) return MakeInternalError(context.arena(), panic);
  }
  return Charged(context, cost ? cost(all, result) : 1, result);
}

Value MissingCallNode::Eval(EvalContext& context) const {
  return Charged(context, 1, context.Error("no such overload: " + std::string(name)));
}

Value ListNode::Eval(EvalContext& context) const {
  constexpr std::uint64_t kCost = 10;
  Values values(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    Value value = elements[i]->Eval(context);
    if (value.is_error()) return IsOrdinaryError(value) ? Charged(context, kCost, value) : value;
    if (!optional.empty() && optional[i]) {
      if (value.kind() != Kind::kOptional) {
        return Charged(context, kCost, NotOptional(context, "list element", value));
      }
      if (!value.content()) continue;
      value = *value.content();
    }
    values.Add(value);
  }
  return Charged(context, kCost, MakeList(context.arena(), values.all()));
}

namespace {

// Equal for keys that a map takes for the same.
std::string KeyText(Value key) {
  return base::StrCat(key.is_string() ? "s" : key.is_bool() ? "b" : "n", PlainText(key));
}

}  // namespace

Value MapNode::Eval(EvalContext& context) const {
  constexpr std::uint64_t kCost = 30;
  const bool strict = context.follows_specification();
  std::unordered_set<std::string> seen;
  std::vector<MapEntry> entries;
  entries.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Value key = keys[i]->Eval(context);
    if (key.is_error()) return IsOrdinaryError(key) ? Charged(context, kCost, key) : key;
    Value value = values[i]->Eval(context);
    if (value.is_error()) return IsOrdinaryError(value) ? Charged(context, kCost, value) : value;
    const bool usual = key.is_string() || key.is_number() || key.is_bool();
    if (strict && (!usual || key.kind() == Kind::kDouble)) {
      const std::string text = "unsupported key type: " + std::string(TypeName(key));
      return Charged(context, kCost, context.Error(text));
    }
    if (strict && !seen.insert(KeyText(key)).second) {
      return Charged(context, kCost, context.Error("Failed with repeated key: " + PlainText(key)));
    }
    if (!optional.empty() && optional[i]) {
      if (value.kind() != Kind::kOptional) {
        const std::string what = "entry '" + PlainText(key) + "'";
        return Charged(context, kCost, NotOptional(context, what, value));
      }
    }
    const bool drops = !optional.empty() && optional[i] && !value.content();
    // Go has another text for what is dropped from a map that has nothing.
    if (!IsHashable(key) && drops && entries.empty()) {
      return MakeInternalError(context.arena(),
                               base::StrCat("hash of unhashable type: ", GoTypeName(key)));
    }
    if (!IsHashable(key)) return UnhashableKey(context.arena(), key);
    if (!optional.empty() && optional[i]) {
      if (drops) {
        std::erase_if(entries, [&](const MapEntry& entry) { return SameKey(entry.key, key); });
        continue;
      }
      value = *value.content();
    }
    entries.push_back({key, value});
  }
  return Charged(context, kCost, MakeMap(context.arena(), entries));
}

Value StructNode::Eval(EvalContext& context) const {
  constexpr std::uint64_t kCost = 40;
  std::vector<ObjectFactory::Field> fields;
  fields.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    Value value = values[i]->Eval(context);
    if (value.is_error()) return IsOrdinaryError(value) ? Charged(context, kCost, value) : value;
    if (!optional.empty() && optional[i]) {
      if (value.kind() != Kind::kOptional) {
        const std::string what = "entry '" + std::string(names[i]) + "'";
        return Charged(context, kCost, NotOptional(context, what, value));
      }
      if (!value.content()) continue;
      value = *value.content();
    }
    fields.push_back({names[i], value});
  }
  const Value result = factory ? factory->Make(context, *type, fields)
                               : context.Error("unknown type '" + std::string(type->name) + "'");
  return Charged(context, kCost, result);
}

}  // namespace portcullis::cel
