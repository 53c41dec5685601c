// SPDX-License-Identifier: Apache-2.0

#include "registry/custom_resources/schema_rules.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "api/schema/validate.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/strings.h"
#include "kube_cel/evaluation.h"
#include "kube_cel/schema_rules.h"
#include "kube_cel/schema_sizes.h"
#include "registry/custom_resources/definition_text.h"
#include "registry/validation/checks.h"

namespace portcullis::registry {
namespace {

using json::Value;

constexpr std::string_view kCallTooCostly = "operation cancelled: actual cost limit exceeded";
constexpr std::uint64_t kRuleLimit = 10'000'000;
constexpr std::uint64_t kSchemaLimit = 100'000'000;
constexpr std::string_view kAdvice =
    " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)";

std::string FactorText(std::uint64_t cost, std::uint64_t limit) {
  const double factor = static_cast<double>(cost) / static_cast<double>(limit);
  if (factor > 100) return "more than 100x";
  char text[64];
  std::snprintf(text, sizeof(text), factor < 1.5 ? "%fx" : "%.1fx", factor);
  return text;
}

// What is wrong with a rule, as definitions and their objects tell it.
std::string CompileError(const kube_cel::Expression& expression) {
  const std::string_view error = expression.error();
  return std::string(error.starts_with("must evaluate") ? "cel expression must evaluate to a bool"
                                                        : error);
}

// The next piece of a JSONPath: a delimiter, a quoted string, or what stands before a delimiter.
std::string_view NextPiece(std::string_view& path) {
  constexpr std::string_view kDelimiters = ".[]";
  std::size_t size = 1;
  if (path.front() == '\'') {
    while (size < path.size() && (path[size] != '\'' || path[size - 1] == '\\')) ++size;
    size = std::min(size + 1, path.size());
  } else if (kDelimiters.find(path.front()) == std::string_view::npos) {
    size = std::min(path.find_first_of(kDelimiters), path.size());
  }
  const std::string_view piece = path.substr(0, size);
  path.remove_prefix(size);
  return piece;
}

// The name in quotes, or nothing if it escapes anything but quotes and backslashes.
std::optional<std::string> Unquoted(std::string_view piece) {
  std::string name;
  for (std::size_t i = 1; i + 1 < piece.size(); ++i) {
    if (piece[i] == '\\') {
      ++i;
      if (i + 1 >= piece.size() || (piece[i] != '\\' && piece[i] != '\'')) return std::nullopt;
    }
    name += piece[i];
  }
  return name;
}

// Whether a rule's fieldPath (`.a['b'].c`) leads to a field of the schema.
bool LeadsToField(Value props, std::string_view path) {
  while (!path.empty()) {
    const std::string_view delimiter = NextPiece(path);
    if ((delimiter != "." && delimiter != "[") || path.empty()) return false;
    const std::string_view piece = NextPiece(path);
    std::string name(piece);
    if (delimiter == "[") {
      if (piece.size() < 2 || piece.front() != '\'' || piece.back() != '\'') return false;
      const auto unquoted = Unquoted(piece);
      if (!unquoted) return false;
      name = *unquoted;
    }
    const Value properties = props["properties"];
    props = properties.is_null() ? props["additionalProperties"] : properties[name];
    if (!props.is_object()) return false;
    if (delimiter == "[" && (path.empty() || NextPiece(path) != "]")) return false;
  }
  return true;
}

// Whether Go makes a structural schema of it, in which paths can be looked up: there is none of a schema with one
// of these fields, at any depth.
bool HasStructure(Value props) {
  for (const std::string_view field : {"id", "$schema", "$ref"}) {
    if (!props[field].AsString().empty()) return false;
  }
  for (const std::string_view field : {"patternProperties", "dependencies", "definitions"}) {
    if (props[field].size() > 0) return false;
  }
  if (!props["additionalItems"].is_null()) return false;
  if (props["items"].is_array() && props["items"].size() > 0) return false;
  const Value preserve = props["x-kubernetes-preserve-unknown-fields"];
  if (!preserve.is_null() && !preserve.AsBool()) return false;
  for (const std::string_view list : {"allOf", "oneOf", "anyOf"}) {
    for (const Value& schema : props[list].elements()) {
      if (!HasStructure(schema)) return false;
    }
  }
  for (const std::string_view field : {"not", "items", "additionalProperties"}) {
    if (props[field].is_object() && !HasStructure(props[field])) return false;
  }
  const auto members = props["properties"].members();
  return std::all_of(members.begin(), members.end(),
                     [](const json::Member& member) { return HasStructure(member.value); });
}

bool HasNewlines(std::string_view text) {
  return text.find_first_of("\r\n") != std::string_view::npos;
}

// Of one rule of `props`.
void CheckTexts(Value props, Value rule, const FieldPath& at, FieldErrors& errors) {
  const std::string_view text = golang::TrimSpace(rule["rule"].AsString());
  const std::string_view message = rule["message"].AsString();
  if (text.empty()) {
    errors.push_back(api::Required(at.Child("rule"), "rule is not specified"));
  } else if (!message.empty() && golang::TrimSpace(message).empty()) {
    errors.push_back(api::Invalid(at.Child("message"), message, "must be non-empty if specified"));
  } else if (HasNewlines(golang::TrimSpace(message))) {
    errors.push_back(api::Invalid(at.Child("message"), message, "must not contain line breaks"));
  } else if (HasNewlines(text) && golang::TrimSpace(message).empty()) {
    errors.push_back(api::Required(at.Child("message"),
                                   "message must be specified if rule contains line breaks"));
  }
  const std::string_view expression = rule["messageExpression"].AsString();
  if (!expression.empty() && golang::TrimSpace(expression).empty()) {
    errors.push_back(api::Required(at.Child("messageExpression"),
                                   "messageExpression must be non-empty if specified"));
  }
  if (const Value reason = rule["reason"]; !reason.is_null()) {
    CheckOneOf(
        reason, at.Child("reason"),
        {"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"},
        errors);
  }
  const std::string_view field_path = rule["fieldPath"].AsString();
  if (field_path.empty()) return;
  if (golang::TrimSpace(field_path).empty()) {
    errors.push_back(
        api::Invalid(at.Child("fieldPath"), field_path, "must be non-empty if specified"));
  }
  if (HasNewlines(field_path)) {
    errors.push_back(
        api::Invalid(at.Child("fieldPath"), field_path, "must not contain line breaks"));
  }
  if (!LeadsToField(props, field_path) && HasStructure(props)) {
    errors.push_back(api::Invalid(at.Child("fieldPath"), field_path, "must be a valid path"));
  }
}

class Checker {
 public:
  explicit Checker(FieldErrors& errors) : errors_(errors) {}

