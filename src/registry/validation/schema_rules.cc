#include "registry/validation/schema_rules.h"

#include <cstdio>
#include <string>

#include "base/strings.h"
#include "kube_cel/evaluation.h"
#include "kube_cel/schema_rules.h"
#include "registry/validation/checks.h"

namespace portcullis::registry {
namespace {

using json::Value;

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

// A rule as Go prints the struct it is decoded into.
std::string RuleText(Value rule) {
  const auto text = [&](std::string_view name) { return Quoted(rule[name].AsString()); };
  const Value reason = rule["reason"];
  const Value optional = rule["optionalOldSelf"];
  return StructJson(
      {{"Rule", text("rule")},
       {"Message", text("message")},
       {"MessageExpression", text("messageExpression")},
       {"Reason", reason.is_null() ? "null" : text("reason")},
       {"FieldPath", text("fieldPath")},
       {"OptionalOldSelf", optional.is_null() ? "null" : (optional.AsBool() ? "true" : "false")}});
}

class Checker {
 public:
  explicit Checker(FieldErrors& errors) : errors_(errors) {}

  void Check(Value props, const FieldPath& path, bool is_resource, std::uint64_t times,
             bool correlatable) {
    CheckRules(props, path, is_resource, times, correlatable);
    for (const json::Member& member : props["properties"].members()) {
      Check(member.value, path.Child("properties").Key(member.name()), Embedded(member.value),
            times, correlatable && props["x-kubernetes-map-type"].AsString() != "atomic");
    }
    if (const Value items = props["items"]; items.is_object()) {
      Check(items, path.Child("items"), Embedded(items), Times(times, props),
            correlatable && props["x-kubernetes-list-type"].AsString() == "map");
    }
    if (const Value values = props["additionalProperties"]; values.is_object()) {
      Check(values, path.Child("additionalProperties"), Embedded(values), Times(times, props),
            correlatable && props["x-kubernetes-map-type"].AsString() != "atomic");
    }
  }

