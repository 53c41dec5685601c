// SPDX-License-Identifier: Apache-2.0

#include "cel/testing/reference.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cel/checker/declarations.h"
#include "cel/eval/arithmetic.h"
#include "cel/eval/node.h"
#include "cel/library/regex.h"
#include "cel/syntax/operators.h"

namespace portcullis::cel::testing {
namespace {

bool DecidesBranch(const Expr* e) {
  return e->kind == ExprKind::kCall && e->name == op::kConditional;
}
bool IsIndex(const Expr* e) {
  return e->kind == ExprKind::kCall &&
         (e->name == op::kIndex || e->name == op::kOptionalIndex || e->name == op::kOptionalSelect);
}
bool IsAttribute(const Expr* e) {
  if (e->resolved && e->variable < 0) return false;  // the name of a type
  return e->kind == ExprKind::kIdent || e->kind == ExprKind::kSelect || IsIndex(e);
}

class Interpreter {
 public:
  Interpreter(const Environment& environment, const Activation& activation, json::Arena& arena)
      : environment_(environment), context_(arena, activation, options_), arena_(arena) {}

  Outcome Run(const Ast& ast) {
    const Value value = Eval(ast.root());
    return panic_.value.is_unset() ? Outcome{value, cost_} : panic_;
  }

 private:
  struct Binding {
    Value value;
    const Expr* init = nullptr;  // of an accumulator not asked for yet
  };

  Value Error(const std::string& text) { return MakeError(arena_, text); }
  // What ends the evaluation; the rest is evaluated and forgotten.
  void Panic(const std::string& what) {
    if (panic_.value.is_unset()) panic_ = {MakeInternalError(arena_, what), cost_};
  }

  // --- Is it folded into a constant? ---

  bool IsConstant(const Expr* e) {
    if (e->kind == ExprKind::kConst || (e->resolved && e->variable < 0)) return true;
    if (!environment_.options().fold_constants) return false;
    if (e->kind == ExprKind::kList) {
      return std::all_of(e->args.begin(), e->args.end(), [this](const Expr* arg) {
        return !arg->optional_entry && IsConstant(arg);
      });
    }
    if (e->kind == ExprKind::kMap) {
      return std::all_of(e->entries.begin(), e->entries.end(), [this](const Entry& entry) {
        return !entry.optional && IsConstant(entry.key) && IsConstant(entry.value);
      });
    }
    if (e->kind != ExprKind::kCall) return false;
    if (IsInList(e)) {
      return IsConstant(e->args[1]) && Silently(e->args[1]).size() == 0;
    }
    for (const char* name : {"bool", "bytes", "double", "dyn", "duration", "int", "string",
                             "timestamp", "type", "uint"}) {
      if (e->name == name) return e->args.size() == 1 && IsConstant(e->args[0]);
    }
    return false;
  }

  static bool IsInList(const Expr* e) {
    return e->name == op::kIn && e->overloads.size() == 1 && e->overloads[0]->row->id == "in_list";
  }

  Value Silently(const Expr* e) {
    const std::uint64_t cost = cost_;
    const Value value = Walk(e);
    cost_ = cost;
    return value;
  }

  // --- Evaluation ---

  Value Eval(const Expr* e) { return IsConstant(e) ? Silently(e) : Walk(e); }

  Value Walk(const Expr* e) {
    if (e->resolved && e->variable < 0) return e->constant;
    if (IsAttribute(e)) return Attribute(e, /*own=*/true);
    switch (e->kind) {
      case ExprKind::kConst:
        return e->constant;
      case ExprKind::kCall:
        return Call(e);
      case ExprKind::kList:
        return List(e);
      case ExprKind::kMap:
        return Map(e);
      case ExprKind::kComprehension:
        return Loop(*e->loop);
      default:
        return Error("not supported");
    }
  }

  Value Variable(const Expr* e) {
    if (e->variable >= 0) {
      const Value value = context_.activation().Get(e->variable);
      const auto& name = environment_.variables()[static_cast<std::size_t>(e->variable)].name;
      return value.is_unset() ? Error("no such attribute(s): " + name) : value;
    }
    Binding& binding = locals_[std::string(e->name)];
    if (binding.init) {
      const Expr* init = binding.init;
      binding.init = nullptr;
      const Value value = Eval(init);
      locals_[std::string(e->name)].value = value;
      return value;
    }
    return binding.value;
  }

