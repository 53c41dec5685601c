// SPDX-License-Identifier: Apache-2.0

// CSIStorageCapacities (pkg/apis/storage/validation).

#include <vector>

#include "base/strings.h"
#include "json/sorted.h"
#include "registry/kind_table.h"
#include "registry/pods/pod_warnings.h"
#include "registry/storage/class_checks.h"

namespace portcullis::registry {
namespace {

constexpr FieldRule kCapacityRules[] = {
    {"nodeTopology", FieldRuleKind::kImmutable},
    {"storageClassName", FieldRuleKind::kImmutable},
};

void ValidateCsiStorageCapacity(const Context&, json::Value object, FieldErrors& errors) {
  CheckLabelSelector(object["nodeTopology"], FieldPath("nodeTopology"), errors);
  CheckSubdomain(object["storageClassName"].AsString(), FieldPath("storageClassName"), errors);
  if (const api::Quantity amount = QuantityOf(object["capacity"]); amount.Sign() < 0) {
    errors.push_back(api::Invalid(FieldPath("capacity"), amount.ToString(),
                                  "must be greater than or equal to 0"));
  }
}

void WarnOfCapacity(const Context&, json::Value object, json::Value,
                    std::vector<std::string>& warnings) {
  const json::Value topology = object["nodeTopology"];
  const FieldPath path("nodeTopology");
  std::size_t index = 0;
  for (const json::Value& expression : topology["matchExpressions"].elements()) {
    const std::string_view key = expression["key"].AsString();
    const FieldPath at = path.Child("matchExpressions").Index(index++).Child("key");
    if (const std::string_view text = DeprecatedNodeLabel(key); !text.empty()) {
      warnings.push_back(base::StrCat(at.ToString(), ": ", key, " is ", text));
    }
  }
  for (const json::Member* label : json::MembersByName(topology["matchLabels"])) {
    WarnOfLabel(label->name(), path.Child("matchLabels").Child(label->name()), warnings);
  }
}

}  // namespace

void AddCsiStorageCapacityStrategy(KindTable& table) {
  table.Add({.group = "storage.k8s.io",
             .resource = "csistoragecapacities",
             .validate = &ValidateCsiStorageCapacity,
             .validate_between = &AsNew<&ValidateCsiStorageCapacity>,
             .rules = kCapacityRules,
             .warn = &WarnOfCapacity,
             .traits = {.needs_version = true},
             .metadata = {.update = "FU"}});
}

}  // namespace portcullis::registry
