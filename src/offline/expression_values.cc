// SPDX-License-Identifier: Apache-2.0

#include "offline/expression_values.h"

#include <algorithm>

#include "base/strings.h"
#include "base/utf8.h"
#include "cel/environment.h"
#include "cel/program.h"
#include "cel/syntax/ast.h"
#include "cel/syntax/unparser.h"

namespace portcullis::offline {
namespace {

constexpr std::size_t kMaxText = 160;

std::string Shown(cel::Value value) {
  std::string text =
      value.is_error() ? base::StrCat("error: ", value.error()->text) : cel::DebugString(value);
  if (text.size() <= kMaxText) return text;
  return base::StrCat(base::CutUtf8(text, kMaxText), "…");
}

class Collector final : public cel::Observer {
 public:
  explicit Collector(const cel::Expr* root) : root_(root) {}

  void Observe(const cel::Expr& expression, cel::Value value) override {
    // Literals say themselves, objects are shown by the fields that are read of them.
    if (&expression == root_ || expression.kind == cel::ExprKind::kConst) return;
    if (value.kind() == cel::Kind::kMap || value.is_object()) return;
    if (value.is_error() && expression.kind != cel::ExprKind::kSelect) return;
    std::string text = cel::Unparse(expression);
    const auto known = std::find_if(values_.begin(), values_.end(),
                                    [&](const auto& one) { return one.first == text; });
    if (known == values_.end()) {
      values_.emplace_back(std::move(text), Shown(value));
    } else {
      known->second = Shown(value);
    }
  }
  ExpressionValues::Values Take() { return std::move(values_); }

 private:
  const cel::Expr* const root_;
  ExpressionValues::Values values_;
};

}  // namespace

void ExpressionValues::Evaluated(const kube_cel::Owner& owner,
                                 const kube_cel::Expression& expression, cel::Value value,
                                 const cel::Activation& activation, json::Arena& arena) {
  if (!value.is_false() && !value.is_error()) return;
  const cel::Compilation traced =
      expression.scope().environment->Compile(expression.text(), {.check = true, .trace = true});
  if (!traced.ok()) return;
  Collector collector(traced.ast->root());
  const cel::EvalOptions options{.cost_limit = kube_cel::kCallLimit, .observer = &collector};
  traced.program->Evaluate(activation, arena, options);
  values_[{std::string(owner.name), std::string(base::Trim(expression.text()))}] = collector.Take();
}

ExpressionValues::Values ExpressionValues::Of(std::string_view policy,
                                              std::string_view text) const {
  const auto found = values_.find({std::string(policy), std::string(base::Trim(text))});
  return found == values_.end() ? Values() : found->second;
}

}  // namespace portcullis::offline
