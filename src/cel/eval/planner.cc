// SPDX-License-Identifier: Apache-2.0

#include "cel/eval/planner.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/strings.h"
#include "cel/checker/checker.h"
#include "cel/checker/declarations.h"
#include "cel/eval/locals.h"
#include "cel/eval/node.h"
#include "cel/eval/node_store.h"
#include "cel/eval/operator_table.h"
#include "cel/eval/shape.h"
#include "cel/library/regex.h"
#include "cel/syntax/operators.h"

namespace portcullis::cel {
class Planner : private NodeStore {
 public:
  static base::Result<std::shared_ptr<const Program>> Run(
      std::shared_ptr<const Environment> environment, std::shared_ptr<const Ast> ast,
      const CompileOptions& options) {
    const std::shared_ptr<Program> program(new Program());
    return Planner(program, std::move(environment), options).Run(std::move(ast));
  }

 private:
  Planner(std::shared_ptr<Program> program, std::shared_ptr<const Environment> environment,
          const CompileOptions& options)
      : NodeStore(program->arena_),
        environment_(*environment),
        declarations_(environment->declarations()),
        options_(options),
        program_(std::move(program)) {
    program_->environment_ = std::move(environment);
  }

  base::Result<std::shared_ptr<const Program>> Run(std::shared_ptr<const Ast> shared) {
    const Ast& ast = *shared;
    if (options_.trace) program_->ast_ = std::move(shared);
    program_->root_ = One(ast.root());
    TRY(std::move(status_));
    program_->slot_count_ = locals_.slots();
    program_->follows_specification_ = environment_.options().follows_specification;
    program_->result_type_ = CopyType(arena_, ast.type() ? ast.type() : &kDynType);
    return std::shared_ptr<const Program>(std::move(program_));
  }

  void Fail(std::string text) {
    if (status_.ok()) status_ = base::ConfigError(std::move(text));
  }

  // Evaluates a call of constants; the failure becomes the program's.
  const Node* Fold(const Node* node) {
    const Activation nothing(environment_);
    const EvalOptions options;
    EvalContext context(arena_, nothing, options);
    context.set_follows_specification(environment_.options().follows_specification);
    const Value value = node->Eval(context);
    if (value.is_error()) {
      Fail(std::string(value.error()->text));
      return node;
    }
    return Constant(value);
  }

  static bool IsConstant(const Node* node) { return !node->constant().is_unset(); }
  bool fold() const { return environment_.options().fold_constants && !options_.trace; }

  // --- Nodes ---

  const Node* One(const Expr* expr, bool charge = true) {
    const Node* node = Plain(expr, charge);
    if (!options_.trace) return node;
    auto* trace = Make<TraceNode>();
    trace->inner = node;
    trace->expr = expr;
    return trace;
  }

  // `charge` is false where cel-go takes the attribute without observing it: the branches of a
  // conditional, and an index.
  const Node* Plain(const Expr* expr, bool charge) {
    switch (expr->kind) {
      case ExprKind::kConst:
        return Constant(CopyConstant(expr->constant));
      case ExprKind::kIdent:
        return Ident(expr, charge);
      case ExprKind::kSelect:
        return Select(expr, charge);
      case ExprKind::kCall:
        return Call(expr, charge);
      case ExprKind::kList:
        return List(expr);
      case ExprKind::kMap:
        return Map(expr);
      case ExprKind::kStruct:
        return Struct(expr);
      case ExprKind::kComprehension:
        return Loop(*expr->loop);
    }
    return Constant(Value::Null());
  }

  AttributeNode* Attribute(AttributeNode::Root root, std::int32_t index, bool charge) {
    auto* node = Make<AttributeNode>();
    node->root = root;
    node->index = index;
    node->own_cost = charge ? 1 : 0;
    node->plain = root == AttributeNode::Root::kVariable || root == AttributeNode::Root::kSlot;
    return node;
  }

  const Node* Variable(int variable, bool charge) {
    const auto& variables = environment_.variables();
    auto* node = Attribute(AttributeNode::Root::kVariable, variable, charge);
    node->name = variables[static_cast<std::size_t>(variable)].name;
    auto& used = program_->variables_;
    if (std::find(used.begin(), used.end(), variable) == used.end()) used.push_back(variable);
    return node;
  }

