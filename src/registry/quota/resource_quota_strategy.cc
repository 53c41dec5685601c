// SPDX-License-Identifier: Apache-2.0

// ResourceQuotas: names and amounts, and scopes that speak of the same objects as the names
// (pkg/apis/core/validation, ValidateResourceQuotaSpec).

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "api/named_value.h"
#include "api/repeated_value.h"
#include "base/strings.h"
#include "json/sorted.h"
#include "registry/kind_table.h"
#include "registry/validation/resource_names.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kScopes[] = {
    "BestEffort",  "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass",
    "Terminating", "VolumeAttributesClass"};
constexpr std::string_view kOfPods[] = {"cpu",           "memory",       "limits.cpu",
                                        "limits.memory", "requests.cpu", "requests.memory"};

bool IsScope(std::string_view scope) {
  return std::find(std::begin(kScopes), std::end(kScopes), scope) != std::end(kScopes);
}

bool SpeaksOf(std::string_view scope, std::string_view name) {
  if (!IsScope(scope)) return true;
  if (scope == "VolumeAttributesClass") {
    return name == "persistentvolumeclaims" || name == "requests.storage";
  }
  if (name == "pods") return true;
  return scope != "BestEffort" &&
         std::find(std::begin(kOfPods), std::end(kOfPods), name) != std::end(kOfPods);
}

void CheckAmounts(json::Value list, const FieldPath& path, FieldErrors& errors) {
  for (const json::Member* member : json::MembersByName(list)) {
    const FieldPath at = path.Key(member->name());
    CheckNameOfQuotaResource(member->name(), at, errors);
    CheckAmountOfResource(member->name(), QuantityOf(member->value), at, errors);
  }
}

// One error for each name of `hard` that no object in the scope can use.
void CheckScopeOfNames(std::string_view scope, const std::vector<std::string_view>& standard,
                       const FieldPath& path, api::RepeatedValue& shown, FieldErrors& errors) {
  for (const std::string_view name : standard) {
    if (SpeaksOf(scope, name)) continue;
    errors.push_back(api::Invalid(path, shown.Next(), "unsupported scope applied to resource"));
  }
}

// There are few of them, however many names `hard` has.
std::vector<std::string_view> StandardNames(json::Value hard) {
  std::vector<std::string_view> out;
  for (const json::Member* member : json::MembersByName(hard)) {
    if (IsStandardQuotaResource(member->name())) out.push_back(member->name());
  }
  return out;
}

void CheckConflicts(const std::set<std::string_view>& scopes, json::Value shown,
                    const FieldPath& path, FieldErrors& errors) {
  constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
      {"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"}};
  for (const auto& [one, other] : kPairs) {
    if (scopes.contains(one) && scopes.contains(other)) {
      errors.push_back(api::Invalid(path, shown, "conflicting scopes"));
    }
  }
}

void CheckScopes(json::Value spec, FieldErrors& errors) {
  const json::Value scopes = spec["scopes"];
  const FieldPath path("spec", "scopes");
  std::set<std::string_view> seen;
  const auto standard = StandardNames(spec["hard"]);
  api::RepeatedValue shown(scopes);
  for (const json::Value& scope : scopes.elements()) {
    if (!IsScope(scope.AsString())) {
      errors.push_back(api::Invalid(path, shown.Next(), "unsupported scope"));
    }
    CheckScopeOfNames(scope.AsString(), standard, path, shown, errors);
    seen.insert(scope.AsString());
  }
  CheckConflicts(seen, scopes, path, errors);
}

// The selector as Go prints its internal type. An empty list of values that was `sent` is quoted as
// one, though decoding has dropped it.
std::string SelectorJson(json::Value selector, json::Value sent) {
  std::string expressions;
  const json::Value list = selector["matchExpressions"];
  for (std::size_t i = 0; i < list.size(); ++i) {
    const json::Value each = list[i];
    const json::Value values = sent["matchExpressions"][i]["values"];
    if (!expressions.empty()) expressions += ",";
    expressions += StructJson({{"ScopeName", Quoted(each["scopeName"].AsString())},
                               {"Operator", Quoted(each["operator"].AsString())},
                               {"Values", Json(each.Has("values") ? each["values"] : values)}});
  }
  return StructJson({{"MatchExpressions", base::StrCat("[", expressions, "]")}});
}

void CheckOperator(json::Value requirement, const FieldPath& path, FieldErrors& errors) {
  const std::string_view scope = requirement["scopeName"].AsString();
  const std::string_view op = requirement["operator"].AsString();
  const json::Value values = requirement["values"];
  const bool takes_values = scope == "PriorityClass" || scope == "VolumeAttributesClass";
  if (IsScope(scope) && !takes_values && op != "Exists") {
    errors.push_back(api::Invalid(
        path.Child("operator"), op,
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
        "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
        "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"));
  }
  if (op == "In" || op == "NotIn") {
    if (values.empty()) {
      errors.push_back(api::Required(
          path.Child("values"),
          "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"));
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) {
      errors.push_back(
          api::Invalid(path.Child("values"), values,
                       "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope "
                       "selector"));
    }
  } else {
    errors.push_back(
        api::Invalid(path.Child("operator"), api::NamedValue(op), "not a valid selector operator"));
  }
}

void CheckScopeSelector(json::Value spec, json::Value sent, FieldErrors& errors) {
  const json::Value selector = spec["scopeSelector"];
  if (!selector.is_object()) return;
  const FieldPath path = FieldPath("spec", "scopeSelector").Child("matchExpressions");
  const auto standard = StandardNames(spec["hard"]);
  api::RepeatedValue shown(api::BadValue::Raw(SelectorJson(selector, sent)));
  std::set<std::string_view> seen;
  for (const json::Value& requirement : selector["matchExpressions"].elements()) {
    const std::string_view scope = requirement["scopeName"].AsString();
    if (!IsScope(scope)) {
      errors.push_back(
          api::Invalid(path.Child("scopeName"), api::NamedValue(scope), "unsupported scope"));
    }
    CheckScopeOfNames(scope, standard, path, shown, errors);
    CheckOperator(requirement, path, errors);
    seen.insert(scope);
  }
  CheckConflicts(seen, spec["scopes"], path, errors);
}

void ValidateResourceQuota(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  CheckAmounts(spec["hard"], FieldPath("spec", "hard"), errors);
  CheckScopes(spec, errors);
  CheckScopeSelector(spec, ctx.sent["spec"]["scopeSelector"], errors);
}

void ValidateResourceQuotaUpdate(const Context& ctx, json::Value object, json::Value old,
                                 FieldErrors& errors) {
  if (ctx.subresource == "status") {
    CheckAmounts(object["status"]["hard"], FieldPath("status", "hard"), errors);
    CheckAmounts(object["status"]["used"], FieldPath("status", "used"), errors);
    return;
  }
  ValidateResourceQuota(ctx, object, errors);
  const auto set_of = [](json::Value scopes) {
    std::set<std::string_view> out;
    for (const json::Value& scope : scopes.elements()) out.insert(scope.AsString());
    return out;
  };
  if (set_of(object["spec"]["scopes"]) != set_of(old["spec"]["scopes"])) {
    errors.push_back(
        api::Invalid(FieldPath("spec", "scopes"), object["spec"]["scopes"], "field is immutable"));
  }
}

}  // namespace

void AddResourceQuotaStrategy(KindTable& table) {
  table.Add({.group = "",
             .resource = "resourcequotas",
             .validate = &ValidateResourceQuota,
             .validate_update = &ValidateResourceQuotaUpdate,
             .traits = {.returns_deleted = true}});
}

}  // namespace portcullis::registry
