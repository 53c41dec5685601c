// SPDX-License-Identifier: Apache-2.0

// Sizes and costs are intervals. A size is known from a literal, from the estimator by the path
// that leads to the value, from the type (scalars count 1), or from what an operation makes of it.
#include "cel/checker/cost_estimate.h"

#include <algorithm>
#include <string>
#include <vector>

#include "cel/checker/declarations.h"
#include "cel/syntax/ast.h"
#include "cel/syntax/macros.h"
#include "cel/syntax/operators.h"

namespace portcullis::cel {
namespace {

using Path = std::vector<std::string_view>;

constexpr Range kOne{1, 1};
constexpr Range kUnknownSize{0, kUnbounded};

struct EntrySize {
  bool list = false;
  Range key;
  Range value;
};

// What is known of one node.
struct Known {
  Path path;
  std::optional<Range> size;
  std::optional<EntrySize> entries;
};

struct EstimatedLocal {
  std::string_view name;
  Path path;
  std::optional<Range> size;
  std::optional<EntrySize> entries;
};

bool IsScalar(const Type* type) {
  if (type->is_optional() && !type->params.empty()) return IsScalar(type->param());
  switch (type->kind) {
    case TypeKind::kBool:
    case TypeKind::kInt:
    case TypeKind::kUint:
    case TypeKind::kDouble:
    case TypeKind::kTimestamp:
    case TypeKind::kDuration:
      return true;
    default:
      return false;
  }
}

std::optional<Range> LiteralSize(const Expr* e) {
  std::uint64_t size = 1;
  switch (e->kind) {
    case ExprKind::kConst:
      size = CostSize(e->constant);
      break;
    case ExprKind::kList:
      size = e->args.size();
      break;
    case ExprKind::kMap:
      size = e->entries.size();
      break;
    default:
      return std::nullopt;
  }
  return Range{size, size};
}

std::optional<EntrySize> UnionOf(const std::optional<EntrySize>& a,
                                 const std::optional<EntrySize>& b) {
  if (!a || !b) return std::nullopt;
  return EntrySize{a->list, Union(a->key, b->key), Union(a->value, b->value)};
}

class Estimator {
 public:
  Estimator(const Environment& environment, const Ast& ast, const SizeEstimator& sizes)
      : environment_(environment),
        sizes_(sizes),
        known_(static_cast<std::size_t>(ast.node_count()) + 1) {}

  Range Cost(const Expr* e) {
    if (!e) return {};
    switch (e->kind) {
      case ExprKind::kConst:
        return {};
      case ExprKind::kIdent:
        return Ident(e);
      case ExprKind::kSelect:
        return Select(e);
      case ExprKind::kCall:
        return Call(e);
      case ExprKind::kList:
        return List(e);
      case ExprKind::kMap:
        return Map(e);
      case ExprKind::kStruct: {
        Range sum{40, 40};
        for (const Entry& entry : e->entries) sum = sum + Cost(entry.value);
        return sum;
      }
      case ExprKind::kComprehension:
        return IsBind(*e->loop) ? Bind(e) : Loop(e);
    }
    return {};
  }

 private:
  class Argument final : public EstimatedArgument {
   public:
    Argument(Estimator& estimator, const Expr* expr) : estimator_(estimator), expr_(expr) {
      if (expr->kind == ExprKind::kConst && expr->constant.is_string()) {
        literal_ = expr->constant.text();
      }
    }
    const Type* type() const override { return expr_->type; }
    Range size() const override { return estimator_.SizeOrUnknown(expr_); }
    std::optional<Range> known_size() const override { return estimator_.Size(expr_); }
    Range element_size() const override { return estimator_.ElementSize(expr_); }
    const std::string_view* literal() const override {
      return literal_.data() ? &literal_ : nullptr;
    }
    std::optional<std::int64_t> int_literal() const override {
      if (expr_->kind != ExprKind::kConst || expr_->constant.kind() != Kind::kInt) {
        return std::nullopt;
      }
      return expr_->constant.int_value();
    }

   private:
    Estimator& estimator_;
    const Expr* expr_;
    std::string_view literal_;
  };

  Known& Of(const Expr* e) { return known_[static_cast<std::size_t>(e->id)]; }

  const EstimatedLocal* FindLocal(std::string_view name) const {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
      if (local->name == name) return &*local;
    }
    return nullptr;
  }
  const EstimatedLocal* LocalOf(const Expr* e) const {
    return e->kind == ExprKind::kIdent && !e->resolved ? FindLocal(e->name) : nullptr;
  }

