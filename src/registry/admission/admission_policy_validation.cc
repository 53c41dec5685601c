// SPDX-License-Identifier: Apache-2.0

#include "registry/admission/admission_policy_validation.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/json_path.h"
#include "api/named_value.h"
#include "api/names.h"
#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "golang/strings.h"
#include "registry/admission/cel_expressions.h"
#include "registry/admission/webhook_configuration_validation.h"
#include "registry/validation/checks.h"
#include "registry/validation/conditions.h"

namespace portcullis::registry {
namespace {

using kube_cel::Expected;
using kube_cel::Scope;

constexpr std::size_t kMaxMatchConditions = 64;
constexpr std::size_t kMaxAuditAnnotations = 20;
constexpr std::size_t kMaxValueExpression = 5 * 1024;

bool IsOneOf(std::span<const std::string_view> allowed, std::string_view text) {
  return std::find(allowed.begin(), allowed.end(), text) != allowed.end();
}

void RequireOneOf(json::Value value, const FieldPath& path,
                  std::initializer_list<std::string_view> allowed, FieldErrors& errors) {
  const std::string_view text = value.AsString();
  if (text.empty()) {
    errors.push_back(api::Required(path, ""));
  } else if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
    errors.push_back(api::NotSupported(path, api::NamedValue(text), allowed));
  }
}

void CheckParamKind(json::Value kind, const FieldPath& path, FieldErrors& errors) {
  if (!kind.is_object()) return;
  const FieldPath version_path = path.Child("apiVersion");
  const std::string_view api_version = kind["apiVersion"].AsString();
  if (api_version.empty()) {
    errors.push_back(api::Required(version_path, ""));
  } else if (const auto parsed = api::ParseGroupVersion(api_version); !parsed.ok()) {
    errors.push_back(api::Invalid(version_path, api_version, parsed.status().message()));
  } else if (parsed->version.empty()) {
    errors.push_back(api::Invalid(version_path, api_version, "version must be specified"));
  } else {
    if (!parsed->group.empty()) {
      const auto problems = api::IsDns1123Subdomain(parsed->group);
      if (!problems.empty()) {
        errors.push_back(api::Invalid(version_path, parsed->group, base::Join(problems, ",")));
      }
    }
    const auto problems = api::IsDns1035Label(parsed->version);
    if (!problems.empty()) {
      errors.push_back(api::Invalid(version_path, parsed->version, base::Join(problems, ",")));
    }
  }
  const FieldPath kind_path = path.Child("kind");
  const std::string_view name = kind["kind"].AsString();
  if (name.empty()) {
    errors.push_back(api::Required(kind_path, ""));
    return;
  }
  const auto problems = api::IsDns1035Label(base::ToLower(name));
  if (!problems.empty()) {
    errors.push_back(api::Invalid(kind_path, name,
                                  base::StrCat("may have mixed case, but should otherwise match: ",
                                               base::Join(problems, ","))));
  }
}

void CheckNamedRule(json::Value rule, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (const json::Value& name : rule["resourceNames"].elements()) {
    const FieldPath place = path.Child("resourceNames").Index(index++);
    AddInvalid(place, name.AsString(), IsPathSegmentName(name.AsString(), false), errors);
    if (!seen.insert(name.AsString()).second) {
      errors.push_back(api::Duplicate(place, name.AsString()));
    }
  }
  ValidateAdmissionRule(rule, path, errors);
}

void CheckSelector(json::Value selector, const FieldPath& path, FieldErrors& errors) {
  if (selector.is_null()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  FieldErrors found = api::ValidateLabelSelector(selector, path);
  errors.insert(errors.end(), found.begin(), found.end());
}

void CheckMatchResources(json::Value resources, const FieldPath& path, FieldErrors& errors) {
  if (const json::Value policy = resources["matchPolicy"]; policy.is_null()) {
    errors.push_back(api::Required(path.Child("matchPolicy"), ""));
  } else {
    CheckOneOf(policy, path.Child("matchPolicy"), {"Equivalent", "Exact"}, errors);
  }
  CheckSelector(resources["namespaceSelector"], path.Child("namespaceSelector"), errors);
  CheckSelector(resources["objectSelector"], path.Child("objectSelector"), errors);
  for (const std::string_view list : {"resourceRules", "excludeResourceRules"}) {
    std::size_t index = 0;
    for (const json::Value& rule : resources[list].elements()) {
      CheckNamedRule(rule, path.Child(list).Index(index++), errors);
    }
  }
}

// Mutations make sense for objects that come to be or change.
void CheckMutatingOperations(json::Value resources, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kAllowed[] = {"*", "CONNECT", "CREATE", "UPDATE"};
  const FieldPath place = path.Child("resourceRules").Child("operations");
  for (const json::Value& rule : resources["resourceRules"].elements()) {
    for (const json::Value& operation : rule["operations"].elements()) {
      const std::string_view text = operation.AsString();
      if (IsOneOf(kAllowed, text)) continue;
      errors.push_back(api::NotSupported(place, api::NamedValue(text), kAllowed));
    }
  }
}

bool IsIdentifier(std::string_view name) {
  constexpr std::string_view kReserved[] = {
      "true",     "false",   "null",      "in",       "as",  "break",  "const",
      "continue", "else",    "for",       "function", "if",  "import", "let",
      "loop",     "package", "namespace", "return",   "var", "void",   "while"};
  if (std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved)) {
    return false;
  }
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  });
}