  const Node* Ident(const Expr* expr, bool charge) {
    if (!expr->resolved) {
      // cel-go takes a variable whose value is a type for the name of one.
      if (expr->type != nullptr && expr->type->kind == TypeKind::kType) {
        if (const Type* type = declarations_.FindTypeName(expr->name)) {
          return Constant(Value::OfType(type));
        }
        Fail("reference to undefined type: " + std::string(expr->name));
      }
      if (const Locals::Local* local = locals_.Find(expr->name)) {
        const auto root = local->init ? AttributeNode::Root::kLazySlot : AttributeNode::Root::kSlot;
        auto* node = Attribute(root, local->slot, charge);
        node->operand = local->init;
        node->name = local->name;
        return node;
      }
    }
    if (const Node* node = Global(expr, std::string(expr->name), charge)) return node;
    auto* node = Attribute(AttributeNode::Root::kMissing, 0, charge);
    NameMissing(node, expr->name);
    return node;
  }

  // Of a name that nothing is known by: all that it could have been.
  void NameMissing(AttributeNode* node, std::string_view name) {
    node->name =
        arena_.Copy(base::Join(CandidateNames(environment_.options().container, name), ", "));
  }

  // What the checker resolved, or, without it, what the name means in the environment. Null if
  // nothing.
  const Node* Global(const Expr* expr, const std::string& name, bool charge) {
    if (expr->variable >= 0) return Variable(expr->variable, charge);
    if (expr->resolved) return Constant(CopyConstant(expr->constant));
    if (expr->type) return nullptr;
    for (const std::string& candidate : CandidateNames(environment_.options().container, name)) {
      const int variable = declarations_.FindVariable(candidate);
      if (variable >= 0) return Variable(variable, charge);
      if (const Type* type = declarations_.FindTypeName(candidate)) {
        return Constant(Value::OfType(type));
      }
    }
    return nullptr;
  }

  const Node* Select(const Expr* expr, bool charge) {
    if (expr->resolved) return Global(expr, "", charge);
    std::string name;
    if (!expr->type && !expr->test_only) {
      name = QualifiedName(expr);
      const std::string_view root = std::string_view(name).substr(0, name.find('.'));
      if (!name.empty() && !locals_.Find(root)) {
        if (const Node* node = Global(expr, name, charge)) return node;
      }
    }
    Qualifier qualifier;
    qualifier.name = arena_.Copy(expr->name);
    qualifier.hash = json::HashKey(qualifier.name);
    qualifier.key = Value::String(qualifier.name);
    AttributeNode* node = Extend(expr->operand, qualifier, charge);
    // Without types `a.b` may be a name as well, and that is looked for first.
    if (node->root == AttributeNode::Root::kMissing && !name.empty()) NameMissing(node, name);
    if (expr->test_only) {
      node->test_only = true;
      if (!environment_.options().has_costs) {
        node->own_cost = static_cast<std::int8_t>(node->own_cost - 1);
      }
      if (!charge) node->own_cost = 0;
    }
    return node;
  }

  // The attribute of `operand` with one more qualifier. Attributes grow; other nodes become the
  // root of a new one.
  AttributeNode* Extend(const Expr* operand, const Qualifier& qualifier, bool charge) {
    const Node* base = One(operand, charge);
    std::vector<Qualifier> qualifiers;
    AttributeNode* node = nullptr;
    if (IsAttribute(operand, base)) {
      const auto* attribute = static_cast<const AttributeNode*>(base);
      qualifiers.assign(attribute->qualifiers.begin(), attribute->qualifiers.end());
      node = Make<AttributeNode>();
      node->root = attribute->root;
      node->index = attribute->index;
      node->operand = attribute->operand;
      node->name = attribute->name;
      node->plain = attribute->plain;
      node->own_cost = attribute->own_cost;
    } else {
      node = Attribute(AttributeNode::Root::kOperand, 0, charge);
      node->operand = base;
      // A conditional is an attribute in itself, without a cost of its own.
      if (IsConditional(operand)) node->own_cost = 0;
    }
    qualifiers.push_back(qualifier);
    node->qualifiers = Store(qualifiers);
    node->plain = node->plain && qualifier.kind == Qualifier::Kind::kField && !qualifier.optional;
    return node;
  }

  // Is `node`, made from `expr`, an AttributeNode that may be extended?
  bool IsAttribute(const Expr* expr, const Node* node) const {
    if (options_.trace || IsConstant(node)) return false;
    if (expr->kind == ExprKind::kSelect) return !expr->test_only;
    if (expr->kind == ExprKind::kIdent) return true;
    return expr->kind == ExprKind::kCall && IsIndexCall(expr);
  }