  // Where a node is and what is known of how often it occurs.
  struct Place {
    FieldPath path;
    bool is_resource = false;
    std::optional<std::uint64_t> times;  // nothing if a list or map around it has no limit
    std::string uncorrelatable;          // the first node whose old elements cannot be found
  };

  void Check(Value props, const Place& place) {
    if (const Value values = props["additionalProperties"]; values.is_object()) {
      Check(values, Below(props, values, place, place.path.Child("additionalProperties"), false));
    }
    const bool atomic = props["x-kubernetes-map-type"].AsString() == "atomic";
    for (const json::Member& member : props["properties"].members()) {
      Check(member.value, Below(props, member.value, place,
                                place.path.Child("properties").Key(member.name()), atomic));
    }
    if (const Value items = props["items"]; items.is_object()) {
      const bool keyed = props["x-kubernetes-list-type"].AsString() == "map";
      Check(items, Below(props, items, place, place.path.Child("items"), !keyed));
    }
    CheckRules(props, place);
  }

  // What is wrong with the expressions comes after what is wrong with the schema.
  void Finish(const FieldPath& path) {
    errors_.insert(errors_.end(), expression_errors_.begin(), expression_errors_.end());
    if (total_ <= kSchemaLimit) return;
    for (const auto& [cost, rule] : costly_) {
      errors_.push_back(api::Forbidden(rule,
                                       "contributed to estimated rule cost total exceeding cost "
                                       "limit for entire OpenAPIv3 schema"));
    }
    errors_.push_back(api::Forbidden(
        path, base::StrCat("x-kubernetes-validations estimated rule cost total for entire "
                           "OpenAPIv3 schema exceeds budget by factor of ",
                           FactorText(total_, kSchemaLimit), kAdvice)));
  }