  void CheckTotal(const FieldPath& path) {
    if (total_ <= kSchemaLimit) return;
    for (const FieldPath& rule : costly_) {
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
  static bool Embedded(Value props) { return props["x-kubernetes-embedded-resource"].AsBool(); }

  static std::uint64_t Times(std::uint64_t times, Value props) {
    std::uint64_t result = 0;
    return __builtin_mul_overflow(times, kube_cel::MaxElements(props), &result) ? cel::kUnbounded
                                                                                : result;
  }

  void CheckRules(Value props, const FieldPath& path, bool is_resource, std::uint64_t times,
                  bool correlatable) {
    std::size_t index = 0;
    for (const Value& rule : props["x-kubernetes-validations"].elements()) {
      const FieldPath at = path.Child("x-kubernetes-validations").Index(index++);
      CheckTexts(rule, at);
      if (base::Trim(rule["rule"].AsString()).empty()) continue;
      CheckExpressions(props, rule, at, is_resource, times, correlatable);
    }
  }

  void CheckTexts(Value rule, const FieldPath& at) {
    const std::string_view text = base::Trim(rule["rule"].AsString());
    if (text.empty()) errors_.push_back(api::Required(at.Child("rule"), "rule is not specified"));
    const std::string_view message = rule["message"].AsString();
    if (!message.empty() && base::Trim(message).empty()) {
      errors_.push_back(
          api::Invalid(at.Child("message"), message, "message must be non-empty if specified"));
    } else if (message.size() > 2048) {
      errors_.push_back(api::Invalid(at.Child("message"),
                                     base::StrCat(message.substr(0, 10), "..."),
                                     "message must have a length less than 2048"));
    } else if (base::Trim(message).find_first_of("\r\n") != std::string_view::npos) {
      errors_.push_back(
          api::Invalid(at.Child("message"), message, "message must not contain line breaks"));
    } else if (message.empty() && text.find_first_of("\r\n") != std::string_view::npos) {
      errors_.push_back(api::Required(at.Child("message"),
                                      "message must be specified if rule contains line breaks"));
    }
    const std::string_view expression = rule["messageExpression"].AsString();
    if (!expression.empty() && base::Trim(expression).empty()) {
      errors_.push_back(api::Required(at.Child("messageExpression"),
                                      "messageExpression must be non-empty if specified"));
    }
    if (const Value reason = rule["reason"]; !reason.is_null()) {
      CheckOneOf(
          reason, at.Child("reason"),
          {"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"},
          errors_);
    }
    const std::string_view field_path = rule["fieldPath"].AsString();
    if (!field_path.empty() && base::Trim(field_path).empty()) {
      errors_.push_back(api::Invalid(at.Child("fieldPath"), field_path,
                                     "fieldPath must be non-empty if specified"));
    }
  }

  void CheckExpressions(Value props, Value rule, const FieldPath& at, bool is_resource,
                        std::uint64_t times, bool correlatable) {
    const bool optional = rule["optionalOldSelf"].AsBool();
    const auto scope = kube_cel::MakeRuleEnvironment(props, is_resource, optional);
    const std::string_view text = rule["rule"].AsString();
    const auto expression =
        kube_cel::Compiler::CompileIn(scope, text, kube_cel::Expected::kAnything);
    if (!expression->ok()) {
      errors_.push_back(expression->is_internal()
                            ? api::InternalFieldError(at.Child("rule"), expression->error())
                            : api::Invalid(at.Child("rule"), api::BadValue::Raw(RuleText(rule)),
                                           expression->error()));
      return;
    }
    if (expression->program().result_type()->kind != cel::TypeKind::kBool) {
      errors_.push_back(api::Invalid(at.Child("rule"), api::BadValue::Raw(RuleText(rule)),
                                     "cel expression must evaluate to a bool"));
    }
    const bool uses_old = expression->program().Uses(scope->environment->VariableIndex("oldSelf"));
    if (uses_old && !correlatable) {
      errors_.push_back(api::Invalid(
          at.Child("rule"), text,
          "oldSelf cannot be used on the uncorrelatable portion of the schema within an array"));
    }
    if (!uses_old && !rule["optionalOldSelf"].is_null()) {
      errors_.push_back(api::Invalid(at.Child("optionalOldSelf"), optional,
                                     "may not be set if oldSelf is not used in rule"));
    }
    AddCost(kube_cel::EstimateRuleCost(*scope, props, text), times, at.Child("rule"));
    if (const std::string_view message = rule["messageExpression"].AsString();
        !base::Trim(message).empty()) {
      const auto compiled =
          kube_cel::Compiler::CompileIn(scope, message, kube_cel::Expected::kAnything);
      if (!compiled->ok()) {
        errors_.push_back(api::Invalid(at.Child("messageExpression"),
                                       api::BadValue::Raw(RuleText(rule)), compiled->error()));
      } else if (compiled->program().result_type()->kind != cel::TypeKind::kString) {
        errors_.push_back(api::Invalid(at.Child("messageExpression"),
                                       api::BadValue::Raw(RuleText(rule)),
                                       "messageExpression must evaluate to a string"));
      }
    }
  }

  void AddCost(std::uint64_t cost, std::uint64_t times, const FieldPath& path) {
    std::uint64_t all = 0;
    if (__builtin_mul_overflow(cost, times, &all)) all = cel::kUnbounded;
    if (all > kRuleLimit) {
      errors_.push_back(
          api::Forbidden(path, base::StrCat("estimated rule cost exceeds budget by factor of ",
                                            FactorText(all, kRuleLimit), kAdvice)));
    }
    if (__builtin_add_overflow(total_, all, &total_)) total_ = cel::kUnbounded;
    if (all > kSchemaLimit / 100) costly_.push_back(path);
  }

  FieldErrors& errors_;
  std::uint64_t total_ = 0;
  std::vector<FieldPath> costly_;
};

class Judge {
 public:
  Judge(json::Arena& arena, FieldErrors& errors)
      : arena_(arena), errors_(errors), budget_(kube_cel::kPolicyBudget) {}

  void Visit(const kube_cel::RuleNode& node, Value value, const Value* old, const FieldPath& path) {
    if (stopped_ || value.is_null()) return;
    // What has not changed was good enough before.
    const bool unchanged = old != nullptr && *old == value;
    Evaluate(node, value, old, unchanged, path);
    for (const auto& [name, below] : node.fields) {
      const Value* member = value.Find(name);
      if (member == nullptr) continue;
      Visit(below, *member, old == nullptr ? nullptr : old->Find(name), path.Child(name));
    }
    if (node.additional != nullptr) {
      for (const json::Member& member : value.members()) {
        if (node.props["properties"].Has(member.name())) continue;
        Visit(*node.additional, member.value, old == nullptr ? nullptr : old->Find(member.name()),
              path.Key(member.name()));
      }
    }
    if (node.items != nullptr) {
      std::size_t index = 0;
      for (const Value& element : value.elements()) {
        Visit(*node.items, element, old == nullptr ? nullptr : Counterpart(node, element, *old),
              path.Index(index++));
      }
    }
  }

 private:
  // The element of a keyed list with the same keys.
  static const Value* Counterpart(const kube_cel::RuleNode& node, Value element, Value old) {
    if (node.props["x-kubernetes-list-type"].AsString() != "map") return nullptr;
    const Value keys = node.props["x-kubernetes-list-map-keys"];
    for (const Value& candidate : old.elements()) {
      bool same = true;
      for (const Value& key : keys.elements()) {
        same = same && candidate[key.AsString()] == element[key.AsString()];
      }
      if (same) return &candidate;
    }
    return nullptr;
  }

  void Evaluate(const kube_cel::RuleNode& node, Value value, const Value* old, bool unchanged,
                const FieldPath& path) {
    if (node.rules.empty()) return;
    kube_cel::Inputs inputs;
    inputs.Set(kube_cel::Input::kObject, kube_cel::RuleValue(arena_, node.props, value));
    for (const kube_cel::Rule& rule : node.rules) {
      if (stopped_) return;
      if (rule.uses_old ? old == nullptr && !rule.optional_old : unchanged) continue;
      if (rule.uses_old) {
        cel::Value before;
        if (old != nullptr) before = kube_cel::RuleValue(arena_, node.props, *old);
        if (rule.optional_old) {
          before = old == nullptr ? cel::Value::None() : cel::MakeSome(arena_, before);
        }
        inputs.Set(kube_cel::Input::kOldObject, before);
      }
      One(node, rule, inputs, path);
    }
  }

  void One(const kube_cel::RuleNode& node, const kube_cel::Rule& rule,
           const kube_cel::Inputs& inputs, const FieldPath& path) {
    const std::string_view type = node.props["type"].AsString();
    const FieldPath at = rule.field_path.empty() ? path : path.Child(Relative(rule.field_path));
    if (!rule.expression->ok()) {
      errors_.push_back(
          api::Invalid(path, type, base::StrCat("rule compile error: ", rule.expression->error())));
      return;
    }
    kube_cel::Evaluation evaluation(arena_, inputs);
    const kube_cel::Evaluated result = evaluation.Evaluate(*rule.expression, budget_);
    const std::string shown =
        rule.message.empty() ? std::string(base::Trim(rule.expression->text())) : rule.message;
    if (result.out_of_budget) {
      errors_.push_back(api::Invalid(path, type, kube_cel::kOutOfBudget));
      stopped_ = true;
    } else if (result.error.starts_with("operation cancelled: actual cost limit exceeded")) {
      errors_.push_back(api::Invalid(
          path, type,
          base::StrCat("'", result.error,
                       "': no further validation rules will be run due to call cost exceeds limit "
                       "for rule: ",
                       shown)));
      stopped_ = true;
    } else if (result.error.starts_with("no such overload")) {
      Add(rule, at, type,
          base::StrCat("'", result.error,
                       "': call arguments did not match a supported operator, function or macro "
                       "signature for rule: ",
                       shown));
    } else if (!result.error.empty()) {
      Add(rule, at, type, base::StrCat(result.error, " evaluating rule: ", shown));
    } else if (!result.value.is_true()) {
      Add(rule, at, type, MessageOf(rule, evaluation));
    }
  }

  std::string MessageOf(const kube_cel::Rule& rule, kube_cel::Evaluation& evaluation) {
    if (rule.message_expression != nullptr && rule.message_expression->ok()) {
      const kube_cel::Evaluated made = evaluation.Evaluate(*rule.message_expression, budget_);
      if (made.ok() && made.value.is_string()) {
        const std::string_view text = base::Trim(made.value.text());
        if (!text.empty() && text.size() <= 5120 && text.find('\n') == std::string_view::npos) {
          return std::string(text);
        }
      }
    }
    if (!rule.message.empty()) return rule.message;
    return base::StrCat("failed rule: ", base::Trim(rule.expression->text()));
  }

  static std::string_view Relative(std::string_view path) {
    if (path.starts_with('.')) path.remove_prefix(1);
    return path;
  }

  void Add(const kube_cel::Rule& rule, const FieldPath& path, std::string_view type,
           std::string_view text) {
    if (rule.reason == "FieldValueForbidden") {
      errors_.push_back(api::Forbidden(path, text));
    } else if (rule.reason == "FieldValueRequired") {
      errors_.push_back(api::Required(path, text));
    } else if (rule.reason == "FieldValueDuplicate") {
      errors_.push_back(api::Duplicate(path, type));
    } else {
      errors_.push_back(api::Invalid(path, type, text));
    }
  }

  json::Arena& arena_;
  FieldErrors& errors_;
  kube_cel::Budget budget_;
  bool stopped_ = false;
};

}  // namespace

void ValidateSchemaRules(Value props, const FieldPath& path, FieldErrors& errors) {
  Checker checker(errors);
  checker.Check(props, path, /*is_resource=*/true, 1, /*correlatable=*/true);
  checker.CheckTotal(path);
}

void EvaluateSchemaRules(json::Arena& arena, const kube_cel::RuleSet& rules, Value object,
                         const Value* old, FieldErrors& errors) {
  if (!rules.root().has_any) return;
  Judge(arena, errors).Visit(rules.root(), object, old, FieldPath());
}

}  // namespace portcullis::registry