  // An attribute is a root with qualifiers; it costs 1 unless it is taken unobserved.
  Value Attribute(const Expr* e, bool own) {
    std::vector<const Expr*> qualifiers;
    const Expr* root = e;
    while (IsAttribute(root) && root->kind != ExprKind::kIdent && root->variable < 0) {
      if (root->test_only && root != e) break;
      qualifiers.insert(qualifiers.begin(), root);
      root = root->kind == ExprKind::kSelect ? root->operand : root->args[0];
    }
    Value value;
    if (IsAttribute(root) && !root->test_only) {
      value = Variable(root);
    } else {
      value = Eval(root);
      if (DecidesBranch(root)) own = false;
    }
    const bool test_only = e->test_only;
    bool optional = false;
    bool present = true;
    if (value.kind() == Kind::kOptional && !qualifiers.empty()) {
      optional = true;
      present = value.content() != nullptr;
      if (present) value = *value.content();
    }
    for (const Expr* qualifier : qualifiers) {
      if (value.is_error() || !present) break;
      const bool last = qualifier == e;
      optional = optional || (qualifier->kind == ExprKind::kCall && qualifier->name != op::kIndex);
      Value key;
      if (qualifier->kind == ExprKind::kSelect) {
        key = Value::String(qualifier->name);
      } else {
        const Expr* index = qualifier->args[1];
        if (IsAttribute(index)) {
          key = Attribute(index, /*own=*/false);
        } else {
          key = Eval(index);
        }
      }
      if (key.is_error()) {
        ++cost_;
        value = key;
        break;
      }
      const bool test = test_only && last;
      const Value next = Qualify(context_, value, key, optional || test);
      if (!next.is_unset() || (test && !optional)) ++cost_;
      if (test && !optional && !next.is_error()) {
        value = Value::Bool(!next.is_unset());
        continue;
      }
      present = !next.is_unset();
      if (present) value = next;
    }
    if (own && !test_only) ++cost_;
    if (value.is_error()) return value;
    if (!optional) return value;
    if (test_only) return Value::Bool(present);
    return present ? MakeSome(arena_, value) : Value::None();
  }

  Value Logical(const Expr* e, bool decisive) {
    const Value a = Eval(e->args[0]);
    if (a.is_bool() && a.bool_value() == decisive) return a;
    const Value b = Eval(e->args[1]);
    if (b.is_bool() && b.bool_value() == decisive) return b;
    for (const Value v : {a, b}) {
      if (v.is_error()) return v;
      if (!v.is_bool()) return NoSuchOverload();
    }
    return Value::Bool(!decisive);
  }

  Value Branch(const Expr* e) {
    if (IsAttribute(e)) return Attribute(e, /*own=*/false);
    return Eval(e);
  }

  Value Call(const Expr* e) {
    if (e->name == op::kAnd) return Logical(e, false);
    if (e->name == op::kOr) return Logical(e, true);
    if (DecidesBranch(e)) {
      const Value condition = Eval(e->args[0]);
      if (condition.is_true()) return Branch(e->args[1]);
      if (condition.is_false()) return Branch(e->args[2]);
      return condition.is_error() ? condition : NoSuchOverload();
    }
    if (e->name == "or" || e->name == "orValue") {
      const Value optional = Eval(e->args[0]);
      if (optional.kind() != Kind::kOptional) return optional;
      if (!optional.content()) return Eval(e->args[1]);
      return e->name == "or" ? optional : *optional.content();
    }
    if (IsInList(e) && environment_.options().fold_constants && IsConstant(e->args[1])) {
      const Value list = Silently(e->args[1]);
      bool primitive = true;
      for (std::size_t i = 0; i < list.size(); ++i) {
        const Value v = list.At(arena_, i);
        primitive = primitive && (v.is_bool() || v.is_number() || v.is_string());
      }
      if (primitive) {
        const Value element = Eval(e->args[0]);
        return element.is_error() ? element : Contains(arena_, element, list);
      }
    }
    std::vector<Value> values;
    Value error;
    for (const Expr* arg : e->args) {
      values.push_back(Eval(arg));
      if (!values.back().is_error()) continue;
      if (error.is_unset() && e->name != op::kNotStrictlyFalse) error = values.back();
      // Three and more arguments are evaluated up to the first error; the call counts only if that
      // was the last of them.
      if (e->args.size() > 2) break;
    }
    if (values.size() < e->args.size()) return error;
    const Value result = error.is_unset() ? Apply(e, values) : error;
    if (e->overloads.size() == 1 && e->overloads[0]->row->panic) {
      const std::string panic = e->overloads[0]->row->panic(values);
      if (!panic.empty()) Panic(panic);
    }
    cost_ += CallCost(e, values, result);
    return result;
  }

  std::uint64_t CallCost(const Expr* e, const std::vector<Value>& values, Value result) {
    if (e->overloads.size() == 1 && e->overloads[0]->row->cost) {
      return e->overloads[0]->row->cost(values, result);
    }
    return 1;
  }