 private:
  static Place Below(Value props, Value child, const Place& place, FieldPath path,
                     bool uncorrelatable) {
    Place below;
    below.path = std::move(path);
    below.is_resource = child["x-kubernetes-embedded-resource"].AsBool();
    below.uncorrelatable = place.uncorrelatable;
    if (uncorrelatable && below.uncorrelatable.empty()) {
      below.uncorrelatable = place.path.ToString();
    }
    const auto limit = kube_cel::ElementLimit(props);
    if (place.times && limit) below.times = Times(*place.times, *limit);
    return below;
  }

  static std::uint64_t Times(std::uint64_t a, std::uint64_t b) {
    std::uint64_t result = 0;
    return __builtin_mul_overflow(a, b, &result) ? cel::kUnbounded : result;
  }

  bool HasErrorWithin(const FieldPath& path) const {
    if (errors_.empty()) return false;
    const std::string at = path.ToString();
    return std::any_of(errors_.begin(), errors_.end(), [&](const api::FieldError& error) {
      const std::string_view field = error.field;
      if (!field.starts_with(at)) return false;
      return field.size() == at.size() || field[at.size()] == '.' || field[at.size()] == '[';
    });
  }

  void CheckRules(Value props, const Place& place) {
    const Value rules = props["x-kubernetes-validations"];
    const FieldPath path = place.path.Child("x-kubernetes-validations");
    // Expressions of a node that is wrong would be reported for the wrong reasons.
    if (rules.empty() || HasErrorWithin(place.path)) return;
    std::size_t index = 0;
    for (const Value& rule : rules.elements()) {
      CheckExpressions(props, rule, path.Index(index++), place);
    }
  }

  void CheckExpressions(Value props, Value rule, const FieldPath& at, const Place& place) {
    const bool optional = rule["optionalOldSelf"].AsBool();
    const auto scope = kube_cel::MakeRuleEnvironment(props, place.is_resource, optional);
    const std::string_view text = rule["rule"].AsString();
    const auto expression = kube_cel::Compiler::CompileIn(scope, text, kube_cel::Expected::kBool);
    bool uses_old = false;
    if (!expression->ok()) {
      Wrong(at.Child("rule"), rule, CompileError(*expression));
    } else {
      const std::uint64_t times =
          place.times ? *place.times : kube_cel::MaxOccurrences(props, place.is_resource);
      uses_old = expression->program().Uses(scope->environment->VariableIndex("oldSelf"));
      const std::uint64_t cost = kube_cel::EstimateRuleCost(*scope, props, place.is_resource, text);
      AddCost("estimated rule cost", Times(cost, times), at.Child("rule"));
      CheckMessage(props, rule, at.Child("messageExpression"), place, *scope);
    }
    if (uses_old) {
      if (place.uncorrelatable.empty()) return;
      expression_errors_.push_back(
          api::Invalid(at.Child("rule"), text,
                       base::StrCat("oldSelf cannot be used on the uncorrelatable portion of the "
                                    "schema within ",
                                    place.uncorrelatable)));
    } else if (!rule["optionalOldSelf"].is_null()) {
      expression_errors_.push_back(api::Invalid(at.Child("optionalOldSelf"), optional,
                                                "may not be set if oldSelf is not used in rule"));
    }
  }

  void CheckMessage(Value props, Value rule, const FieldPath& at, const Place& place,
                    const kube_cel::ScopeEnvironment& scope) {
    const std::string_view message = rule["messageExpression"].AsString();
    if (message.empty()) return;
    const auto shared = std::make_shared<const kube_cel::ScopeEnvironment>(scope);
    const auto compiled =
        kube_cel::Compiler::CompileIn(shared, message, kube_cel::Expected::kString);
    if (!compiled->ok()) {
      std::string_view error = compiled->error();
      if (error.starts_with("program ")) error.remove_prefix(8);
      if (error.starts_with("must evaluate")) error = "must evaluate to a string";
      Wrong(at, rule, base::StrCat("messageExpression ", error));
    } else {
      const std::uint64_t cost =
          kube_cel::EstimateRuleCost(scope, props, place.is_resource, message);
      AddCost("estimated messageExpression cost", cost, at);
    }
  }

