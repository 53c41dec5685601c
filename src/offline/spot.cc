// SPDX-License-Identifier: Apache-2.0

#include "offline/spot.h"

#include "base/strings.h"
#include "offline/lint/facts.h"

namespace portcullis::offline {
namespace {

constexpr std::string_view kNameLabel = "kubernetes.io/metadata.name";

// `labels` with those that the selector asks for: of In the first value, of Exists an empty one.
json::Value Selected(json::Arena& arena, json::Value selector, json::Value labels) {
  for (const json::Member& member : selector["matchLabels"].members()) {
    labels = json::With(arena, labels, member.name(), member.value);
  }
  for (const json::Value& expression : selector["matchExpressions"].elements()) {
    const std::string_view key = expression["key"].AsString();
    const std::string_view op = expression["operator"].AsString();
    if (op == "In") {
      labels = json::With(arena, labels, key, expression["values"][0]);
    } else if (op == "Exists") {
      labels = json::With(arena, labels, key, json::String(arena, ""));
    }
  }
  return labels;
}

bool SelectNamespace(json::Arena& arena, std::initializer_list<json::Value> matches,
                     std::string_view name, json::Value labels) {
  labels = json::With(arena, labels, kNameLabel, json::String(arena, name));
  for (const json::Value& match : matches) {
    if (!Selects(match["namespaceSelector"], labels)) return false;
  }
  return true;
}

}  // namespace

Spot SpotOf(json::Arena& arena, std::span<const Manifest> manifests,
            std::initializer_list<json::Value> matches, std::string_view name) {
  Spot spot;
  json::Value ns_labels;
  for (const json::Value& match : matches) {
    spot.labels = Selected(arena, match["objectSelector"], spot.labels);
    ns_labels = Selected(arena, match["namespaceSelector"], ns_labels);
  }
  json::Value default_labels;
  std::string given;  // another one that they select
  for (const Manifest& manifest : manifests) {
    if (manifest.kind != "Namespace" || !manifest.group().empty()) continue;
    const json::Value labels = manifest.object["metadata"]["labels"];
    if (manifest.name == spot.ns) {
      default_labels = labels;
    } else if (given.empty() && SelectNamespace(arena, matches, manifest.name, labels)) {
      given = manifest.name;
    }
  }
  if (SelectNamespace(arena, matches, spot.ns, default_labels)) return spot;
  if (!given.empty()) {
    spot.ns = given;
    return spot;
  }
  const std::string_view wanted = ns_labels[kNameLabel].AsString();
  spot.ns = wanted.empty()
                ? base::StrCat("selected-by-", base::ReplaceAll(name.substr(0, 50), ".", "-"))
                : std::string(wanted);
  if (wanted != "kube-system") {
    spot.ns_labels = ns_labels.is_object() ? json::Without(arena, ns_labels, kNameLabel)
                                           : json::MakeObject(arena, {});
  }
  return spot;
}

}  // namespace portcullis::offline
