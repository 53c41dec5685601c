// SPDX-License-Identifier: Apache-2.0

#include "offline/coverage.h"

#include <algorithm>
#include <filesystem>

#include "base/strings.h"
#include "cel/program.h"
#include "cel/syntax/ast.h"
#include "cel/syntax/operators.h"
#include "cel/syntax/unparser.h"
#include "kube_cel/compiler.h"
#include "offline/lint/facts.h"

namespace portcullis::offline {
namespace {

using Parts = std::map<std::int32_t, std::string>;

bool IsCall(const cel::Expr& expr, std::string_view name) {
  return expr.kind == cel::ExprKind::kCall && expr.name == name;
}

bool Combines(const cel::Expr& expr) {
  return IsCall(expr, cel::op::kAnd) || IsCall(expr, cel::op::kOr);
}

void AddPart(const cel::Expr& expr, Parts& parts) {
  if (Combines(expr) || expr.kind == cel::ExprKind::kConst) return;
  parts.emplace(expr.id, cel::Unparse(expr));
}

// The operands of && and ||, and the conditions of ?:.
void FindParts(const cel::Expr* expr, Parts& parts) {
  if (expr == nullptr) return;
  if (Combines(*expr)) {
    for (const cel::Expr* operand : expr->args) AddPart(*operand, parts);
  } else if (IsCall(*expr, cel::op::kConditional)) {
    AddPart(*expr->args[0], parts);
  }
  FindParts(expr->operand, parts);
  for (const cel::Expr* argument : expr->args) FindParts(argument, parts);
  for (const cel::Entry& entry : expr->entries) {
    FindParts(entry.key, parts);
    FindParts(entry.value, parts);
  }
  if (expr->loop == nullptr) return;
  const cel::Comprehension& loop = *expr->loop;
  FindParts(loop.range, parts);
  if (loop.form == cel::LoopForm::kGeneric) {
    for (const cel::Expr* part : {loop.init, loop.condition, loop.step, loop.result}) {
      FindParts(part, parts);
    }
  } else {
    // What the macro has put around them is not of the user.
    FindParts(loop.filter, parts);
    FindParts(loop.body, parts);
  }
}

// The texts of the parts that decide, in the order of the expression, each once.
std::vector<std::string> PartsOf(const cel::Environment& environment, std::string_view text) {
  Parts parts;
  const cel::Compilation parsed = environment.Compile(text, {.check = false});
  if (parsed.ast != nullptr) FindParts(parsed.ast->root(), parts);
  std::vector<std::string> texts;
  for (auto& [id, part] : parts) {
    if (std::find(texts.begin(), texts.end(), part) == texts.end()) {
      texts.push_back(std::move(part));
    }
  }
  return texts;
}

// What knows the macros of Kubernetes. Null if it cannot be made, which is a mistake of ours.
std::shared_ptr<const cel::Environment> MakeMacros() {
  cel::EnvironmentBuilder builder;
  kube_cel::AddKubernetesLibraries(builder);
  const auto built = builder.Build();
  return built.ok() ? *built : nullptr;
}

// Conditions that are to hold once and not to hold once; other expressions give values.
bool Decides(const ExpressionFact& expression) {
  return (expression.section == "validations" && expression.steps.back() == "expression") ||
         expression.section == "matchConditions";
}

std::string PathOf(const std::vector<std::string>& steps) {
  std::string path;
  for (std::size_t i = 1; i < steps.size(); ++i) {  // behind "spec"
    const bool is_index = base::ParseInt(steps[i]).has_value();
    path += is_index       ? base::StrCat("[", steps[i], "]")
            : path.empty() ? steps[i]
                           : base::StrCat(".", steps[i]);
  }
  return path;
}

// Without "./", so that other programs find the file.
Location PlaceOf(const Manifest& policy, std::span<const std::string> steps) {
  Location place = policy.Find(steps);
  place.file = std::filesystem::path(place.file).lexically_normal().string();
  return place;
}

std::size_t Sum(const std::vector<CoveragePoint>& points,
                std::size_t (CoveragePoint::*number)() const) {
  std::size_t sum = 0;
  for (const CoveragePoint& point : points) sum += (point.*number)();
  return sum;
}

}  // namespace

// Counts the parts of one evaluation.
class CoverageCounter::PartCounter final : public cel::Observer {
 public:
  PartCounter(const Traced& traced, const std::string& text, Reached& reached)
      : traced_(traced), text_(text), reached_(reached) {}
  void Observe(const cel::Expr& expression, cel::Value value) override {
    const auto found = traced_.parts.find(expression.id);
    if (found != traced_.parts.end()) reached_.parts[{text_, found->second}].Add(value);
  }

