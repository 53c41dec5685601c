// SPDX-License-Identifier: Apache-2.0

#include "admission/match/explain.h"

#include <algorithm>

#include "base/strings.h"

namespace portcullis::admission::match {
namespace {

// Rules that are explained one by one; of longer lists the number tells enough.
constexpr std::size_t kMaxRules = 8;

bool Lists(const std::vector<std::string>& list, std::string_view item) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& element) { return element == "*" || element == item; });
}

std::string ListText(const std::vector<std::string>& list) {
  std::string text = "[";
  for (const std::string& item : list) {
    text += base::StrCat(text.size() > 1 ? "," : "", item.empty() ? "\"\"" : item);
  }
  return text + "]";
}

std::string OperationsText(Operations operations) {
  std::string text = "[";
  for (const Operation operation : {kCreate, kUpdate, kDelete, kConnect}) {
    if ((operations & operation) == 0) continue;
    text += base::StrCat(text.size() > 1 ? "," : "", OperationText(operation));
  }
  return text + "]";
}

bool NamesResource(const std::vector<std::string>& patterns, std::string_view resource,
                   std::string_view subresource) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    const auto parts = base::Cut(pattern, "/");
    const std::string_view wanted = parts ? parts->first : std::string_view(pattern);
    const std::string_view sub = parts ? parts->second : std::string_view();
    if (wanted != "*" && wanted != resource) return false;
    return sub == "*" || sub == subresource;
  });
}

// The name as RuleIndex compares it.
std::string_view ComparedName(const Request& request) {
  if (!request.name().empty() || request.operation() != kCreate) return request.name();
  return request.object()["metadata"]["name"].AsString();
}

// What the rule lacks to match the resource; "" if it matches.
std::string Lack(const Rule& rule, const Request& request,
                 const api::GroupVersionResource& resource) {
  const auto lacks = [](std::string_view what, std::string_view list, std::string_view item) {
    return base::StrCat(what, " ", list, " do not include ", item.empty() ? "\"\"" : item);
  };
  if ((rule.operations & static_cast<Operations>(request.operation())) == 0) {
    return lacks("operations", OperationsText(rule.operations), OperationText(request.operation()));
  }
  if (!Lists(rule.groups, resource.group)) {
    return lacks("apiGroups", ListText(rule.groups), resource.group);
  }
  if (!Lists(rule.versions, resource.version)) {
    return lacks("apiVersions", ListText(rule.versions), resource.version);
  }
  if (!NamesResource(rule.resources, resource.resource, request.subresource())) {
    const std::string named = request.subresource().empty()
                                  ? resource.resource
                                  : base::StrCat(resource.resource, "/", request.subresource());
    return lacks("resources", ListText(rule.resources), named);
  }
  const bool is_namespace =
      resource.resource == "namespaces" && resource.group.empty() && resource.version == "v1";
  const bool namespaced = !is_namespace && !request.namespace_name().empty();
  if (rule.scope == Scope::kNone) return "scope is none that is known";
  if (rule.scope == Scope::kCluster && namespaced) return "scope is Cluster";
  if (rule.scope == Scope::kNamespaced && !namespaced) return "scope is Namespaced";
  const auto& names = rule.resource_names;
  const std::string_view name = ComparedName(request);
  if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
    return lacks("resourceNames", ListText(names), name);
  }
  return {};
}

std::string LabelsText(json::Value labels) {
  if (labels.empty()) return "no labels";
  std::string text = "labels ";
  bool first = true;
  for (const json::Member& label : labels.members()) {
    text += base::StrCat(first ? "" : ",", label.name(), "=", label.value.AsString());
    first = false;
  }
  return text;
}

std::string SelectorText(const api::LabelSelector& selector) {
  return selector.is_nothing() ? "that selects nothing"
                               : base::StrCat("\"", selector.ToString(), "\"");
}

}  // namespace

Mismatch ExplainRules(std::span<const Rule> rules, MatchPolicy policy, const Request& request,
                      std::span<const api::GroupVersionResource> equivalents) {
  if (rules.empty()) return {TraceReason::kRules, "there are no rules"};
  std::string message;
  std::size_t number = 0;
  for (const Rule& rule : rules) {
    const std::string lack = Lack(rule, request, request.resource());
    if (lack.empty()) return {};
    if (number < kMaxRules) {
      message +=
          base::StrCat(number == 0 ? "" : "; ", "rules[", std::to_string(number), "]: ", lack);
    }
    ++number;
  }
  if (number > kMaxRules) {
    message += base::StrCat("; and ", std::to_string(number - kMaxRules), " more rules");
  }
  for (const api::GroupVersionResource& resource : equivalents) {
    if (resource == request.resource()) continue;
    for (const Rule& rule : rules) {
      if (!Lack(rule, request, resource).empty()) continue;
      if (policy == MatchPolicy::kEquivalent) return {};
      return {TraceReason::kMatchPolicy,
              base::StrCat("the rules match these objects as ", resource.ToString(),
                           ", but matchPolicy is Exact and the request is about ",
                           request.resource().ToString())};
    }
  }
  return {TraceReason::kRules, std::move(message)};
}

Mismatch NamespaceMismatch(const api::LabelSelector& selector, std::string_view namespace_name,
                           json::Value labels) {
  return {TraceReason::kNamespaceSelector,
          base::StrCat("namespaceSelector ", SelectorText(selector), " does not select namespace ",
                       namespace_name, " (", LabelsText(labels), ")")};
}

Mismatch ObjectMismatch(const api::LabelSelector& selector, const Request& request,
                        json::Value object) {
  std::string message =
      base::StrCat("objectSelector ", SelectorText(selector), " does not select the object");
  if (!object.is_null()) {
    message += base::StrCat(" (", LabelsText(object["metadata"]["labels"]), ")");
  }
  if (!request.old_object().is_null()) {
    message += base::StrCat(" nor the old object (",
                            LabelsText(request.old_object()["metadata"]["labels"]), ")");
  }
  return {TraceReason::kObjectSelector, std::move(message)};
}

}  // namespace portcullis::admission::match