  Path PathOf(const Expr* e) {
    if (const EstimatedLocal* local = LocalOf(e)) return local->path;
    return Of(e).path;
  }

  std::optional<Range> AskSize(const Path& path, const Type* type) const {
    if (!path.empty() && path[0] == kAccumulator) return std::nullopt;
    return sizes_.Size(path, *type);
  }

  std::optional<Range> Size(const Expr* e) {
    if (Of(e).size) return Of(e).size;
    if (const auto literal = LiteralSize(e)) return literal;
    if (const auto asked = AskSize(PathOf(e), e->type)) {
      Of(e).size = asked;
      return asked;
    }
    if (IsScalar(e->type)) return kOne;
    if (const EstimatedLocal* local = LocalOf(e)) return local->size;
    return std::nullopt;
  }
  Range SizeOrUnknown(const Expr* e) { return Size(e).value_or(kUnknownSize); }

  std::optional<EntrySize> Entries(const Expr* e) {
    if (Of(e).entries) return Of(e).entries;
    if (const EstimatedLocal* local = LocalOf(e)) return local->entries;
    return std::nullopt;
  }

  Range ElementSize(const Expr* e) {
    if (e->type->params.empty()) return kUnknownSize;
    Path path = PathOf(e);
    if (!path.empty()) path.push_back("@items");
    return AskSize(path, e->type->param()).value_or(kUnknownSize);
  }

  Range Ident(const Expr* e) {
    const EstimatedLocal* local = LocalOf(e);
    Of(e).path = local ? local->path : Path{e->name};
    return kOne;
  }

  Range Select(const Expr* e) {
    if (e->resolved) {
      const bool type_name = e->variable < 0;
      Of(e).path = {type_name
                        ? e->name
                        : environment_.variables()[static_cast<std::size_t>(e->variable)].name};
      return kOne;
    }
    const Range operand = Cost(e->operand);
    if (e->test_only) return environment_.options().has_costs ? operand + kOne : operand;
    Of(e).path = PathOf(e->operand);
    Of(e).path.push_back(e->name);
    switch (e->operand->type->kind) {
      case TypeKind::kMap:
      case TypeKind::kStruct:
      case TypeKind::kParam:
        return operand + kOne;
      default:
        return operand;
    }
  }

  Range Call(const Expr* e) {
    if (e->name == "dyn" && e->args.size() == 1) {
      const Range cost = Cost(e->args[0]) + kOne;
      CopySizes(e, e->args[0]);
      return cost;
    }
    std::vector<Range> costs;
    Range sum;
    for (const Expr* arg : e->args) {
      costs.push_back(Cost(arg));
      sum = sum + costs.back();
    }
    if (e->name == op::kAnd || e->name == op::kOr) {
      return {costs[0].min, (costs[0] + costs[1]).max};
    }
    if (e->name == op::kConditional) {
      Of(e).size = Union(SizeOrUnknown(e->args[1]), SizeOrUnknown(e->args[2]));
      Of(e).entries = UnionOf(Entries(e->args[1]), Entries(e->args[2]));
      return costs[0] + Union(costs[1], costs[2]);
    }
    Range call{kUnbounded, 0};
    std::optional<Range> result;
    for (const Overload* overload : e->overloads) {
      const CallEstimate estimate = EstimateOne(e, *overload);
      call = Union(call, estimate.cost);
      if (estimate.result_size) {
        result = result ? Union(*result, *estimate.result_size) : *estimate.result_size;
      }
      if (overload->row->id == "index_list" || overload->row->id == "index_map") {
        if (const auto entries = Entries(e->args[0])) result = entries->value;
        Of(e).path = PathOf(e->args[0]);
        const bool list = overload->row->id == "index_list";
        Of(e).path.push_back(list ? "@items" : "@values");
      }
      if (!result) result = Size(e);
    }
    if (e->overloads.empty()) call = e->name == op::kOptionalSelect ? kOne : Range{};
    if (e->name == op::kAdd) {
      if (const auto entries = UnionOf(Entries(e->args[0]), Entries(e->args[1]))) {
        Of(e).entries = entries;
      }
    }
    if (result) Of(e).size = result;
    return sum + call;
  }

