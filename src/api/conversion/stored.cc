// SPDX-License-Identifier: Apache-2.0

// Conversions of objects that older releases have left in etcd, in versions that are not served any
// more; a kube-apiserver still stores definitions of custom resources in one of them.

#include <string_view>
#include <vector>

#include "api/conversion/conversion_functions.h"
#include "json/edit.h"

namespace portcullis::api {
namespace {

using json::Value;

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";
constexpr std::string_view kEmptySelector =
    "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";
constexpr std::string_view kKeepsZeroShares =
    "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

Value Renamed(json::Arena& arena, Value object, std::string_view from, std::string_view to) {
  const Value* value = object.Find(from);
  return value == nullptr ? object
                          : json::With(arena, json::Without(arena, object, from), to, *value);
}

Value ColumnsFromV1beta1(json::Arena& arena, Value columns) {
  return json::EditElements(
      arena, columns, [&](Value column) { return Renamed(arena, column, "JSONPath", "jsonPath"); });
}

// The webhook of a definition's conversion is a structure of its own in v1.
Value ConversionFromV1beta1(json::Arena& arena, Value conversion) {
  json::ObjectBuilder made(arena);
  json::ObjectBuilder webhook(arena);
  for (const json::Member& member : conversion.members()) {
    if (member.name() == "webhookClientConfig") {
      webhook.Set("clientConfig", member.value);
    } else if (member.name() == "conversionReviewVersions") {
      webhook.Set(member.name(), member.value);
    } else {
      made.Set(member.name(), member.value);
    }
  }
  if (webhook.empty()) return made.Build();
  if (conversion["strategy"].AsString() == "Webhook" &&
      !webhook.Build().Has("conversionReviewVersions")) {
    webhook.Set("conversionReviewVersions",
                json::MakeArray(arena, std::vector{Value::StringView("v1beta1")}));
  }
  return made.Set("webhook", webhook.Build()).Build();
}

Value SubjectFromV1alpha1(json::Arena& arena, Value subject) {
  const std::string_view kind = subject["kind"].AsString();
  const std::string_view version = subject["apiVersion"].AsString();
  const bool is_person = kind == "User" || kind == "Group";
  std::string_view group = is_person ? kRbacGroup : version.substr(0, version.find('/'));
  if (kind == "ServiceAccount" || (!is_person && version.find('/') == version.npos)) group = "";
  json::ObjectBuilder made(arena, json::Without(arena, subject, "apiVersion"));
  if (!group.empty()) made.Set("apiGroup", group);
  // In v1alpha1 the user * is every user who is authenticated.
  if (kind == "User" && subject["name"].AsString() == "*") {
    made.Set("kind", "Group").Set("name", "system:authenticated");
  }
  return made.Build();
}

Value EndpointFromV1beta1(json::Arena& arena, Value endpoint) {
  constexpr std::string_view kZone = "topology.kubernetes.io/zone";
  constexpr std::string_view kHost = "kubernetes.io/hostname";
  Value topology = endpoint["topology"];
  if (!topology.is_object()) return endpoint;
  json::ObjectBuilder made(arena, json::Without(arena, endpoint, "topology"));
  if (topology.Has(kZone)) made.Set("zone", topology[kZone]);
  topology = json::Without(arena, topology, kZone);
  if (endpoint.Has("nodeName") && topology[kHost] == endpoint["nodeName"]) {
    topology = json::Without(arena, topology, kHost);
  }
  if (!topology.empty()) made.Set("deprecatedTopology", topology);
  return made.Build();
}

// An empty selector selects nothing in policy/v1beta1, and everything in v1: the other one of the two
// is written as an expression with a key of its own.
Value EmptySelectorMarker(json::Arena& arena, std::string_view op) {
  const Value expression = json::MakeObject(
      arena, {{"key", Value::StringView(kEmptySelector)}, {"operator", Value::StringView(op)}});
  return json::MakeObject(arena,
                          {{"matchExpressions", json::MakeArray(arena, std::vector{expression})}});
}

}  // namespace

Value DefinitionFromV1beta1(json::Arena& arena, Value spec) {
  Value versions = spec["versions"];
  if (versions.empty() && spec.Has("version")) {
    versions = json::MakeArray(
        arena, std::vector{json::MakeObject(arena, {{"name", spec["version"]},
                                                    {"served", Value::Bool(true)},
                                                    {"storage", Value::Bool(true)}})});
  }
  json::ObjectBuilder made(arena);
  json::ObjectBuilder shared(arena);  // what holds for all versions
  for (const json::Member& member : spec.members()) {
    const std::string_view name = member.name();
    if (name == "validation") {
      shared.Set("schema", member.value);
    } else if (name == "additionalPrinterColumns") {
      shared.Set(name, ColumnsFromV1beta1(arena, member.value));
    } else if (name == "subresources" || name == "selectableFields") {
      shared.Set(name, member.value);
    } else if (name == "conversion") {
      made.Set(name, ConversionFromV1beta1(arena, member.value));
    } else if (name != "version" && name != "versions") {
      made.Set(name, member.value);
    }
  }
  const Value of_all = shared.Build();
  made.Set("versions", json::EditElements(arena, versions, [&](Value version) {
             const Value columns = version["additionalPrinterColumns"];
             if (!columns.empty()) {
               version = json::With(arena, version, "additionalPrinterColumns",
                                    ColumnsFromV1beta1(arena, columns));
             }
             return json::WithMembers(arena, version, of_all);
           }));
  if (!spec.Has("preserveUnknownFields")) made.Set("preserveUnknownFields", true);
  return made.Build();
}

Value WithoutEmptyWebhook(json::Arena& arena, Value conversion) {
  const Value webhook = conversion["webhook"];
  const bool is_empty = webhook.is_object() && webhook["clientConfig"].is_null() &&
                        webhook["conversionReviewVersions"].is_null();
  return is_empty ? json::Without(arena, conversion, "webhook") : conversion;
}

Value SubjectsFromV1alpha1(json::Arena& arena, Value binding) {
  const Value subjects = json::EditElements(arena, binding["subjects"], [&](Value subject) {
    return SubjectFromV1alpha1(arena, subject);
  });
  return subjects.is_null() ? binding : json::With(arena, binding, "subjects", subjects);
}

Value EndpointsFromV1beta1(json::Arena& arena, Value slice) {
  const Value endpoints = json::EditElements(arena, slice["endpoints"], [&](Value endpoint) {
    return EndpointFromV1beta1(arena, endpoint);
  });
  return endpoints.is_null() ? slice : json::With(arena, slice, "endpoints", endpoints);
}

// No shares are the default of them in these versions: v1 can tell them from none at all.
Value PriorityLevelFromV1beta2(json::Arena& arena, Value limited) {
  const Value made =
      Renamed(arena, limited, "assuredConcurrencyShares", "nominalConcurrencyShares");
  return made["nominalConcurrencyShares"].AsInt() != 0
             ? made
             : json::Without(arena, made, "nominalConcurrencyShares");
}

Value PriorityLevelFromV1beta3(json::Arena& arena, Value level) {
  const Value annotations = level["metadata"]["annotations"];
  if (annotations.Has(kKeepsZeroShares)) {
    return annotations.size() == 1
               ? json::RemovePath(arena, level, {"metadata", "annotations"})
               : json::RemovePath(arena, level, {"metadata", "annotations", kKeepsZeroShares});
  }
  if (level["spec"]["limited"]["nominalConcurrencyShares"].AsInt() != 0) return level;
  return json::RemovePath(arena, level, {"spec", "limited", "nominalConcurrencyShares"});
}

Value RuntimeClassFromV1alpha1(json::Arena& arena, Value runtime_class) {
  json::ObjectBuilder made(arena, json::Without(arena, runtime_class, "spec"));
  for (const json::Member& member : runtime_class["spec"].members()) {
    made.Set(member.name() == "runtimeHandler" ? std::string_view("handler") : member.name(),
             member.value);
  }
  return made.Build();
}

Value DisruptionSelectorFromV1beta1(json::Arena& arena, Value selector) {
  if (selector.empty()) return EmptySelectorMarker(arena, "Exists");
  if (selector == EmptySelectorMarker(arena, "DoesNotExist")) return json::MakeObject(arena, {});
  const Value expressions = selector["matchExpressions"];
  std::vector<Value> kept;
  for (const Value& expression : expressions.elements()) {
    if (expression["key"].AsString() != kEmptySelector) kept.push_back(expression);
  }
  if (kept.size() == expressions.size()) return selector;
  if (kept.empty()) return json::Without(arena, selector, "matchExpressions");
  return json::With(arena, selector, "matchExpressions", json::MakeArray(arena, kept));
}

Value DisruptionSelectorToV1beta1(json::Arena& arena, Value selector) {
  if (selector.empty()) return EmptySelectorMarker(arena, "DoesNotExist");
  const bool is_none = selector == EmptySelectorMarker(arena, "Exists");
  return is_none ? json::MakeObject(arena, {}) : selector;
}

}  // namespace portcullis::api
