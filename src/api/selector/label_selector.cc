// SPDX-License-Identifier: Apache-2.0

#include "api/selector/label_selector.h"

#include <algorithm>

#include "api/named_value.h"
#include "api/selector/label_parser.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::api {
namespace {

using Operator = LabelSelector::Operator;
using Requirement = LabelSelector::Requirement;

bool IsAmong(std::string_view value, const std::vector<std::string>& values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// `value` is null if the label is absent.
bool MatchesOne(const Requirement& requirement, const std::string_view* value) {
  switch (requirement.op) {
    case Operator::kIn:
    case Operator::kEquals:
    case Operator::kDoubleEquals:
      return value != nullptr && IsAmong(*value, requirement.values);
    case Operator::kNotIn:
    case Operator::kNotEquals:
      return value == nullptr || !IsAmong(*value, requirement.values);
    case Operator::kExists:
      return value != nullptr;
    case Operator::kDoesNotExist:
      return value == nullptr;
    case Operator::kGreaterThan:
    case Operator::kLessThan: {
      if (value == nullptr || requirement.values.size() != 1) return false;
      const auto left = base::ParseInt(*value);
      const auto right = base::ParseInt(requirement.values[0]);
      if (!left || !right) return false;
      return requirement.op == Operator::kGreaterThan ? *left > *right : *left < *right;
    }
  }
  return false;
}

std::string_view Between(Operator op) {
  switch (op) {
    case Operator::kIn:
      return " in ";
    case Operator::kNotIn:
      return " notin ";
    case Operator::kEquals:
      return "=";
    case Operator::kDoubleEquals:
      return "==";
    case Operator::kNotEquals:
      return "!=";
    case Operator::kGreaterThan:
      return ">";
    case Operator::kLessThan:
      return "<";
    default:
      return "";
  }
}

std::string Print(const Requirement& requirement) {
  if (requirement.op == Operator::kExists) return requirement.key;
  if (requirement.op == Operator::kDoesNotExist) return "!" + requirement.key;
  const std::string values = base::Join(requirement.values, ",");
  const bool set = requirement.op == Operator::kIn || requirement.op == Operator::kNotIn;
  return base::StrCat(requirement.key, Between(requirement.op), set ? "(" : "", values,
                      set ? ")" : "");
}

void SortByKey(std::vector<Requirement>& requirements) {
  std::stable_sort(requirements.begin(), requirements.end(),
                   [](const Requirement& a, const Requirement& b) { return a.key < b.key; });
}

base::Result<Operator> OperatorFrom(std::string_view name) {
  if (name == "In") return Operator::kIn;
  if (name == "NotIn") return Operator::kNotIn;
  if (name == "Exists") return Operator::kExists;
  if (name == "DoesNotExist") return Operator::kDoesNotExist;
  return base::BadRequest(
      base::StrCat(base::GoQuote(name), " is not a valid label selector operator"));
}

void AddInvalid(const FieldPath& path, std::string_view value,
                const std::vector<std::string>& texts, FieldErrors& errors) {
  for (const std::string& text : texts) errors.push_back(Invalid(path, value, text));
}

void ValidateExpression(json::Value expression, const FieldPath& path, bool allow_invalid_values,
                        FieldErrors& errors) {
  const std::string_view op = expression["operator"].AsString();
  const json::Value values = expression["values"];
  if (op == "In" || op == "NotIn") {
    if (values.empty()) {
      errors.push_back(
          Required(path.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) {
      errors.push_back(
          Forbidden(path.Child("values"),
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    }
  } else {
    errors.push_back(
        Invalid(path.Child("operator"), NamedValue(op), "not a valid selector operator"));
  }
  const std::string_view key = expression["key"].AsString();
  AddInvalid(path.Child("key"), key, IsQualifiedName(key), errors);
  if (allow_invalid_values) return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string_view value = values[i].AsString();
    AddInvalid(path.Child("values").Index(i), value, IsValidLabelValue(value), errors);
  }
}

}  // namespace

LabelSelector LabelSelector::Nothing() {
  LabelSelector selector;
  selector.nothing_ = true;
  return selector;
}

base::Result<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector selector;
  selector.requirements_ = TRY(ParseRequirements(text));
  SortByKey(selector.requirements_);
  return selector;
}

base::Result<LabelSelector> LabelSelector::FromJson(json::Value object) {
  if (object.is_null()) return Nothing();
  LabelSelector selector;
  for (const json::Member& label : object["matchLabels"].members()) {
    selector.requirements_.push_back(TRY(
        MakeRequirement(label.name(), Operator::kEquals, {std::string(label.value.AsString())})));
  }
  for (const json::Value& expression : object["matchExpressions"].elements()) {
    const Operator op = TRY(OperatorFrom(expression["operator"].AsString()));
    std::vector<std::string> values;
    for (const json::Value& value : expression["values"].elements()) {
      values.emplace_back(value.AsString());
    }
    selector.requirements_.push_back(
        TRY(MakeRequirement(expression["key"].AsString(), op, std::move(values))));
  }
  SortByKey(selector.requirements_);
  return selector;
}

LabelSelector LabelSelector::FromSet(json::Value labels) {
  LabelSelector selector;
  for (const json::Member& label : labels.members()) {
    selector.requirements_.push_back(
        {std::string(label.name()), Operator::kEquals, {std::string(label.value.AsString())}});
  }
  SortByKey(selector.requirements_);
  return selector;
}

bool LabelSelector::Matches(json::Value labels) const {
  if (nothing_) return false;
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& r) {
    const json::Value* found = labels.Find(r.key);
    if (found == nullptr) return MatchesOne(r, nullptr);
    const std::string_view value = found->AsString();
    return MatchesOne(r, &value);
  });
}

bool LabelSelector::Matches(
    const std::function<const std::string*(std::string_view)>& lookup) const {
  if (nothing_) return false;
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& r) {
    const std::string* found = lookup(r.key);
    if (found == nullptr) return MatchesOne(r, nullptr);
    const std::string_view value = *found;
    return MatchesOne(r, &value);
  });
}

void LabelSelector::Add(Requirement requirement) {
  requirements_.push_back(std::move(requirement));
  SortByKey(requirements_);
}

std::string LabelSelector::ToString() const {
  std::vector<std::string> texts;
  for (const Requirement& requirement : requirements_) texts.push_back(Print(requirement));
  return base::Join(texts, ",");
}

FieldErrors ValidateLabelSelector(json::Value selector, const FieldPath& path,
                                  bool allow_invalid_values) {
  FieldErrors errors;
  const FieldPath labels = path.Child("matchLabels");
  for (const json::Member& label : selector["matchLabels"].members()) {
    AddInvalid(labels, label.name(), IsQualifiedName(label.name()), errors);
    const std::string_view value = label.value.AsString();
    AddInvalid(labels, value, IsValidLabelValue(value), errors);
  }
  const json::Value expressions = selector["matchExpressions"];
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    ValidateExpression(expressions[i], path.Child("matchExpressions").Index(i),
                       allow_invalid_values, errors);
  }
  return errors;
}

}  // namespace portcullis::api