  CallEstimate EstimateOne(const Expr* e, const Overload& overload) {
    std::vector<Argument> arguments;
    arguments.reserve(e->args.size());
    for (const Expr* arg : e->args) arguments.emplace_back(*this, arg);
    std::vector<const EstimatedArgument*> pointers;
    for (const Argument& argument : arguments) pointers.push_back(&argument);
    const auto& standard = kStandardLibrary.functions;
    const bool is_standard =
        overload.row >= standard.data() && overload.row < standard.data() + standard.size();
    const EstimateCall by_name = e->function ? e->function->estimate_by_name : nullptr;
    const EstimateCall own = overload.row->estimate;
    for (const EstimateCall estimate : {is_standard ? by_name : own, is_standard ? own : by_name}) {
      if (!estimate) continue;
      if (const auto answer = estimate(pointers)) return *answer;
    }
    return {kOne, std::nullopt};
  }

  void CopySizes(const Expr* to, const Expr* from) {
    if (const auto size = Size(from)) Of(to).size = size;
    if (const auto entries = Entries(from)) Of(to).entries = entries;
  }

  Range List(const Expr* e) {
    Range sum{10, 10};
    Range item{kUnbounded, 0};
    if (e->args.empty()) item.min = 0;
    for (const Expr* arg : e->args) {
      sum = sum + Cost(arg);
      item = Union(item, SizeOrUnknown(arg));
    }
    Of(e).entries = EntrySize{true, kOne, item};
    return sum;
  }

  Range Map(const Expr* e) {
    Range sum{30, 30};
    Range key{kUnbounded, 0};
    Range value{kUnbounded, 0};
    if (e->entries.empty()) key.min = value.min = 0;
    for (const Entry& entry : e->entries) {
      sum = sum + Cost(entry.key) + Cost(entry.value);
      key = Union(key, SizeOrUnknown(entry.key));
      value = Union(value, SizeOrUnknown(entry.value));
    }
    Of(e).entries = EntrySize{false, key, value};
    return sum;
  }

  static bool IsBind(const Comprehension& loop) {
    return loop.range->kind == ExprKind::kList && loop.range->args.empty() &&
           loop.condition->kind == ExprKind::kConst && loop.condition->constant.is_false() &&
           loop.accumulator != kAccumulator;
  }

  Range Bind(const Expr* e) {
    const Comprehension& loop = *e->loop;
    Range sum = Cost(loop.range) + Cost(loop.init);
    locals_.push_back({loop.accumulator, PathOf(loop.init), Size(loop.init), Entries(loop.init)});
    sum = sum + Cost(loop.result);
    CopySizes(e, loop.result);
    locals_.pop_back();
    return sum;
  }

  // A loop variable: `part` is "@items", "@keys" or the like of the range.
  void PushPart(std::string_view name, const Expr* range, std::string_view part,
                std::optional<Range> size) {
    Path path = PathOf(range);
    path.push_back(part);
    locals_.push_back({name, std::move(path), size, std::nullopt});
  }

  Range Loop(const Expr* e) {
    const Comprehension& loop = *e->loop;
    Range sum = Cost(loop.range) + Cost(loop.init);
    const std::size_t outside = locals_.size();
    locals_.push_back({loop.accumulator, PathOf(loop.init), Size(loop.init), Entries(loop.init)});
    const auto entries = Entries(loop.range);
    const bool list = entries ? entries->list : loop.range->type->kind == TypeKind::kList;
    std::optional<Range> key;
    std::optional<Range> value;
    if (entries) {
      key = entries->key;
      value = entries->value;
    }
    if (!loop.variable2.empty()) {
      PushPart(loop.variable, loop.range, list ? "@indices" : "@keys", key);
      PushPart(loop.variable2, loop.range, list ? "@items" : "@values", value);
    } else {
      PushPart(loop.variable, loop.range, list ? "@items" : "@keys", list ? value : key);
    }
    const Range condition = Cost(loop.condition);
    const Range step = Cost(loop.step);
    locals_.resize(outside + 1);
    sum = sum + Cost(loop.result);
    locals_.resize(outside);
    const Range count = SizeOrUnknown(loop.range);
    sum = sum + count * (condition + step);
    if (loop.init->kind == ExprKind::kConst) {
      Of(e).size = Size(loop.init);
    } else if (loop.init->kind == ExprKind::kList || loop.init->kind == ExprKind::kMap) {
      Of(e).size = count;
      if (const auto made = Entries(loop.step)) Of(e).entries = made;
    }
    return sum;
  }

  const Environment& environment_;
  const SizeEstimator& sizes_;
  std::vector<Known> known_;
  std::vector<EstimatedLocal> locals_;
};

}  // namespace

Range EstimateCost(const Environment& environment, const Ast& ast, const SizeEstimator& sizes) {
  return Estimator(environment, ast, sizes).Cost(ast.root());
}

}  // namespace portcullis::cel
