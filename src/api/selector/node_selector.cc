// SPDX-License-Identifier: Apache-2.0

#include "api/selector/node_selector.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "api/field_error.h"
#include "api/field_path.h"
#include "api/named_value.h"
#include "api/selector/label_parser.h"
#include "base/strings.h"

namespace portcullis::api {
namespace {

using Operator = LabelSelector::Operator;

std::optional<Operator> OperatorOf(std::string_view name) {
  constexpr std::pair<std::string_view, Operator> kOperators[] = {
      {"In", Operator::kIn},          {"NotIn", Operator::kNotIn},
      {"Exists", Operator::kExists},  {"DoesNotExist", Operator::kDoesNotExist},
      {"Gt", Operator::kGreaterThan}, {"Lt", Operator::kLessThan}};
  for (const auto& [known, op] : kOperators) {
    if (known == name) return op;
  }
  return std::nullopt;
}

std::vector<std::string> ValuesOf(json::Value expression) {
  std::vector<std::string> values;
  for (const json::Value& value : expression["values"].elements()) {
    values.emplace_back(value.AsString());
  }
  return values;
}

base::Status BadOperator(const FieldPath& path, json::Value expression,
                         std::initializer_list<std::string_view> allowed) {
  return base::BadRequest(
      NotSupported(path.Child("operator"), NamedValue(expression["operator"].AsString()), allowed)
          .ToString());
}

base::Result<LabelSelector> ReadExpressions(json::Value expressions, const FieldPath& path) {
  LabelSelector selector;
  std::size_t index = 0;
  for (const json::Value& expression : expressions.elements()) {
    const FieldPath at = path.Index(index++);
    const std::optional<Operator> op = OperatorOf(expression["operator"].AsString());
    if (!op) return BadOperator(at, expression, {});
    auto requirement = MakeRequirement(expression["key"].AsString(), *op, ValuesOf(expression));
    if (!requirement.ok()) {
      return base::BadRequest(base::StrCat(at.ToString(), ".", requirement.status().message()));
    }
    selector.Add(*std::move(requirement));
  }
  return selector;
}

}  // namespace

base::Result<NodeSelector> NodeSelector::FromJson(json::Value selector) {
  NodeSelector out;
  std::size_t index = 0;
  for (const json::Value& given : selector["nodeSelectorTerms"].elements()) {
    const FieldPath path = FieldPath("nodeSelectorTerms").Index(index++);
    if (given["matchExpressions"].empty() && given["matchFields"].empty()) continue;
    Term term;
    term.labels = TRY(ReadExpressions(given["matchExpressions"], path.Child("matchExpressions")));
    std::size_t field = 0;
    for (const json::Value& rule : given["matchFields"].elements()) {
      const FieldPath at = path.Child("matchFields").Index(field++);
      const std::string_view op = rule["operator"].AsString();
      if (op != "In" && op != "NotIn") return BadOperator(at, rule, {"In", "NotIn"});
      const std::vector<std::string> values = ValuesOf(rule);
      if (values.size() != 1) {
        return base::BadRequest(
            Invalid(at.Child("values"), BadValue(values), "must have one element").ToString());
      }
      term.fields.push_back({values[0], op == "In", rule["key"].AsString() == "metadata.name"});
    }
    out.terms_.push_back(std::move(term));
  }
  return out;
}

bool NodeSelector::Matches(json::Value node) const {
  const json::Value metadata = node["metadata"];
  const auto holds = [&](const NameRule& rule) {
    const std::string_view value = rule.known ? metadata["name"].AsString() : std::string_view();
    return (value == rule.name) == rule.wanted;
  };
  return std::any_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    return term.labels.Matches(metadata["labels"]) &&
           std::all_of(term.fields.begin(), term.fields.end(), holds);
  });
}

}  // namespace portcullis::api
