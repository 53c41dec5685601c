// SPDX-License-Identifier: Apache-2.0

#include "cel/checker/checker.h"

#include <string>
#include <vector>

#include "cel/checker/declarations.h"
#include "cel/checker/unifier.h"
#include "cel/syntax/operators.h"

namespace portcullis::cel {
namespace {

struct Local {
  std::string_view name;
  const Type* type;
};

const Type* UnwrapOptional(const Type* type, bool& optional) {
  if (!type->is_optional()) return type;
  optional = true;
  return type->params.empty() ? &kDynType : type->param();
}

class Checker {
 public:
  Checker(const Environment& environment, Ast& ast, Issues& issues)
      : environment_(environment),
        declarations_(environment.declarations()),
        ast_(ast),
        arena_(ast.arena()),
        unifier_(arena_),
        positions_(ast.source()),
        issues_(issues) {}

  void Run() {
    One(ast_.root());
    Finish(ast_.root());
  }

 private:
  // --- Issues ---

  void Report(std::int32_t offset, std::string message) {
    issues_.Add(positions_.Of(offset), std::move(message));
  }
  static std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }
  std::string Shown(const Type* type) {
    return Quoted(FormatType(unifier_.Substitute(type, /*free_to_dyn=*/false)));
  }
  void Mismatch(const Expr* where, const Type* expected, const Type* found) {
    Report(where->offset, "expected type " + Shown(expected) + " but found " + Shown(found));
  }
  void Undeclared(std::int32_t offset, std::string_view name) {
    if (name.starts_with('.')) name.remove_prefix(1);
    Report(offset, "undeclared reference to " + Quoted(name) + " (in container " +
                       Quoted(environment_.options().container) + ")");
  }

  // --- Names ---

  const Type* FindLocal(std::string_view name) const {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
      if (local->name == name) return local->type;
    }
    return nullptr;
  }

  // A variable or type name; sets the node's reference. Null if there is none.
  const Type* ResolveGlobal(Expr* expr, std::string_view name) {
    for (const std::string& candidate : CandidateNames(environment_.options().container, name)) {
      if (const int variable = declarations_.FindVariable(candidate); variable >= 0) {
        expr->resolved = true;
        expr->variable = variable;
        return environment_.variables()[static_cast<std::size_t>(variable)].type;
      }
      if (const Type* type = FindType(candidate)) {
        expr->resolved = true;
        expr->constant = Value::OfType(type);
        return MakeTypeType(arena_, Parameterized(type));
      }
    }
    return nullptr;
  }

  // The names `list` and `map` stand for those of anything.
  const Type* Parameterized(const Type* type) {
    if (type == &kListType) return MakeListType(arena_, &kDynType);
    if (type == &kMapType) return MakeMapType(arena_, &kDynType, &kDynType);
    return type;
  }

  const Type* FindType(std::string_view name) const {
    if (const Type* type = declarations_.FindTypeName(name)) return type;
    return environment_.types() ? environment_.types()->FindStruct(name) : nullptr;
  }

  const FunctionGroup* FindFunction(std::string_view name) const {
    for (const std::string& candidate : CandidateNames(environment_.options().container, name)) {
      if (const FunctionGroup* group = declarations_.FindFunction(candidate)) return group;
    }
    return nullptr;
  }

  // --- Nodes ---

  void One(Expr* expr) {
    switch (expr->kind) {
      case ExprKind::kConst:
        expr->type = TypeOf(expr->constant);
        return;
      case ExprKind::kIdent:
        Ident(expr);
        return;
      case ExprKind::kSelect:
        Select(expr);
        return;
      case ExprKind::kCall:
        Call(expr);
        return;
      case ExprKind::kList:
        List(expr);
        return;
      case ExprKind::kMap:
        Map(expr);
        return;
      case ExprKind::kStruct:
        Struct(expr);
        return;
      case ExprKind::kComprehension:
        Loop(expr);
        return;
    }
  }

  void Ident(Expr* expr) {
    if (const Type* local = FindLocal(expr->name)) {
      expr->type = local;
      return;
    }
    expr->type = ResolveGlobal(expr, expr->name);
    if (expr->type) return;
    expr->type = &kErrorType;
    Undeclared(expr->offset, expr->name);
  }

