// SPDX-License-Identifier: Apache-2.0

// What label selectors, node selectors and tolerations mean, said as plainly as the documentation
// says it and as slowly: the reference that the real ones are compared with.
//
// Kubernetes docs: "Labels and Selectors", "Assigning Pods to Nodes", "Taints and Tolerations".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace portcullis::api::testing {

using SlowLabels = std::map<std::string, std::string>;

struct SlowRequirement {
  std::string key;
  std::string op;  // In, NotIn, Exists, DoesNotExist, Gt, Lt
  std::vector<std::string> values;
};

inline std::optional<std::int64_t> SlowInteger(const std::string& text) {
  if (text.empty() || text.size() > 3) return std::nullopt;  // enough for tests
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + (c - '0');
  }
  return value;
}

inline bool SlowMatch(const SlowRequirement& requirement, const SlowLabels& labels) {
  std::optional<std::string> value;
  for (const auto& [key, text] : labels) {
    if (key == requirement.key) value = text;
  }
  bool listed = false;
  for (const std::string& text : requirement.values) listed = listed || text == value;
  if (requirement.op == "Exists") return value.has_value();
  if (requirement.op == "DoesNotExist") return !value.has_value();
  if (requirement.op == "In") return value.has_value() && listed;
  if (requirement.op == "NotIn") return !value.has_value() || !listed;
  if (!value) return false;
  const auto left = SlowInteger(*value);
  const auto right = SlowInteger(requirement.values.front());
  if (!left || !right) return false;
  return requirement.op == "Gt" ? *left > *right : *left < *right;
}

inline bool SlowMatchAll(const std::vector<SlowRequirement>& requirements,
                         const SlowLabels& labels) {
  for (const SlowRequirement& requirement : requirements) {
    if (!SlowMatch(requirement, labels)) return false;
  }
  return true;
}

// One alternative of a node selector.
struct SlowTerm {
  std::vector<SlowRequirement> labels;
  std::vector<SlowRequirement> fields;  // of metadata.name
};

inline bool SlowMatchNode(const std::vector<SlowTerm>& terms, const std::string& name,
                          const SlowLabels& labels) {
  for (const SlowTerm& term : terms) {
    if (term.labels.empty() && term.fields.empty()) continue;  // says nothing, means nothing
    if (!SlowMatchAll(term.labels, labels)) continue;
    if (SlowMatchAll(term.fields, {{"metadata.name", name}})) return true;
  }
  return false;
}

struct SlowTaint {
  std::string key;
  std::string value;
  std::string effect;
};

struct SlowToleration {
  std::string key;
  std::string op;  // "", Equal, Exists
  std::string value;
  std::string effect;
};

inline bool SlowTolerates(const SlowToleration& toleration, const SlowTaint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (toleration.key.empty() && toleration.op == "Exists") return true;
  if (toleration.key != taint.key) return false;
  return toleration.op == "Exists" || toleration.value == taint.value;
}

}  // namespace portcullis::api::testing