// Where an expression stands. One that stood there before may use what only this release knows.
enum class Place : std::uint8_t { kCondition, kValidation, kMessage, kAudit, kMutation };

class StoredExpressions {
 public:
  explicit StoredExpressions(json::Value policy) {
    const json::Value spec = policy["spec"];
    Add(Place::kCondition, spec["matchConditions"], "expression");
    Add(Place::kValidation, spec["validations"], "expression");
    Add(Place::kMessage, spec["validations"], "messageExpression");
    Add(Place::kAudit, spec["auditAnnotations"], "valueExpression");
    for (const json::Value& mutation : spec["mutations"].elements()) {
      texts_.insert({Place::kMutation, mutation["applyConfiguration"]["expression"].AsString()});
    }
  }
  bool Has(Place place, std::string_view text) const { return texts_.count({place, text}) != 0; }

 private:
  void Add(Place place, json::Value list, std::string_view field) {
    for (const json::Value& item : list.elements()) texts_.insert({place, item[field].AsString()});
  }

  std::set<std::pair<Place, std::string_view>> texts_;
};

class PolicyChecker {
 public:
  PolicyChecker(json::Value object, json::Value old, PolicyKind kind,
                const ExpressionChecker* expressions, FieldErrors& errors)
      : object_(object),
        old_(old),
        spec_(object["spec"]),
        kind_(kind),
        stored_(old),
        compiler_(expressions == nullptr ? nullptr : expressions->compiler()),
        errors_(errors) {}

  void Run() {
    const FieldPath spec("spec");
    CheckOneOf(spec_["failurePolicy"], spec.Child("failurePolicy"), {"Fail", "Ignore"}, errors_);
    CheckParamKind(spec_["paramKind"], spec.Child("paramKind"), errors_);
    CheckConstraints(spec.Child("matchConstraints"));
    scope_.params = spec_["paramKind"].is_object();
    scope_.authorizer = true;
    if (!KeepsConditions()) CheckConditions(spec.Child("matchConditions"));
    CheckVariables(spec.Child("variables"));
    if (kind_ == PolicyKind::kValidating) {
      CheckValidations(spec);
    } else {
      CheckMutations(spec.Child("mutations"));
      RequireOneOf(spec_["reinvocationPolicy"], spec.Child("reinvocationPolicy"),
                   {"IfNeeded", "Never"}, errors_);
    }
  }

 private:
  std::shared_ptr<const kube_cel::Expression> Compile(Place place, Scope scope,
                                                      std::string_view text, Expected expected,
                                                      const FieldPath& path) {
    if (compiler_ == nullptr) return nullptr;
    scope.is_new = !stored_.Has(place, text);
    return CheckExpression(*compiler_, scope, text, expected, path, errors_);
  }

  bool KeepsConditions() const {
    if (old_.is_null()) return false;
    const json::Value old_spec = old_["spec"];
    return spec_["matchConditions"] == old_spec["matchConditions"] &&
           spec_["paramKind"] == old_spec["paramKind"];
  }

  void CheckConstraints(const FieldPath& path) {
    const json::Value constraints = spec_["matchConstraints"];
    if (!constraints.is_object()) {
      errors_.push_back(api::Required(path, ""));
      return;
    }
    CheckMatchResources(constraints, path, errors_);
    if (constraints["resourceRules"].empty()) {
      errors_.push_back(api::Required(path.Child("resourceRules"), ""));
    }
    if (kind_ == PolicyKind::kMutating) CheckMutatingOperations(constraints, path, errors_);
  }