  void Wrong(const FieldPath& at, Value rule, std::string text) {
    expression_errors_.push_back(
        api::Invalid(at, api::BadValue::Raw(RuleText(rule)), std::move(text)));
  }

  void AddCost(std::string_view what, std::uint64_t cost, const FieldPath& path) {
    constexpr std::size_t kReported = 4;
    if (cost > kRuleLimit) {
      expression_errors_.push_back(
          api::Forbidden(path, base::StrCat(what, " exceeds budget by factor of ",
                                            FactorText(cost, kRuleLimit), kAdvice)));
    }
    if (__builtin_add_overflow(total_, cost, &total_)) total_ = cel::kUnbounded;
    if (cost < kSchemaLimit / 100) return;
    costly_.emplace_back(cost, path);
    std::stable_sort(costly_.begin(), costly_.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    if (costly_.size() > kReported) costly_.pop_back();
  }

  FieldErrors& errors_;
  FieldErrors expression_errors_;
  std::uint64_t total_ = 0;
  std::vector<std::pair<std::uint64_t, FieldPath>> costly_;  // the most expensive, in order
};

// What a value is compared with to tell whether it has changed. Lives on the stack of the walk.
struct Ratchet {
  const Ratchet* around = nullptr;  // the nearest place that has a counterpart in the old object
  const Value* props = nullptr;     // null if this place has no counterpart
  Value value;
  Value old;

  bool Holds() const {
    if (props != nullptr) return api::schema::IsUnchanged(*props, value, old);
    return around != nullptr && around->Holds();
  }
};

class Judge {
 public:
  Judge(json::Arena& arena, kube_cel::Budget& budget, FieldErrors& errors,
        std::vector<std::string>* warnings)
      : arena_(arena), errors_(errors), warnings_(warnings), budget_(budget) {}

  bool stopped() const { return stopped_; }

  void Start(const kube_cel::RuleNode& node, Value object, const Value* old) {
    Ratchet root;
    if (old != nullptr) root = {nullptr, &node.props, object, *old};
    is_root_ = true;
    Visit(node, object, old, root, FieldPath());
  }

  // `old` is what oldSelf is, or null pointer.
  void Visit(const kube_cel::RuleNode& node, Value value, const Value* old, const Ratchet& ratchet,
             const FieldPath& path) {
    if (stopped_ || value.is_null()) return;
    const bool is_root = is_root_;
    is_root_ = false;
    if (!HasType(node.props)) {
      // Old definitions may have such schemas; what is below the root has no rules then.
      if (is_root && !node.rules.empty()) {
        errors_.push_back(api::Invalid(path, "",
                                       "rule compiler initialization error: failed to convert to "
                                       "declType for CEL validation rules"));
      }
      return;
    }
    if (old != nullptr && old->is_null()) old = nullptr;
    Evaluate(node, value, old, ratchet, path);
    for (const auto& [name, below] : node.fields) {
      const Value* member = value.Find(name);
      if (member == nullptr) continue;
      // Both objects have been converted to one version: these two prove nothing.
      const bool has_type = is_root && (name == "apiVersion" || name == "kind");
      const Value* before = old == nullptr ? nullptr : old->Find(name);
      const Ratchet next =
          has_type ? Ratchet() : Below(ratchet, below.props, *member, ratchet.old.Find(name));
      Visit(below, *member, before, next, path.Child(name));
    }
    if (node.additional != nullptr) {
      for (const json::Member& member : value.members()) {
        if (node.props["properties"].Has(member.name())) continue;
        const Value* before = old == nullptr ? nullptr : old->Find(member.name());
        Visit(*node.additional, member.value, before,
              Below(ratchet, node.additional->props, member.value, ratchet.old.Find(member.name())),
              path.Key(member.name()));
      }
    }
    if (node.items != nullptr) {
      const api::schema::Counterparts olds(node.props, old);
      const api::schema::Counterparts unchanged(node.props,
                                                ratchet.props == nullptr ? nullptr : &ratchet.old);
      std::size_t index = 0;
      for (const Value& element : value.elements()) {
        Visit(*node.items, element, olds.Of(element),
              Below(ratchet, node.items->props, element, unchanged.Of(element)),
              path.Index(index++));
      }
    }
  }