  // --- Calls ---

  const Node* Call(const Expr* expr, bool charge) {
    const std::string_view name = expr->name;
    if (name == op::kAnd || name == op::kOr) return Logical(expr);
    if (name == op::kConditional) return Conditional(expr);
    if (IsIndexCall(expr)) return Index(expr, charge);
    if (name == op::kNot) {
      auto* node = Make<NotNode>();
      node->operand = One(expr->args[0]);
      return node;
    }
    if (name == op::kEquals || name == op::kNotEquals) return Equality(expr);
    if (const Operator* operation = FindOperator(name)) return Apply(expr, *operation);
    return Function(expr);
  }

  void Flatten(const Expr* expr, std::string_view name, std::vector<const Node*>& terms) {
    if (expr->kind == ExprKind::kCall && expr->name == name && !options_.trace) {
      for (const Expr* arg : expr->args) Flatten(arg, name, terms);
    } else {
      terms.push_back(One(expr));
    }
  }

  const Node* Logical(const Expr* expr) {
    std::vector<const Node*> terms;
    for (const Expr* arg : expr->args) Flatten(arg, expr->name, terms);
    if (expr->name == op::kAnd) {
      auto* node = Make<AndNode>();
      node->terms = Store(terms);
      return node;
    }
    auto* node = Make<OrNode>();
    node->terms = Store(terms);
    return node;
  }

  const Node* Conditional(const Expr* expr) {
    auto* node = Make<ConditionalNode>();
    node->condition = One(expr->args[0]);
    node->then = One(expr->args[1], !IsAttributeExpr(expr->args[1]));
    node->otherwise = One(expr->args[2], !IsAttributeExpr(expr->args[2]));
    return node;
  }

  const Node* Index(const Expr* expr, bool charge) {
    Qualifier qualifier;
    qualifier.optional = expr->name != op::kIndex;
    const Expr* index = expr->args[1];
    const Node* node = One(index, !IsAttributeExpr(index));
    const Value constant = node->constant();
    if (constant.is_string()) {
      qualifier.kind = Qualifier::Kind::kField;
      qualifier.name = constant.text();
      qualifier.hash = json::HashKey(constant.text());
      qualifier.key = constant;
    } else if (!constant.is_unset()) {
      qualifier.kind = Qualifier::Kind::kConstant;
      qualifier.key = constant;
    } else {
      qualifier.kind = Qualifier::Kind::kDynamic;
      qualifier.index = node;
    }
    return Extend(expr->args[0], qualifier, charge);
  }

  // The cost of a call: by overload if there is just one, then by name, then 1 (null).
  ActualCost CostOf(const Expr* expr, const FunctionGroup* function) const {
    if (expr->overloads.size() == 1) {
      const cel::Function& row = *expr->overloads[0]->row;
      if (row.cost && row.cost_scope == CostScope::kOverload) {
        return !IsStandard(row) || !function->cost_by_name ? row.cost : function->cost_by_name;
      }
    }
    return function ? function->cost_by_name : nullptr;
  }

  static bool IsStandard(const cel::Function& row) {
    const auto& rows = kStandardLibrary.functions;
    return &row >= rows.data() && &row < rows.data() + rows.size();
  }

  const FunctionGroup* GroupOf(const Expr* expr) const {
    return expr->function ? expr->function : declarations_.FindFunction(expr->name);
  }

  const Node* Equality(const Expr* expr) {
    auto* node = Make<EqualNode>();
    node->left = One(expr->args[0]);
    node->right = One(expr->args[1]);
    node->negated = expr->name == op::kNotEquals;
    if (const FunctionGroup* function = GroupOf(expr)) node->cost = function->cost_by_name;
    return node;
  }

  const Node* Apply(const Expr* expr, const Operator& operation) {
    auto* node = Make<OperatorNode>();
    node->apply = operation.apply;
    node->name = operation.name;
    node->kinds = operation.kinds;
    node->left = One(expr->args[0]);
    if (expr->args.size() > 1) node->right = One(expr->args[1]);
    node->cost = CostOf(expr, GroupOf(expr));
    return node;
  }