  void CheckConditions(const FieldPath& path) {
    const json::Value conditions = spec_["matchConditions"];
    if (conditions.size() > kMaxMatchConditions) {
      errors_.push_back(api::TooMany(path, static_cast<int>(conditions.size()),
                                     static_cast<int>(kMaxMatchConditions)));
    }
    std::set<std::string_view> names;
    std::size_t index = 0;
    for (const json::Value& condition : conditions.elements()) {
      const FieldPath place = path.Index(index++);
      const std::string_view text = golang::TrimSpace(condition["expression"].AsString());
      if (text.empty()) {
        errors_.push_back(api::Required(place.Child("expression"), ""));
      } else {
        Compile(Place::kCondition, scope_, text, Expected::kBool, place.Child("expression"));
      }
      const std::string_view name = condition["name"].AsString();
      if (name.empty()) {
        errors_.push_back(api::Required(place.Child("name"), ""));
        continue;
      }
      const auto problems = api::IsQualifiedName(name);
      if (!problems.empty()) {
        errors_.push_back(api::Invalid(place.Child("name"), name, base::Join(problems, ",")));
      }
      if (!names.insert(name).second) {
        errors_.push_back(api::Duplicate(place.Child("name"), name));
      }
    }
  }

  void CheckVariables(const FieldPath& path) {
    scope_.variables = !spec_["variables"].empty();
    std::size_t index = 0;
    for (const json::Value& variable : spec_["variables"].elements()) {
      const FieldPath place = path.Index(index++);
      const std::string_view name = variable["name"].AsString();
      if (golang::TrimSpace(name).empty()) {
        errors_.push_back(api::Required(place.Child("name"), "name is not specified"));
      } else if (!IsIdentifier(name)) {
        errors_.push_back(
            api::Invalid(place.Child("name"), name, "must be a valid CEL identifier"));
      }
      const std::string_view text = variable["expression"].AsString();
      if (golang::TrimSpace(text).empty()) {
        errors_.push_back(api::Required(place.Child("expression"), "expression is not specified"));
        continue;
      }
      const auto expression =
          Compile(Place::kValidation, scope_, text, Expected::kAnything, place.Child("expression"));
      scope_.variable_types.Add(
          {std::string(name), expression == nullptr ? "dyn" : expression->VariableTypeText()});
    }
  }

  void CheckValidations(const FieldPath& spec) {
    if (spec_["validations"].empty() && spec_["auditAnnotations"].empty()) {
      constexpr std::string_view kNone =
          "validations or auditAnnotations must contain at least one item";
      errors_.push_back(api::Required(spec.Child("validations"), kNone));
      errors_.push_back(api::Required(spec.Child("auditAnnotations"), kNone));
      return;
    }
    std::size_t index = 0;
    for (const json::Value& validation : spec_["validations"].elements()) {
      CheckValidation(validation, spec.Child("validations").Index(index++));
    }
    CheckAuditAnnotations(spec.Child("auditAnnotations"));
  }

  void CheckValidation(json::Value validation, const FieldPath& path) {
    const std::string_view text = validation["expression"].AsString();
    if (golang::TrimSpace(text).empty()) {
      errors_.push_back(api::Required(path.Child("expression"), "expression is not specified"));
    } else {
      Compile(Place::kValidation, scope_, text, Expected::kBool, path.Child("expression"));
    }
    const std::string_view message_expression = validation["messageExpression"].AsString();
    if (!message_expression.empty()) {
      const FieldPath place = path.Child("messageExpression");
      if (golang::TrimSpace(message_expression).empty()) {
        errors_.push_back(
            api::Invalid(place, message_expression, "must be non-empty if specified"));
      } else {
        Scope scope = scope_;
        scope.authorizer = false;
        Compile(Place::kMessage, scope, message_expression, Expected::kString, place);
      }
    }
    const std::string_view message = validation["message"].AsString();
    if (!message.empty()) {
      const std::string_view trimmed = golang::TrimSpace(message);
      if (trimmed.empty()) {
        errors_.push_back(
            api::Invalid(path.Child("message"), message, "must be non-empty if specified"));
      } else if (trimmed.find_first_of("\r\n") != std::string_view::npos) {
        errors_.push_back(
            api::Invalid(path.Child("message"), message, "must not contain line breaks"));
      }
    }
    const json::Value reason = validation["reason"];
    if (!reason.is_null()) {
      constexpr std::string_view kReasons[] = {"Forbidden", "Invalid", "RequestEntityTooLarge"};
      if (!IsOneOf(kReasons, reason.AsString())) {
        errors_.push_back(
            api::NotSupported(path.Child("reason"), api::NamedValue(reason.AsString()), kReasons));
      }
    }
  }

