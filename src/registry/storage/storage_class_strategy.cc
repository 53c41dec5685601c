// SPDX-License-Identifier: Apache-2.0

// StorageClasses (pkg/apis/storage/validation).

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "registry/kind_table.h"
#include "registry/storage/class_checks.h"
#include "registry/validation/sent_values.h"

namespace portcullis::registry {
namespace {

constexpr FieldRule kParametersRule[] = {{"parameters", FieldRuleKind::kImmutable}};

constexpr FieldRule kStorageClassRules[] = {
    {"provisioner", FieldRuleKind::kImmutable},
    {"reclaimPolicy", FieldRuleKind::kImmutable},
    {"volumeBindingMode", FieldRuleKind::kImmutable},
};

using Topology = std::map<std::string_view, std::set<std::string_view>>;

// Kubernetes has an error for each pair of equal terms: of 10,000 terms fifty million. Behind this
// many there is one for each term.
constexpr std::size_t kMostRepeated = 20'000;

void CheckTopologies(json::Value terms, const FieldPath& path, FieldErrors& errors) {
  // Kubernetes starts with as many empty topologies as there are terms.
  std::map<Topology, std::size_t> seen = {{Topology(), terms.size()}};
  std::size_t repeated = 0;
  std::size_t index = 0;
  for (const json::Value& term : terms.elements()) {
    const FieldPath list = path.Index(index++).Child("matchLabelExpressions");
    std::set<std::string_view> keys;
    Topology topology;
    std::size_t expression_index = 0;
    for (const json::Value& expression : term["matchLabelExpressions"].elements()) {
      const FieldPath at = list.Index(expression_index++);
      if (expression["values"].empty()) errors.push_back(api::Required(at.Child("values"), ""));
      std::set<std::string_view> values;
      std::size_t value_index = 0;
      for (const json::Value& value : expression["values"].elements()) {
        const FieldPath value_path = at.Child("values").Index(value_index++);
        if (!values.insert(value.AsString()).second) {
          errors.push_back(api::Duplicate(value_path, value.AsString()));
        }
      }
      const std::string_view key = expression["key"].AsString();
      AddInvalid(at.Child("key"), key, api::IsQualifiedName(key), errors);
      if (!keys.insert(key).second) errors.push_back(api::Duplicate(at.Child("key"), key));
      topology[key] = std::move(values);
    }
    std::size_t& equal = seen[std::move(topology)];
    const std::size_t told = repeated < kMostRepeated ? equal : std::min<std::size_t>(equal, 1);
    errors.insert(errors.end(), told, api::Duplicate(list, ""));
    repeated += told;
    ++equal;
  }
}

void ValidateStorageClass(const Context&, json::Value object, FieldErrors& errors) {
  CheckProvisioner(object["provisioner"], FieldPath("provisioner"), errors);
  CheckParameters(object["parameters"], true, FieldPath("parameters"), errors);
  if (const json::Value policy = object["reclaimPolicy"]; !policy.AsString().empty()) {
    CheckOneOf(policy, FieldPath("reclaimPolicy"), {"Delete", "Retain"}, errors);
  }
  CheckOneOf(object["volumeBindingMode"], FieldPath("volumeBindingMode"),
             {"Immediate", "WaitForFirstConsumer"}, errors);
  CheckTopologies(object["allowedTopologies"], FieldPath("allowedTopologies"), errors);
}

// An empty map that was sent is quoted as one, though decoding has dropped it.
void CheckParametersChange(const Context& ctx, json::Value object, json::Value old,
                           FieldErrors& errors) {
  const json::Value parameters = object["parameters"];
  if (parameters == old["parameters"]) return;
  CheckFieldRules(kParametersRule, WithSentEmpty(ctx.arena, object, ctx.sent, "parameters"), &old,
                  errors);
}

void WarnOfStorageClass(const Context&, json::Value object, json::Value,
                        std::vector<std::string>& warnings) {
  std::size_t index = 0;
  for (const json::Value& term : object["allowedTopologies"].elements()) {
    const FieldPath list =
        FieldPath("allowedTopologies").Index(index++).Child("matchLabelExpressions");
    std::size_t position = 0;
    for (const json::Value& expression : term["matchLabelExpressions"].elements()) {
      WarnOfLabel(expression["key"].AsString(), list.Index(position++).Child("key"), warnings);
    }
  }
}

}  // namespace

void AddStorageClassStrategy(KindTable& table) {
  table.Add({.group = "storage.k8s.io",
             .resource = "storageclasses",
             .validate = &ValidateStorageClass,
             .validate_between = &AsNew<&ValidateStorageClass>,
             .validate_update = &CheckParametersChange,
             .rules = kStorageClassRules,
             .warn = &WarnOfStorageClass,
             .traits = {.returns_deleted = true},
             .metadata = {.update = "FU"}});
}

}  // namespace portcullis::registry