  void Select(Expr* expr) {
    if (!expr->test_only) {
      const std::string name = QualifiedName(expr);
      const std::string_view root = std::string_view(name).substr(0, name.find('.'));
      if (!name.empty() && (root.empty() || !FindLocal(root))) {
        if (const Type* type = ResolveGlobal(expr, name)) {
          expr->type = type;
          return;
        }
      }
    }
    One(expr->operand);
    const Type* type = Field(expr, expr->operand->type, expr->name, false);
    expr->type = expr->test_only ? &kBoolType : type;
  }

  const Type* Field(Expr* expr, const Type* operand, std::string_view field, bool optional) {
    const Type* target = UnwrapOptional(unifier_.Substitute(operand, false), optional);
    const Type* type = &kDynType;
    switch (target->kind) {
      case TypeKind::kMap:
        if (!target->params.empty()) type = target->param(1);
        break;
      case TypeKind::kStruct: {
        const TypeProvider* provider = environment_.types();
        type = provider ? provider->FindField(*target, field) : nullptr;
        if (!type) {
          Report(expr->offset, "undefined field " + Quoted(field));
          type = &kErrorType;
        }
        break;
      }
      case TypeKind::kParam:
        // Whatever it becomes later must not contradict the selection.
        unifier_.IsAssignable(&kDynType, target);
        break;
      default:
        if (IsMessageWithoutFields(target)) {
          Report(expr->offset, "unexpected failed resolution of " + Quoted(target->name));
          type = &kErrorType;
        } else if (!IsDynOrError(target)) {
          Report(expr->offset, "type " + Shown(target) + " does not support field selection");
        }
        break;
    }
    return optional ? MakeOptionalType(arena_, type) : type;
  }

  // A type that values have but expressions cannot name (kubernetes.URL): cel-go takes it for a message.
  bool IsMessageWithoutFields(const Type* type) const {
    return type->kind == TypeKind::kOpaque && type->params.empty() &&
           !declarations_.FindTypeName(type->name);
  }

  void OptionalSelect(Expr* expr) {
    One(expr->args[0]);
    Expr* field = expr->args[1];
    field->type = &kStringType;
    if (field->kind != ExprKind::kConst || !field->constant.is_string()) {
      Report(field->offset, "unsupported optional field selection: _?._");
      expr->type = &kErrorType;
      return;
    }
    expr->type = Field(expr, expr->args[0]->type, field->constant.text(), true);
  }

  void Call(Expr* expr) {
    if (expr->name == op::kOptionalSelect) {
      OptionalSelect(expr);
      return;
    }
    const std::size_t first = expr->member_call ? 1 : 0;
    for (std::size_t i = first; i < expr->args.size(); ++i) One(expr->args[i]);
    if (!expr->member_call) {
      const FunctionGroup* function = FindFunction(expr->name);
      if (!function) {
        Undeclared(expr->offset, expr->name);
        expr->type = &kErrorType;
        return;
      }
      Resolve(expr, function);
      return;
    }
    if (const std::string prefix = QualifiedName(expr->args[0]); !prefix.empty()) {
      if (const FunctionGroup* function = FindFunction(prefix + "." + std::string(expr->name))) {
        expr->args = expr->args.subspan(1);
        expr->member_call = false;
        Resolve(expr, function);
        return;
      }
    }
    One(expr->args[0]);
    if (const FunctionGroup* function = FindFunction(expr->name)) {
      Resolve(expr, function);
      return;
    }
    expr->type = &kErrorType;
    Undeclared(expr->offset, expr->name);
  }

  void Resolve(Expr* expr, const FunctionGroup* function) {
    expr->function = function;
    expr->name = function->name;
    if (function->name == op::kAnd || function->name == op::kOr) {
      Logical(expr);
      return;
    }
    arguments_.clear();
    for (const Expr* arg : expr->args) arguments_.push_back(arg->type);
    const Style style = expr->member_call ? Style::kMember : Style::kGlobal;
    const Type* result = nullptr;
    std::vector<const Overload*> fitting;
    for (const Overload& overload : function->overloads) {
      if (overload.row->style != style || overload.params.size() != arguments_.size()) continue;
      const Type* type = Fits(overload);
      if (!type) continue;
      fitting.push_back(&overload);
      if (!result) {
        result = type;
      } else if (result->kind != TypeKind::kDyn && !SameType(result, type)) {
        result = &kDynType;
      }
    }
    if (!result) {
      NoMatch(expr);
      return;
    }
    expr->overloads = ast_.Copy(std::span<const Overload* const>(fitting));
    expr->type = result;
  }