  // As Go prints the list: with the names of its fields.
  std::string PrintedAnnotations() const {
    std::string out = "[";
    for (const json::Value& annotation : spec_["auditAnnotations"].elements()) {
      if (out.size() > 1) out += ',';
      out += StructJson({{"Key", Quoted(annotation["key"].AsString())},
                         {"ValueExpression", Quoted(annotation["valueExpression"].AsString())}});
    }
    return out + "]";
  }

  void CheckAuditAnnotations(const FieldPath& path) {
    const json::Value annotations = spec_["auditAnnotations"];
    if (annotations.size() > kMaxAuditAnnotations) {
      errors_.push_back(api::Invalid(path, api::BadValue::Raw(PrintedAnnotations()),
                                     "must not have more than 20 auditAnnotations"));
    }
    std::set<std::string_view> keys;
    std::size_t index = 0;
    for (const json::Value& annotation : annotations.elements()) {
      const FieldPath place = path.Index(index++);
      const std::string_view key = annotation["key"].AsString();
      const std::string_view name = object_["metadata"]["name"].AsString();
      if (name.empty()) {
        errors_.push_back(
            api::Invalid(place.Child("key"), key, "requires metadata.name be non-empty"));
      } else {
        const std::string full = base::StrCat(name, "/", key);
        AddInvalid(place.Child("key"), full, api::IsQualifiedName(full), errors_);
      }
      const std::string_view text = annotation["valueExpression"].AsString();
      const std::string_view trimmed = golang::TrimSpace(text);
      if (trimmed.empty()) {
        errors_.push_back(
            api::Required(place.Child("valueExpression"), "valueExpression is not specified"));
      } else if (trimmed.size() > kMaxValueExpression) {
        errors_.push_back(
            api::Required(place.Child("valueExpression"), "must not exceed 5120 bytes in length"));
      } else {
        Compile(Place::kAudit, scope_, text, Expected::kStringOrNull,
                place.Child("valueExpression"));
      }
      if (!keys.insert(key).second) errors_.push_back(api::Duplicate(place.Child("key"), key));
    }
  }

  void CheckMutations(const FieldPath& path) {
    if (spec_["mutations"].empty()) {
      errors_.push_back(api::Required(path, "mutations must contain at least one item"));
      return;
    }
    std::size_t index = 0;
    for (const json::Value& mutation : spec_["mutations"].elements()) {
      CheckMutation(mutation, path.Index(index++));
    }
  }

  void CheckMutation(json::Value mutation, const FieldPath& path) {
    const std::string_view type = mutation["patchType"].AsString();
    if (type == "JSONPatch") {
      CheckPatch(mutation, path, "jsonPatch", "applyConfiguration", type);
    } else if (type == "ApplyConfiguration") {
      CheckPatch(mutation, path, "applyConfiguration", "jsonPatch", type);
    } else {
      RequireOneOf(mutation["patchType"], path.Child("patchType"),
                   {"ApplyConfiguration", "JSONPatch"}, errors_);
    }
  }

  void CheckPatch(json::Value mutation, const FieldPath& path, std::string_view wanted,
                  std::string_view other, std::string_view type) {
    if (!mutation[wanted].is_object()) {
      errors_.push_back(api::Required(path.Child(wanted),
                                      base::StrCat("must be specified when patchType is ", type)));
    } else {
      const FieldPath place = path.Child(wanted).Child("expression");
      const std::string_view text = mutation[wanted]["expression"].AsString();
      if (golang::TrimSpace(text).empty()) {
        errors_.push_back(api::Required(place, ""));
      } else {
        Scope scope = scope_;
        scope.mutation = true;
        Compile(Place::kMutation, scope, text,
                type == "JSONPatch" ? Expected::kPatch : Expected::kObject, place);
      }
    }
    if (mutation[other].is_object()) {
      errors_.push_back(
          api::Invalid(path.Child(other), base::StrCat("{", other, "}"),
                       base::StrCat("must not be specified when patchType is ", type)));
    }
  }