  Value Apply(const Expr* e, const std::vector<Value>& values) {
    const std::string_view name = e->name;
    const Value a = values.empty() ? Value() : values[0];
    const Value b = values.size() > 1 ? values[1] : Value();
    if (name == op::kNotStrictlyFalse) return Value::Bool(!a.is_false());
    if (name == op::kNot) return a.is_bool() ? Value::Bool(!a.bool_value()) : NoSuchOverload();
    if (name == op::kEquals) return Equal(arena_, a, b);
    if (name == op::kNotEquals) return Value::Bool(!Equal(arena_, a, b).is_true());
    if (name == op::kMapInsert) return Insert(values);
    for (const auto& [op_name, kinds] : traits_) {
      if (op_name != name) continue;
      if (kinds.find(static_cast<char>('A' + static_cast<int>(a.kind()))) != std::string::npos) {
        return Operate(name, a, b);
      }
      if (a.is_string() || a.kind() == Kind::kTimestamp || a.kind() == Kind::kDuration) {
        return NoSuchOverload();
      }
      return Error("no such overload: " + std::string(name));
    }
    return Dispatch(e, values);
  }

  Value Operate(std::string_view name, Value a, Value b) {
    if (name == op::kAdd) return Add(arena_, a, b);
    if (name == op::kSubtract) return Subtract(arena_, a, b);
    if (name == op::kMultiply) return Multiply(arena_, a, b);
    if (name == op::kDivide) return Divide(arena_, a, b);
    if (name == op::kModulo) return Modulo(arena_, a, b);
    if (name == op::kNegate) return Negate(arena_, a);
    const Value order = Compare(arena_, a, b);
    if (order.is_error()) return order;
    const std::int64_t sign = order.int_value();
    if (name == op::kLess) return Value::Bool(sign < 0);
    if (name == op::kLessEquals) return Value::Bool(sign <= 0);
    if (name == op::kGreater) return Value::Bool(sign > 0);
    return Value::Bool(sign >= 0);
  }

  Value Insert(const std::vector<Value>& values) {
    std::vector<MapEntry> entries;
    for (std::size_t i = 0; i < values[0].size(); ++i) {
      entries.push_back({values[0].KeyAt(arena_, i), values[0].ValueAt(arena_, i)});
    }
    std::vector<MapEntry> more;
    if (values.size() == 3) {
      more.push_back({values[1], values[2]});
    } else if (!values[1].is_map()) {
      return NoSuchOverload();
    } else {
      for (std::size_t i = 0; i < values[1].size(); ++i) {
        more.push_back({values[1].KeyAt(arena_, i), values[1].ValueAt(arena_, i)});
      }
    }
    for (const MapEntry& entry : more) {
      for (const MapEntry& old : entries) {
        if (Equal(arena_, old.key, entry.key).is_true()) {
          return Error("insert failed: key " + PlainText(entry.key) + " already exists");
        }
      }
      entries.push_back(entry);
    }
    return MakeMap(arena_, entries);
  }

  bool HasConstantPattern(const Expr* e) {
    const auto& overloads = e->function->overloads;
    const bool takes_pattern = std::any_of(
        overloads.begin(), overloads.end(),
        [](const Overload& overload) { return overload.row->prepare == &PreparePattern; });
    return takes_pattern && e->args.size() > 1 && IsConstant(e->args[1]);
  }

  Value Dispatch(const Expr* e, const std::vector<Value>& values) {
    std::vector<const Overload*> candidates;
    const bool is_shared = e->name == "size" || e->name == op::kIn;
    if (e->overloads.size() == 1 && !is_shared) {
      candidates.push_back(e->overloads[0]);
    } else {
      for (const Overload& overload : e->function->overloads) candidates.push_back(&overload);
    }
    for (const Overload* candidate : candidates) {
      if (!candidate->row->impl || candidate->checks.size() != values.size()) continue;
      bool fits = true;
      for (std::size_t i = 0; i < values.size(); ++i) {
        fits = fits && candidate->checks[i].Accepts(arena_, values[i]);
      }
      if (!fits) continue;
      context_.set_prepared(nullptr);
      return candidate->row->impl(context_, values);
    }
    if (HasConstantPattern(e)) return NoSuchOverload();
    if (e->name == "size" || e->name == "matches" || e->name == "sort") {
      const bool methods = values[0].is_string() || values[0].kind() == Kind::kTimestamp ||
                           values[0].kind() == Kind::kDuration;
      return methods ? NoSuchOverload() : Error("no such overload: " + std::string(e->name));
    }
    if (e->name == op::kIn || !candidates.front()->row->guarded) return NoSuchOverload();
    std::string types;
    for (const Value value : values)
      types += (types.empty() ? "" : ", ") + std::string(TypeName(value));
    return Error("no such overload: " + std::string(e->name) + "(" + types + ")");
  }

