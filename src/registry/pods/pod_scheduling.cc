// SPDX-License-Identifier: Apache-2.0

// Where pods may run: affinity, tolerations, spreading.

#include <map>
#include <set>
#include <utility>

#include "api/named_value.h"
#include "base/strings.h"
#include "registry/pods/pod_parts.h"

namespace portcullis::registry {
namespace {

void CheckLabelKey(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  AddInvalid(path, name, api::IsQualifiedName(name), errors);
}

void CheckNodeRequirement(json::Value requirement, bool check_values, const FieldPath& path,
                          FieldErrors& errors) {
  const std::string_view op = requirement["operator"].AsString();
  const json::Value values = requirement["values"];
  const FieldPath values_path = path.Child("values");
  if (op == "In" || op == "NotIn") {
    if (values.empty()) {
      errors.push_back(
          api::Required(values_path, "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) {
      errors.push_back(api::Forbidden(
          values_path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    }
  } else if (op == "Gt" || op == "Lt") {
    if (values.size() != 1) {
      errors.push_back(api::Required(
          values_path, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
    }
  } else {
    errors.push_back(
        api::Invalid(path.Child("operator"), api::NamedValue(op), "not a valid selector operator"));
  }
  CheckLabelKey(requirement["key"].AsString(), path.Child("key"), errors);
  if (!check_values) return;
  std::size_t index = 0;
  for (const json::Value& value : values.elements()) {
    AddInvalid(values_path.Index(index++), value.AsString(),
               api::IsValidLabelValue(value.AsString()), errors);
  }
}

void CheckNodeField(json::Value requirement, const FieldPath& path, FieldErrors& errors) {
  const std::string_view op = requirement["operator"].AsString();
  const json::Value values = requirement["values"];
  if (op == "In" || op == "NotIn") {
    if (values.size() != 1) {
      errors.push_back(api::Required(
          path.Child("values"),
          "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"));
    }
  } else {
    errors.push_back(
        api::Invalid(path.Child("operator"), api::NamedValue(op), "not a valid selector operator"));
  }
  if (const std::string_view key = requirement["key"].AsString(); key != "metadata.name") {
    errors.push_back(api::Invalid(path.Child("key"), key, "not a valid field selector key"));
    return;
  }
  std::size_t index = 0;
  for (const json::Value& value : values.elements()) {
    CheckSubdomain(value.AsString(), path.Child("values").Index(index++), errors);
  }
}

void CheckNodeTerm(json::Value term, bool check_values, const FieldPath& path,
                   FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& requirement : term["matchExpressions"].elements()) {
    CheckNodeRequirement(requirement, check_values, path.Child("matchExpressions").Index(index++),
                         errors);
  }
  index = 0;
  for (const json::Value& requirement : term["matchFields"].elements()) {
    CheckNodeField(requirement, path.Child("matchFields").Index(index++), errors);
  }
}

void CheckWeight(json::Value term, const FieldPath& path, FieldErrors& errors) {
  const std::int64_t weight = term["weight"].AsInt();
  if (weight > 0 && weight <= 100) return;
  errors.push_back(api::Invalid(path.Child("weight"), weight, "must be in the range 1-100"));
}

void CheckLabelKeys(json::Value keys, json::Value selector, const FieldPath& path,
                    FieldErrors& errors) {
  if (keys.empty()) return;
  if (selector.is_null()) {
    errors.push_back(api::Forbidden(path, "must not be specified when labelSelector is not set"));
    return;
  }
  std::size_t index = 0;
  for (const json::Value& key : keys.elements()) {
    CheckLabelKey(key.AsString(), path.Index(index++), errors);
  }
}

std::set<std::string_view> TextsOf(json::Value list) {
  std::set<std::string_view> out;
  for (const json::Value& element : list.elements()) out.insert(element.AsString());
  return out;
}

// matchLabelKeys and mismatchLabelKeys of a pod affinity term or a spread constraint. What they
// stand for has been added to the selector already, so a key that is there twice was written by
// hand too.
void CheckMatchKeys(json::Value owner, const FieldPath& path, FieldErrors& errors) {
  const json::Value keys = owner["matchLabelKeys"];
  const json::Value selector = owner["labelSelector"];
  CheckLabelKeys(keys, selector, path.Child("matchLabelKeys"), errors);
  CheckLabelKeys(owner["mismatchLabelKeys"], selector, path.Child("mismatchLabelKeys"), errors);
  std::map<std::string_view, std::size_t> places;  // the last of each key
  for (std::size_t i = 0; i < keys.size(); ++i) places[keys[i].AsString()] = i;
  std::set<std::string_view> seen;
  for (const json::Member& label : selector["matchLabels"].members()) seen.insert(label.name());
  for (const json::Value& expression : selector["matchExpressions"].elements()) {
    const std::string_view key = expression["key"].AsString();
    if (seen.insert(key).second) continue;
    const auto place = places.find(key);
    if (place == places.end()) continue;
    errors.push_back(api::Invalid(path.Index(place->second), key,
                                  "exists in both matchLabelKeys and labelSelector"));
  }
  const std::set<std::string_view> mismatched = TextsOf(owner["mismatchLabelKeys"]);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!mismatched.contains(keys[i].AsString())) continue;
    errors.push_back(api::Invalid(path.Child("matchLabelKeys").Index(i), keys[i].AsString(),
                                  "exists in both matchLabelKeys and mismatchLabelKeys"));
  }
}

void CheckPodTerm(json::Value term, const FieldPath& path, FieldErrors& errors) {
  CheckLabelSelector(term["labelSelector"], path.Child("labelSelector"), errors);
  CheckLabelSelector(term["namespaceSelector"], path.Child("namespaceSelector"), errors);
  for (const json::Value& name : term["namespaces"].elements()) {
    CheckDnsLabel(name.AsString(), path.Child("namespace"), errors);
  }
  CheckMatchKeys(term, path, errors);
  const std::string_view topology = term["topologyKey"].AsString();
  if (topology.empty()) {
    errors.push_back(api::Required(path.Child("topologyKey"), "can not be empty"));
  }
  CheckLabelKey(topology, path.Child("topologyKey"), errors);
}

void CheckPodAffinity(json::Value affinity, const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  const FieldPath required = path.Child("requiredDuringSchedulingIgnoredDuringExecution");
  for (const json::Value& term :
       affinity["requiredDuringSchedulingIgnoredDuringExecution"].elements()) {
    CheckPodTerm(term, required.Index(index++), errors);
  }
  index = 0;
  const FieldPath preferred = path.Child("preferredDuringSchedulingIgnoredDuringExecution");
  for (const json::Value& term :
       affinity["preferredDuringSchedulingIgnoredDuringExecution"].elements()) {
    const FieldPath at = preferred.Index(index++);
    CheckWeight(term, at, errors);
    CheckPodTerm(term["podAffinityTerm"], at.Child("podAffinityTerm"), errors);
  }
}

void CheckEffect(json::Value effect, const FieldPath& path, FieldErrors& errors) {
  CheckOneOf(effect, path, {"NoSchedule", "PreferNoSchedule", "NoExecute"}, errors);
}

void CheckSpreadPolicies(json::Value constraint, const FieldPath& path, FieldErrors& errors) {
  const std::string_view action = constraint["whenUnsatisfiable"].AsString();
  if (const json::Value domains = constraint["minDomains"]; domains.is_int()) {
    if (domains.AsInt() <= 0) {
      errors.push_back(
          api::Invalid(path.Child("minDomains"), domains.AsInt(), "must be greater than zero"));
    }
    if (action != "DoNotSchedule") {
      errors.push_back(api::Invalid(
          path.Child("minDomains"), domains.AsInt(),
          base::StrCat("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ",
                       action)));
    }
  }
  for (const std::string_view policy : {"nodeAffinityPolicy", "nodeTaintsPolicy"}) {
    if (constraint[policy].is_null()) continue;
    CheckOneOf(constraint[policy], path.Child(policy), {"Honor", "Ignore"}, errors);
  }
}

}  // namespace

void CheckNodeSelector(json::Value selector, const FieldPath& path, FieldErrors& errors) {
  const FieldPath terms = path.Child("nodeSelectorTerms");
  if (selector["nodeSelectorTerms"].empty()) {
    errors.push_back(api::Required(terms, "must have at least one node selector term"));
    return;
  }
  std::size_t index = 0;
  for (const json::Value& term : selector["nodeSelectorTerms"].elements()) {
    CheckNodeTerm(term, true, terms.Index(index++), errors);
  }
}

void CheckAffinity(json::Value affinity, const FieldPath& path, FieldErrors& errors) {
  const json::Value node = affinity["nodeAffinity"];
  const FieldPath node_path = path.Child("nodeAffinity");
  if (const json::Value required = node["requiredDuringSchedulingIgnoredDuringExecution"];
      !required.is_null()) {
    CheckNodeSelector(required, node_path.Child("requiredDuringSchedulingIgnoredDuringExecution"),
                      errors);
  }
  std::size_t index = 0;
  const FieldPath preferred = node_path.Child("preferredDuringSchedulingIgnoredDuringExecution");
  for (const json::Value& term :
       node["preferredDuringSchedulingIgnoredDuringExecution"].elements()) {
    const FieldPath at = preferred.Index(index++);
    CheckWeight(term, at, errors);
    CheckNodeTerm(term["preference"], false, at.Child("preference"), errors);
  }
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    CheckPodAffinity(affinity[kind], path.Child(kind), errors);
  }
}

void CheckTolerations(json::Value tolerations, const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& toleration : tolerations.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view key = toleration["key"].AsString();
    const std::string_view op = toleration["operator"].AsString();
    const std::string_view value = toleration["value"].AsString();
    const std::string_view effect = toleration["effect"].AsString();
    if (!key.empty()) CheckLabelKey(key, at.Child("key"), errors);
    if (key.empty() && op != "Exists") {
      errors.push_back(api::Invalid(
          at.Child("operator"), api::NamedValue(op),
          "operator must be Exists when `key` is empty, which means \"match all values and all "
          "keys\""));
    }
    if (!toleration["tolerationSeconds"].is_null() && effect != "NoExecute") {
      errors.push_back(api::Invalid(at.Child("effect"), effect,
                                    "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    if (op.empty() || op == "Equal") {
      const auto texts = api::IsValidLabelValue(value);
      if (!texts.empty()) {
        errors.push_back(api::Invalid(at.Child("operator"), value, base::Join(texts, ";")));
      }
    } else if (op == "Exists") {
      if (!value.empty()) {
        errors.push_back(api::Invalid(at.Child("operator"), value,
                                      "value must be empty when `operator` is 'Exists'"));
      }
    } else if (op == "Lt" || op == "Gt") {
      errors.push_back(api::NotSupported(at.Child("operator"), api::NamedValue(op),
                                         {"Equal", "Exists", "Lt", "Gt"}));
    } else {
      errors.push_back(
          api::NotSupported(at.Child("operator"), api::NamedValue(op), {"Equal", "Exists"}));
    }
    if (!effect.empty()) CheckEffect(toleration["effect"], at.Child("effect"), errors);
  }
}

void CheckTaints(json::Value taints, const FieldPath& path, FieldErrors& errors) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  std::size_t index = 0;
  for (const json::Value& taint : taints.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view key = taint["key"].AsString();
    const std::string_view value = taint["value"].AsString();
    const std::string_view effect = taint["effect"].AsString();
    CheckLabelKey(key, at.Child("key"), errors);
    if (const auto texts = api::IsValidLabelValue(value); !texts.empty()) {
      errors.push_back(api::Invalid(at.Child("value"), value, base::Join(texts, ";")));
    }
    if (effect.empty()) {
      errors.push_back(api::Required(at.Child("effect"), ""));
    } else {
      CheckEffect(taint["effect"], at.Child("effect"), errors);
    }
    if (seen.insert({effect, key}).second) continue;
    const json::Value added = taint["timeAdded"];
    api::FieldError error = api::Duplicate(
        at, api::BadValue::Raw(
                StructJson({{"Key", Quoted(key)},
                            {"Value", Quoted(value)},
                            {"Effect", Quoted(effect)},
                            {"TimeAdded", added.is_null() ? "null" : Quoted(added.AsString())}})));
    error.detail = "taints must be unique by key and effect pair";
    errors.push_back(std::move(error));
  }
}

// matchLabelKeys of a spread constraint where they are not merged into the selector: no key may be
// in both.
void CheckSpreadKeys(json::Value constraint, const FieldPath& path, FieldErrors& errors) {
  const json::Value keys = constraint["matchLabelKeys"];
  const json::Value selector = constraint["labelSelector"];
  if (keys.empty()) return;
  std::set<std::string_view> selected;
  for (const json::Member& label : selector["matchLabels"].members()) selected.insert(label.name());
  for (const json::Value& expression : selector["matchExpressions"].elements()) {
    selected.insert(expression["key"].AsString());
  }
  if (selector.is_null()) {
    errors.push_back(api::Forbidden(path, "must not be specified when labelSelector is not set"));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string_view key = keys[i].AsString();
    CheckLabelKey(key, path.Index(i), errors);
    if (!selected.contains(key)) continue;
    errors.push_back(
        api::Invalid(path.Index(i), key, "exists in both matchLabelKeys and labelSelector"));
  }
}

void CheckTopologySpread(const PodContext& pod, const FieldPath& path, FieldErrors& errors) {
  const json::Value constraints = pod.spec["topologySpreadConstraints"];
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> left;
  for (const json::Value& constraint : constraints.elements()) {
    ++left[{constraint["topologyKey"].AsString(), constraint["whenUnsatisfiable"].AsString()}];
  }
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const json::Value constraint = constraints[i];
    const FieldPath at = path.Index(i);
    const std::string_view key = constraint["topologyKey"].AsString();
    const std::string_view action = constraint["whenUnsatisfiable"].AsString();
    if (constraint["maxSkew"].AsInt() <= 0) {
      errors.push_back(api::Invalid(at.Child("maxSkew"), constraint["maxSkew"].AsInt(),
                                    "must be greater than zero"));
    }
    if (key.empty()) errors.push_back(api::Required(at.Child("topologyKey"), "can not be empty"));
    CheckOneOf(constraint["whenUnsatisfiable"], at.Child("whenUnsatisfiable"),
               {"DoNotSchedule", "ScheduleAnyway"}, errors);
    if (--left[{key, action}] > 0) {
      errors.push_back(api::Duplicate(at.Child("{topologyKey, whenUnsatisfiable}"),
                                      base::StrCat("{", key, ", ", action, "}")));
    }
    CheckSpreadPolicies(constraint, at, errors);
    if (pod.merges_spread_keys) {
      CheckMatchKeys(constraint, at, errors);
    } else {
      CheckSpreadKeys(constraint, at.Child("matchLabelKeys"), errors);
    }
    CheckLabelSelector(constraint["labelSelector"], at.Child("labelSelector"), errors);
  }
}

void CheckSchedulingGates(json::Value gates, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (const json::Value& gate : gates.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view name = gate["name"].AsString();
    CheckLabelKey(name, at, errors);
    if (!seen.insert(name).second) errors.push_back(api::Duplicate(at, name));
  }
}

}  // namespace portcullis::registry