  const json::Value object_;
  const json::Value old_;
  const json::Value spec_;
  const PolicyKind kind_;
  const StoredExpressions stored_;
  kube_cel::Compiler* const compiler_;
  FieldErrors& errors_;
  Scope scope_;
};

void CheckParamRef(json::Value ref, const FieldPath& path, FieldErrors& errors) {
  if (!ref.is_object()) return;
  const std::string_view name = ref["name"].AsString();
  const bool has_selector = ref["selector"].is_object();
  constexpr std::string_view kBoth = "name and selector are mutually exclusive";
  if (!name.empty()) {
    AddInvalid(path.Child("name"), name, IsPathSegmentName(name, false), errors);
    if (has_selector) errors.push_back(api::Forbidden(path.Child("name"), kBoth));
  }
  if (has_selector) {
    FieldErrors found = api::ValidateLabelSelector(ref["selector"], path.Child("selector"));
    errors.insert(errors.end(), found.begin(), found.end());
    if (!name.empty()) errors.push_back(api::Forbidden(path.Child("selector"), kBoth));
  } else if (name.empty()) {
    errors.push_back(api::Required(path, "one of name or selector must be specified"));
  }
  RequireOneOf(ref["parameterNotFoundAction"], path.Child("parameterNotFoundAction"),
               {"Deny", "Allow"}, errors);
}

void CheckActions(json::Value actions, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kActions[] = {"Audit", "Deny", "Warn"};
  if (actions.empty()) {
    errors.push_back(api::Required(path, "at least one validation action is required"));
    return;
  }
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (const json::Value& action : actions.elements()) {
    const FieldPath place = path.Index(index++);
    const std::string_view text = action.AsString();
    if (!IsOneOf(kActions, text)) {
      errors.push_back(api::NotSupported(place, api::NamedValue(text), kActions));
    }
    if (!seen.insert(text).second) errors.push_back(api::Duplicate(place, text));
  }
  if (seen.count("Deny") != 0 && seen.count("Warn") != 0) {
    errors.push_back(
        api::Invalid(path, actions,
                     "must not contain both Deny and Warn (repeating the same validation failure "
                     "information in the API response and headers serves no purpose)"));
  }
}

}  // namespace

void ValidateAdmissionPolicy(json::Value object, json::Value old, PolicyKind kind,
                             const ExpressionChecker* expressions, FieldErrors& errors) {
  PolicyChecker(object, old, kind, expressions, errors).Run();
}

void ValidatePolicyStatus(json::Value status, FieldErrors& errors) {
  const FieldPath warnings = FieldPath("status").Child("typeChecking").Child("expressionWarnings");
  std::size_t index = 0;
  for (const json::Value& warning : status["typeChecking"]["expressionWarnings"].elements()) {
    const FieldPath place = warnings.Index(index++);
    if (warning["warning"].AsString().empty()) {
      errors.push_back(api::Required(place.Child("warning"), ""));
    }
    const std::string_view ref = golang::TrimSpace(warning["fieldRef"].AsString());
    if (ref.empty()) {
      errors.push_back(api::Required(place.Child("fieldRef"), ""));
    } else if (const auto parsed = api::ParseJsonPath(ref); !parsed.ok()) {
      errors.push_back(api::Invalid(place.Child("fieldRef"), ref,
                                    base::StrCat("invalid JSONPath: ", parsed.status().message())));
    }
  }
  ValidateConditions(status["conditions"], FieldPath("status").Child("conditions"), errors);
}

void ValidateAdmissionPolicyBinding(json::Value object, PolicyKind kind, FieldErrors& errors) {
  const FieldPath spec("spec");
  const json::Value content = object["spec"];
  const std::string_view policy = content["policyName"].AsString();
  if (policy.empty()) {
    errors.push_back(api::Required(spec.Child("policyName"), ""));
  } else {
    AddInvalid(spec.Child("policyName"), policy, api::IsDns1123Subdomain(policy), errors);
  }
  CheckParamRef(content["paramRef"], spec.Child("paramRef"), errors);
  if (content["matchResources"].is_object()) {
    CheckMatchResources(content["matchResources"], spec.Child("matchResources"), errors);
    if (kind == PolicyKind::kMutating) {
      CheckMutatingOperations(content["matchResources"], spec.Child("matchResources"), errors);
    }
  }
  if (kind == PolicyKind::kValidating) {
    CheckActions(content["validationActions"], spec.Child("validationActions"), errors);
  }
}

}  // namespace portcullis::registry