  Value List(const Expr* e) {
    std::vector<Value> values;
    Value error;
    for (const Expr* item : e->args) {
      Value value = Eval(item);
      if (!value.is_error() && item->optional_entry) {
        if (value.kind() != Kind::kOptional) {
          value = Error("cannot initialize optional list element from non-optional value " +
                        PlainText(value));
        } else if (!value.content()) {
          continue;
        } else {
          value = *value.content();
        }
      }
      if (value.is_error()) {
        error = value;
        break;
      }
      values.push_back(value);
    }
    cost_ += 10;
    return error.is_unset() ? MakeList(arena_, values) : error;
  }

  Value Map(const Expr* e) {
    std::vector<MapEntry> entries;
    Value error;
    for (const Entry& entry : e->entries) {
      const Value key = Eval(entry.key);
      if (key.is_error()) {
        error = key;
        break;
      }
      Value value = Eval(entry.value);
      const bool taken = !value.is_error() && (!entry.optional || value.kind() == Kind::kOptional);
      if (key.kind() == Kind::kBytes && taken) {
        Panic("runtime error: hash of unhashable type types.Bytes");
      }
      if (!value.is_error() && entry.optional) {
        if (value.kind() != Kind::kOptional) {
          value = Error("cannot initialize optional entry '" + PlainText(key) +
                        "' from non-optional value " + PlainText(value));
        } else if (!value.content()) {
          std::erase_if(entries, [&](const MapEntry& old) { return SameKey(old.key, key); });
          continue;
        } else {
          value = *value.content();
        }
      }
      if (value.is_error()) {
        error = value;
        break;
      }
      entries.push_back({key, value});
    }
    cost_ += 30;
    return error.is_unset() ? MakeMap(arena_, entries) : error;
  }

  Value Loop(const Comprehension& loop) {
    const Value range = Eval(loop.range);
    if (range.is_error()) return range;
    const bool two = !loop.variable2.empty();
    if (!range.is_list() && !range.is_map()) {
      const std::string name(GoTypeName(range));
      return two ? Error("unsupported comprehension range type: " + name)
                 : Error("got '" + name + "', expected iterable type");
    }
    const std::map<std::string, Binding> outer = locals_;
    const std::string accumulator(loop.accumulator);
    locals_[accumulator] = {Value(), loop.init};
    for (std::size_t i = 0; i < range.size(); ++i) {
      const Value index = Value::Int(static_cast<std::int64_t>(i));
      Value first = range.is_list() ? range.At(arena_, i) : range.KeyAt(arena_, i);
      if (two && range.is_list()) locals_[std::string(loop.variable2)] = {first};
      if (two && range.is_map()) {
        locals_[std::string(loop.variable2)] = {range.ValueAt(arena_, i)};
      }
      if (two && range.is_list()) first = index;
      locals_[std::string(loop.variable)] = {first};
      if (Eval(loop.condition).is_false()) break;
      const Value next = Eval(loop.step);
      locals_[accumulator] = {next};
    }
    const Binding last = locals_[accumulator];
    locals_ = outer;
    locals_[accumulator] = last;
    const Value result = Eval(loop.result);
    locals_ = outer;
    return result;
  }

  // Kinds (as letters from A in the order of Kind) whose left operand has the operation.
  static std::string Letters(std::initializer_list<Kind> kinds) {
    std::string letters;
    for (const Kind kind : kinds) letters += static_cast<char>('A' + static_cast<int>(kind));
    return letters;
  }
  const std::string comparable_ =
      Letters({Kind::kBool, Kind::kBytes, Kind::kDouble, Kind::kDuration, Kind::kInt, Kind::kString,
               Kind::kTimestamp, Kind::kUint});
  const std::string numbers_ = Letters({Kind::kDouble, Kind::kInt, Kind::kUint});
  const std::map<std::string_view, std::string> traits_ = {
      {op::kAdd, numbers_ + Letters({Kind::kBytes, Kind::kDuration, Kind::kList, Kind::kString,
                                     Kind::kTimestamp})},
      {op::kSubtract, numbers_ + Letters({Kind::kDuration, Kind::kTimestamp})},
      {op::kMultiply, numbers_},
      {op::kDivide, numbers_},
      {op::kModulo, Letters({Kind::kInt, Kind::kUint})},
      {op::kNegate, Letters({Kind::kBool, Kind::kDouble, Kind::kDuration, Kind::kInt})},
      {op::kLess, comparable_},
      {op::kLessEquals, comparable_},
      {op::kGreater, comparable_},
      {op::kGreaterEquals, comparable_}};

  const Environment& environment_;
  const EvalOptions options_;
  EvalContext context_;
  json::Arena& arena_;
  std::uint64_t cost_ = 0;
  Outcome panic_;
  std::map<std::string, Binding> locals_;
};

}  // namespace

Outcome Interpret(const Environment& environment, const Ast& ast, const Activation& activation,
                  json::Arena& arena) {
  return Interpreter(environment, activation, arena).Run(ast);
}

}  // namespace portcullis::cel::testing