 private:
  static bool HasType(Value props) {
    return !props["type"].AsString().empty() || props["x-kubernetes-int-or-string"].AsBool();
  }

  static Ratchet Below(const Ratchet& ratchet, const Value& props, Value value, const Value* old) {
    if (ratchet.props == nullptr) return ratchet;
    if (old == nullptr) return {&ratchet, nullptr, {}, {}};
    return {&ratchet, &props, value, *old};
  }

  void Evaluate(const kube_cel::RuleNode& node, Value value, const Value* old,
                const Ratchet& ratchet, const FieldPath& path) {
    if (node.rules.empty()) return;
    kube_cel::Inputs inputs;
    inputs.Set(kube_cel::Input::kObject,
               kube_cel::RuleValue(arena_, node.props, node.is_resource, value));
    cel::Value before;
    if (old != nullptr) before = kube_cel::RuleValue(arena_, node.props, node.is_resource, *old);
    for (const kube_cel::Rule& rule : node.rules) {
      if (stopped_) return;
      if (rule.uses_old && old == nullptr && !rule.optional_old) continue;
      if (rule.optional_old) {
        inputs.Set(kube_cel::Input::kOldObject,
                   old == nullptr ? cel::Value::None() : cel::MakeSome(arena_, before));
      } else {
        inputs.Set(kube_cel::Input::kOldObject, before);
      }
      One(node, rule, inputs, value, ratchet, path);
    }
  }

  void One(const kube_cel::RuleNode& node, const kube_cel::Rule& rule,
           const kube_cel::Inputs& inputs, Value value, const Ratchet& ratchet,
           const FieldPath& path) {
    const std::string_view type = node.props["type"].AsString();
    const FieldPath at = rule.field_path.empty() ? path : path.Child(Relative(rule.field_path));
    if (!rule.expression->ok()) {
      errors_.push_back(api::Invalid(
          path, type, base::StrCat("rule compile error: ", CompileError(*rule.expression))));
      return;
    }
    kube_cel::Evaluation evaluation(arena_, inputs);
    const kube_cel::Evaluated result = evaluation.Evaluate(*rule.expression, budget_);
    const std::string shown = rule.message.empty()
                                  ? std::string(golang::TrimSpace(rule.expression->text()))
                                  : rule.message;
    if (result.out_of_budget) {
      errors_.push_back(api::Invalid(path, type, kube_cel::kOutOfBudget));
      stopped_ = true;
    } else if (result.error.starts_with(kCallTooCostly)) {
      errors_.push_back(api::Invalid(
          path, type,
          base::StrCat("'", result.error,
                       "': no further validation rules will be run due to call cost exceeds limit "
                       "for rule: ",
                       shown)));
      stopped_ = true;
    } else if (result.error.starts_with("no such overload")) {
      errors_.push_back(api::Invalid(
          path, type,
          base::StrCat("'", result.error,
                       "': call arguments did not match a supported operator, function or macro "
                       "signature for rule: ",
                       shown)));
    } else if (!result.error.empty()) {
      errors_.push_back(
          api::Invalid(path, type, base::StrCat(result.error, " evaluating rule: ", shown)));
    } else if (!result.value.is_true()) {
      const std::size_t before = errors_.size();
      const bool whole = type == "object" || type == "array";
      const std::string message = MessageOf(rule, evaluation);
      if (stopped_) {
        errors_.push_back(api::Invalid(at, type, message));
      } else {
        Add(rule, at, whole ? api::BadValue::Omitted() : api::BadValue(value), message);
      }
      // What has not changed was good enough before. A rule that could not be evaluated says
      // nothing of that.
      if (rule.uses_old || errors_.size() == before || !ratchet.Holds()) return;
      if (warnings_ != nullptr) warnings_->push_back(errors_.back().ToString());
      errors_.pop_back();
    }
  }