  // The result type if the arguments fit, else null.
  const Type* Fits(const Overload& overload) {
    if (overload.type_params.empty()) {
      return unifier_.AreAssignable(overload.params, arguments_) ? overload.result : nullptr;
    }
    std::vector<const Type*> variables;
    for (std::size_t i = 0; i < overload.type_params.size(); ++i) {
      variables.push_back(unifier_.NewVariable());
    }
    std::vector<const Type*> params;
    for (const Type* param : overload.params) {
      params.push_back(unifier_.Instantiate(param, overload.type_params, variables));
    }
    if (!unifier_.AreAssignable(params, arguments_)) return nullptr;
    return unifier_.Substitute(
        unifier_.Instantiate(overload.result, overload.type_params, variables), false);
  }

  void Logical(Expr* expr) {
    expr->type = &kBoolType;
    for (const Expr* arg : expr->args) {
      if (unifier_.IsAssignable(&kBoolType, arg->type)) continue;
      Mismatch(arg, &kBoolType, arg->type);
      expr->type = &kErrorType;
    }
  }

  void NoMatch(Expr* expr) {
    expr->type = &kErrorType;
    std::string signature;
    std::size_t first = 0;
    if (expr->member_call) {
      signature = FormatType(unifier_.Substitute(arguments_[0], true)) + ".";
      first = 1;
    }
    signature += '(';
    for (std::size_t i = first; i < arguments_.size(); ++i) {
      if (i > first) signature += ", ";
      signature += FormatType(unifier_.Substitute(arguments_[i], true));
    }
    signature += ')';
    Report(expr->offset, "found no matching overload for " + Quoted(expr->name) + " applied to " +
                             Quoted(signature));
  }

  const Type* Join(const Type* previous, const Type* current) {
    if (!previous) return current;
    if (unifier_.IsAssignable(previous, current)) return Unifier::MostGeneral(previous, current);
    return &kDynType;
  }

  // The type inside `?entry`, which must be optional.
  const Type* OptionalContent(const Expr* value) {
    bool optional = false;
    const Type* type = unifier_.Substitute(value->type, false);
    const Type* content = UnwrapOptional(type, optional);
    if (!optional && type->kind != TypeKind::kDyn) {
      Mismatch(value, MakeOptionalType(arena_, type), type);
    }
    return content;
  }

  void List(Expr* expr) {
    const Type* element = nullptr;
    for (Expr* item : expr->args) {
      One(item);
      element = Join(element, item->optional_entry ? OptionalContent(item) : item->type);
    }
    if (!element) element = unifier_.NewVariable();
    expr->type = MakeListType(arena_, element);
  }

  void Map(Expr* expr) {
    const Type* key = nullptr;
    const Type* value = nullptr;
    for (const Entry& entry : expr->entries) {
      One(entry.key);
      key = Join(key, entry.key->type);
      One(entry.value);
      value = Join(value, entry.optional ? OptionalContent(entry.value) : entry.value->type);
    }
    if (!key) {
      key = unifier_.NewVariable();
      value = unifier_.NewVariable();
    }
    expr->type = MakeMapType(arena_, key, value);
  }

  void Struct(Expr* expr) {
    Expr reference;
    const Type* named = ResolveGlobal(&reference, expr->name);
    expr->type = &kErrorType;
    if (!named) {
      Undeclared(expr->offset, expr->name);
      return;
    }
    if (named->kind != TypeKind::kType) {
      Report(expr->offset, Quoted(TypeString(named)) + " is not a type");
    } else if (reference.constant.type_value()->kind != TypeKind::kStruct) {
      Report(expr->offset,
             Quoted(reference.constant.type_value()->name) + " is not a message type");
    } else {
      expr->type = reference.constant.type_value();
      expr->name = expr->type->name;
    }
    for (const Entry& entry : expr->entries) StructField(expr, entry);
  }