  const Node* Function(const Expr* expr) {
    const FunctionGroup* function = expr->function;
    std::span<Expr* const> args = expr->args;
    if (!function) {
      // Not checked: a namespaced function first, then a method.
      if (expr->member_call) {
        const std::string prefix = QualifiedName(args[0]);
        if (!prefix.empty()) function = FindUnchecked(prefix + "." + std::string(expr->name));
        if (function) args = args.subspan(1);
      }
      if (!function) function = FindUnchecked(std::string(expr->name));
      if (!function) {
        // Unknown functions are found out when they are called.
        auto* missing = Make<MissingCallNode>();
        missing->name = arena_.Copy(expr->name);
        return missing;
      }
    }
    if (args.size() > 8) {
      Fail("no such overload: " + std::string(function->name) + "(...)");
      return Constant(Value::Null());
    }
    std::vector<const Node*> nodes;
    bool constant = !args.empty();
    for (const Expr* arg : args) {
      nodes.push_back(One(arg));
      constant = constant && IsConstant(nodes.back());
    }
    const bool single = expr->overloads.size() == 1;
    if (const Node* special = Special(expr, function, nodes)) return special;
    auto* call = Make<CallNode>();
    call->function = function;
    call->args = Store(nodes);
    call->cost = CostOf(expr, function);
    if (single && expr->overloads[0]->row->impl) call->overload = expr->overloads[0];
    Prepare(*call, nodes);
    const bool conversion =
        std::find(kConversions.begin(), kConversions.end(), function->name) != kConversions.end();
    return constant && conversion && nodes.size() == 1 && fold() ? Fold(call) : call;
  }

  const FunctionGroup* FindUnchecked(const std::string& name) const {
    for (const std::string& candidate : CandidateNames(environment_.options().container, name)) {
      if (const FunctionGroup* group = declarations_.FindFunction(candidate)) return group;
    }
    return nullptr;
  }

  // Functions that the language evaluates itself; null for all others.
  const Node* Special(const Expr* expr, const FunctionGroup* function,
                      const std::vector<const Node*>& args) {
    const std::string_view name = function->name;
    if ((name == "or" || name == "orValue") && args.size() == 2) {
      auto* node = Make<OptionalOrNode>();
      node->optional = args[0];
      if (IsAttribute(expr->args[0], args[0])) {
        node->attribute = static_cast<const AttributeNode*>(args[0]);
      }
      node->alternative = args[1];
      node->take_value = name == "orValue";
      return node;
    }
    const bool in_list = expr->overloads.size() == 1 && expr->overloads[0]->row->id == "in_list";
    return in_list && fold() ? MemberOf(args) : nullptr;
  }

  const Node* MemberOf(const std::vector<const Node*>& args) {
    const Value list = args[1]->constant();
    if (!list.is_list()) return nullptr;
    if (list.size() == 0) return Constant(Value::Bool(false));
    std::vector<Value> values;
    bool strings = true;
    for (std::size_t i = 0; i < list.size(); ++i) {
      values.push_back(list.At(arena_, i));
      const Value value = values.back();
      if (!value.is_bool() && !value.is_number() && !value.is_string()) return nullptr;
      strings = strings && values.back().is_string();
    }
    auto* node = Make<MemberOfNode>();
    node->element = args[0];
    node->values = Store(values);
    node->strings = strings;
    return node;
  }

  void Prepare(CallNode& call, const std::vector<const Node*>& args) {
    PrepareCall prepare = call.overload ? call.overload->row->prepare : nullptr;
    for (const Overload& candidate : call.function->overloads) {
      if (!call.overload && candidate.row->prepare && candidate.params.size() == args.size()) {
        prepare = candidate.row->prepare;
      }
    }
    if (!prepare) return;
    std::vector<Value> constants;
    for (const Node* arg : args) constants.push_back(arg->constant());
    auto prepared = prepare(constants);
    if (!prepared.ok()) {
      Fail(prepared.status().message());
      return;
    }
    if (!*prepared) return;
    call.prepared = prepared->get();
    call.has_pattern = prepare == &PreparePattern;
    program_->prepared_.push_back(*std::move(prepared));
  }

  // --- Aggregates ---

  const Node* List(const Expr* expr) {
    std::vector<const Node*> elements;
    std::vector<bool> optional;
    bool constant = true;
    for (const Expr* item : expr->args) {
      elements.push_back(One(item));
      optional.push_back(item->optional_entry);
      constant = constant && IsConstant(elements.back());
    }
    auto* node = Make<ListNode>();
    node->elements = Store(elements);
    node->optional = StoreFlags(optional);
    return constant && fold() && node->optional.empty() ? Fold(node) : node;
  }