 private:
  const Traced& traced_;
  const std::string& text_;
  Reached& reached_;
};

std::size_t PolicyCoverage::goals() const { return Sum(points, &CoveragePoint::goals); }
std::size_t PolicyCoverage::reached() const { return Sum(points, &CoveragePoint::reached); }

void CoverageCounter::Count::Add(cel::Value value) {
  ++hits;
  if (value.is_true()) ++held;
  if (value.is_false()) ++failed;
}

const CoverageCounter::Traced& CoverageCounter::TracedOf(const kube_cel::Expression& expression) {
  const auto& environment = expression.scope().environment;
  const auto [found, is_new] = traced_.try_emplace({environment.get(), expression.text()});
  Traced& traced = found->second;
  if (is_new) {
    traced.environment = environment;
    traced.compilation = environment->Compile(expression.text(), {.check = true, .trace = true});
    if (traced.compilation.ok()) FindParts(traced.compilation.ast->root(), traced.parts);
  }
  return traced;
}

void CoverageCounter::Evaluated(const kube_cel::Owner& owner,
                                const kube_cel::Expression& expression, cel::Value value,
                                const cel::Activation& activation, json::Arena& arena) {
  Reached& reached = policies_[{std::string(owner.kind), std::string(owner.name)}];
  reached.expressions[expression.text()].Add(value);
  const Traced& traced = TracedOf(expression);
  if (traced.parts.empty()) return;
  PartCounter counter(traced, expression.text(), reached);
  const cel::EvalOptions options{.cost_limit = kube_cel::kCallLimit, .observer = &counter};
  traced.compilation.program->Evaluate(activation, arena, options);
}

void CoverageCounter::Matched(std::string_view kind, std::string_view policy,
                              const CoveredRequest& request) {
  ++policies_[{std::string(kind), std::string(policy)}].requests[request];
}

PolicyCoverage CoverageCounter::Of(const Manifest& policy) const {
  static const Reached kNothing;
  const auto found = policies_.find({policy.kind, policy.name});
  const Reached& reached = found == policies_.end() ? kNothing : found->second;
  PolicyCoverage out{PlaceOf(policy, {}), policy.kind, policy.name, {}};
  const json::Value constraints = policy.object["spec"]["matchConstraints"];
  const bool exact = constraints["matchPolicy"].AsString() == "Exact";
  const json::Value rules = constraints["resourceRules"];
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::vector<std::string> steps = {"spec", "matchConstraints", "resourceRules",
                                            std::to_string(i)};
    CoveragePoint point{PathOf(steps), "", PlaceOf(policy, steps)};
    json::Arena arena;
    const json::Value alone = json::MakeArray(arena, {rules[i]});
    for (const auto& [request, times] : reached.requests) {
      Target target{request.group, request.version, request.resource, request.operation, true};
      bool matches = RulesMatch(alone, target);
      // The policy matches: if no rule does, then one that names the resource in another version.
      if (!matches && !exact && !RulesMatch(rules, target)) {
        target.version = rules[i]["apiVersions"][0].AsString();
        target.group = rules[i]["apiGroups"][0].AsString();
        matches = RulesMatch(alone, target);
      }
      if (matches) point.hits += times;
    }
    out.points.push_back(std::move(point));
  }
  const auto macros = MakeMacros();
  for (const ExpressionFact& expression : ExpressionsOf(policy)) {
    const std::string text(expression.text);
    const auto counted = reached.expressions.find(text);
    CoveragePoint point{PathOf(expression.steps), std::string(base::Trim(text)),
                        PlaceOf(policy, expression.steps), Decides(expression)};
    const auto take = [&point](const Count& count) {
      point.hits = count.hits;
      point.held = count.held;
      point.failed = count.failed;
    };
    if (counted != reached.expressions.end()) take(counted->second);
    out.points.push_back(point);
    if (macros == nullptr) continue;
    for (std::string& part : PartsOf(*macros, text)) {
      const auto part_count = reached.parts.find({text, part});
      point.text = std::move(part);
      point.decides = true;
      take(part_count == reached.parts.end() ? Count() : part_count->second);
      out.points.push_back(point);
    }
  }
  return out;
}

void MergeCoverage(std::vector<PolicyCoverage>& into, std::vector<PolicyCoverage> more) {
  for (PolicyCoverage& one : more) {
    const auto same = std::find_if(into.begin(), into.end(), [&](const PolicyCoverage& known) {
      return known.place.file == one.place.file && known.place.line == one.place.line &&
             known.kind == one.kind && known.name == one.name &&
             known.points.size() == one.points.size();
    });
    if (same == into.end()) {
      into.push_back(std::move(one));
      continue;
    }
    for (std::size_t i = 0; i < one.points.size(); ++i) {
      same->points[i].hits += one.points[i].hits;
      same->points[i].held += one.points[i].held;
      same->points[i].failed += one.points[i].failed;
    }
  }
}

}  // namespace portcullis::offline