  void StructField(Expr* expr, const Entry& entry) {
    One(entry.value);
    const Type* field = nullptr;
    if (expr->type->kind == TypeKind::kStruct) {
      field = environment_.types()->FindField(*expr->type, entry.field);
      if (!field) Report(entry.offset, "undefined field " + Quoted(entry.field));
    }
    if (!field) field = &kErrorType;
    const Type* value = entry.optional ? OptionalContent(entry.value) : entry.value->type;
    if (unifier_.IsAssignable(field, value)) return;
    Report(entry.offset, "expected type of field " + Quoted(entry.field) + " is " + Shown(field) +
                             " but provided type is " + Shown(value));
  }

  void Loop(Expr* expr) {
    Comprehension& loop = *expr->loop;
    One(loop.range);
    One(loop.init);
    const Type* accumulator = loop.init->type;
    const Type* range = unifier_.Substitute(loop.range->type, false);
    const bool two = !loop.variable2.empty();
    const Type* first = &kDynType;
    const Type* second = &kDynType;
    switch (range->kind) {
      case TypeKind::kList: {
        const Type* element = range->params.empty() ? &kDynType : range->param();
        first = two ? &kIntType : element;
        second = element;
        break;
      }
      case TypeKind::kMap:
        if (range->params.empty()) break;
        first = range->param(0);
        second = range->param(1);
        break;
      case TypeKind::kDyn:
      case TypeKind::kError:
      case TypeKind::kParam:
        unifier_.IsAssignable(&kDynType, range);
        break;
      default:
        Report(loop.range->offset,
               "expression of type " + Shown(range) +
                   " cannot be range of a comprehension (must be list, map, or dynamic)");
        first = second = &kErrorType;
        break;
    }
    const std::size_t outside = locals_.size();
    locals_.push_back({loop.accumulator, accumulator});
    locals_.push_back({loop.variable, first});
    if (two) locals_.push_back({loop.variable2, second});
    One(loop.condition);
    Assert(loop.condition, &kBoolType);
    One(loop.step);
    Assert(loop.step, accumulator);
    locals_.resize(outside + 1);
    One(loop.result);
    locals_.resize(outside);
    expr->type = unifier_.Substitute(loop.result->type, false);
  }

  void Assert(const Expr* expr, const Type* wanted) {
    if (!unifier_.IsAssignable(wanted, expr->type)) Mismatch(expr, wanted, expr->type);
  }

  // Replaces the variables left in the types of all nodes.
  void Finish(Expr* expr) {
    if (!expr) return;
    if (expr->type) expr->type = unifier_.Substitute(expr->type, /*free_to_dyn=*/true);
    Finish(expr->operand);
    for (Expr* arg : expr->args) Finish(arg);
    for (const Entry& entry : expr->entries) {
      Finish(entry.key);
      Finish(entry.value);
    }
    if (!expr->loop) return;
    Finish(expr->loop->range);
    Finish(expr->loop->init);
    Finish(expr->loop->condition);
    Finish(expr->loop->step);
    Finish(expr->loop->result);
  }

  const Environment& environment_;
  const Declarations& declarations_;
  Ast& ast_;
  json::Arena& arena_;
  Unifier unifier_;
  Positions positions_;
  Issues& issues_;
  std::vector<Local> locals_;
  std::vector<const Type*> arguments_;
};

}  // namespace

std::string QualifiedName(const Expr* expr) {
  if (expr->kind == ExprKind::kIdent) return std::string(expr->name);
  if (expr->kind != ExprKind::kSelect || expr->test_only) return {};
  std::string operand = QualifiedName(expr->operand);
  if (operand.empty()) return {};
  return operand + "." + std::string(expr->name);
}

std::vector<std::string> CandidateNames(std::string_view container, std::string_view name) {
  if (name.starts_with('.')) return {std::string(name.substr(1))};
  std::vector<std::string> names;
  while (!container.empty()) {
    names.push_back(std::string(container) + "." + std::string(name));
    const auto dot = container.rfind('.');
    container = dot == std::string_view::npos ? "" : container.substr(0, dot);
  }
  names.emplace_back(name);
  return names;
}

void Check(const Environment& environment, Ast& ast, Issues& issues) {
  Checker(environment, ast, issues).Run();
}

}  // namespace portcullis::cel