  const Node* Map(const Expr* expr) {
    std::vector<const Node*> keys;
    std::vector<const Node*> values;
    std::vector<bool> optional;
    bool constant = true;
    for (const Entry& entry : expr->entries) {
      keys.push_back(One(entry.key));
      values.push_back(One(entry.value));
      optional.push_back(entry.optional);
      constant = constant && IsConstant(keys.back()) && IsConstant(values.back());
    }
    auto* node = Make<MapNode>();
    node->keys = Store(keys);
    node->values = Store(values);
    node->optional = StoreFlags(optional);
    return constant && fold() && node->optional.empty() ? Fold(node) : node;
  }

  const Node* Struct(const Expr* expr) {
    auto* node = Make<StructNode>();
    std::vector<std::string_view> names;
    std::vector<const Node*> values;
    std::vector<bool> optional;
    for (const Entry& entry : expr->entries) {
      names.push_back(arena_.Copy(entry.field));
      values.push_back(One(entry.value));
      optional.push_back(entry.optional);
    }
    const TypeProvider* types = environment_.types();
    const Type* type = expr->type;
    if (!type && types) type = types->FindStruct(expr->name);
    if (!type) Fail("unknown type: " + std::string(expr->name));
    node->type = CopyType(arena_, type ? type : &kErrorType);
    node->factory = environment_.objects();
    node->names = Store(names);
    node->values = Store(values);
    node->optional = StoreFlags(optional);
    return node;
  }

  // --- Loops ---

  template <typename T>
  T* StartLoop(const Comprehension& loop, const Node* range) {
    auto* node = Make<T>();
    node->range = range;
    node->fold = environment_.options().fold_constants;
    node->slot = locals_.Add(loop.variable);
    if (!loop.variable2.empty()) node->slot2 = locals_.Add(loop.variable2);
    return node;
  }

  void Bodies(const Comprehension& loop, LoopNode& node) {
    if (loop.filter) node.filter = One(loop.filter);
    node.body = One(loop.body);
    node.body_is_constant = fold() && IsConstant(node.body);
  }

  const Node* Loop(const Comprehension& loop) {
    const Locals::Scope scope(locals_);
    return LoopOver(loop, One(loop.range));
  }

  const Node* LoopOver(const Comprehension& loop, const Node* range) {
    switch (loop.form) {
      case LoopForm::kAll:
      case LoopForm::kExists: {
        auto* node = StartLoop<AllNode>(loop, range);
        node->exists = loop.form == LoopForm::kExists;
        Bodies(loop, *node);
        return node;
      }
      case LoopForm::kExistsOne: {
        auto* node = StartLoop<ExistsOneNode>(loop, range);
        Bodies(loop, *node);
        return node;
      }
      case LoopForm::kList: {
        auto* node = StartLoop<ListLoopNode>(loop, range);
        Bodies(loop, *node);
        return node;
      }
      case LoopForm::kMap:
      case LoopForm::kMapEntry: {
        auto* node = StartLoop<MapLoopNode>(loop, range);
        node->entries = loop.form == LoopForm::kMapEntry;
        Bodies(loop, *node);
        return node;
      }
      case LoopForm::kGeneric:
        break;
    }
    const Node* init = One(loop.init);
    const std::int32_t accumulator = locals_.Add(loop.accumulator, init);
    const std::size_t inside = locals_.size();
    auto* node = StartLoop<GenericLoopNode>(loop, range);
    node->init = init;
    node->accumulator = accumulator;
    node->condition = One(loop.condition);
    node->step = One(loop.step);
    locals_.Hide(inside);  // their slots stay taken
    node->result = One(loop.result);
    return node;
  }

  const Environment& environment_;
  const Declarations& declarations_;
  const CompileOptions& options_;
  std::shared_ptr<Program> program_;
  base::Status status_;
  Locals locals_;
};

base::Result<std::shared_ptr<const Program>> Plan(std::shared_ptr<const Environment> environment,
                                                  std::shared_ptr<const Ast> ast,
                                                  const CompileOptions& options) {
  return Planner::Run(std::move(environment), std::move(ast), options);
}

}  // namespace portcullis::cel