  // Sets stopped_ if the message could not be paid for; the text then says so.
  std::string MessageOf(const kube_cel::Rule& rule, kube_cel::Evaluation& evaluation) {
    if (rule.message_expression != nullptr && rule.message_expression->ok()) {
      const kube_cel::Evaluated made = evaluation.Evaluate(*rule.message_expression, budget_);
      if (made.out_of_budget) {
        stopped_ = true;
        return "messageExpression evaluation failed due to running out of cost budget, no further "
               "validation rules will be run";
      }
      if (made.error.starts_with(kCallTooCostly)) {
        stopped_ = true;
        return base::StrCat(
            "no further validation rules will be run due to call cost exceeds limit for "
            "messageExpression: ",
            base::GoQuote(rule.message_expression->text()));
      }
      if (made.ok() && made.value.is_string()) {
        const std::string_view text = golang::TrimSpace(made.value.text());
        if (!text.empty() && text.size() <= 5120 && text.find('\n') == std::string_view::npos) {
          return std::string(text);
        }
      }
    }
    if (!rule.message.empty()) return rule.message;
    return base::StrCat("failed rule: ", golang::TrimSpace(rule.expression->text()));
  }

  static std::string_view Relative(std::string_view path) {
    if (path.starts_with('.')) path.remove_prefix(1);
    return path;
  }

  // Objects and lists are not shown, other values are.
  void Add(const kube_cel::Rule& rule, const FieldPath& path, const api::BadValue& value,
           std::string_view text) {
    if (rule.reason == "FieldValueForbidden") {
      errors_.push_back(api::Forbidden(path, text));
    } else if (rule.reason == "FieldValueRequired") {
      errors_.push_back(api::Required(path, text));
    } else if (rule.reason == "FieldValueDuplicate") {
      errors_.push_back(api::Duplicate(path, value));
    } else {
      errors_.push_back(api::Invalid(path, value, text));
    }
  }

  json::Arena& arena_;
  FieldErrors& errors_;
  std::vector<std::string>* const warnings_;
  kube_cel::Budget& budget_;
  bool is_root_ = false;  // of the whole object, for the next Visit
  bool stopped_ = false;
};

}  // namespace

void CheckRuleTexts(Value props, const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const Value& rule : props["x-kubernetes-validations"].elements()) {
    CheckTexts(props, rule, path.Child("x-kubernetes-validations").Index(index++), errors);
  }
}

void ValidateSchemaRules(Value props, const FieldPath& path, FieldErrors& errors) {
  Checker checker(errors);
  checker.Check(props, {path, /*is_resource=*/true, 1, ""});
  checker.Finish(path);
}

void EvaluateSchemaRules(json::Arena& arena, const kube_cel::RuleSet& rules, Value object,
                         const Value* old, FieldErrors& errors,
                         std::vector<std::string>* warnings) {
  if (!rules.root().has_any) return;
  kube_cel::Budget budget(kube_cel::kPolicyBudget);
  Judge(arena, budget, errors, warnings).Start(rules.root(), object, old);
}

bool EvaluateDefaultRules(json::Arena& arena, const kube_cel::RuleNode& node, Value value,
                          const FieldPath& path, kube_cel::Budget& budget, FieldErrors& errors) {
  const std::size_t before = errors.size();
  kube_cel::Budget again = budget;
  Judge as_kept(arena, budget, errors, nullptr);
  as_kept.Visit(node, value, &value, Ratchet(), path);
  if (errors.size() != before) return !as_kept.stopped();
  Judge as_new(arena, again, errors, nullptr);
  as_new.Visit(node, value, nullptr, Ratchet(), path);
  if (again.left() < budget.left()) budget = again;
  return !as_new.stopped();
}

}  // namespace portcullis::registry
