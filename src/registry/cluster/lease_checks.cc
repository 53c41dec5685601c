// SPDX-License-Identifier: Apache-2.0

#include "registry/cluster/lease_checks.h"

#include "api/named_value.h"
#include "api/selector/label_selector.h"

namespace portcullis::registry {

void CheckLeaseStrategy(std::string_view strategy, const FieldPath& path, FieldErrors& errors) {
  // Kubernetes names the field twice.
  const FieldPath at = path.Child("strategy");
  if (strategy.find('/') != std::string_view::npos) {
    AddInvalid(at, strategy, api::IsQualifiedName(strategy), errors);
  } else if (strategy != "OldestEmulationVersion") {
    errors.push_back(api::NotSupported(at, api::NamedValue(strategy), {"OldestEmulationVersion"}));
  }
}

}  // namespace portcullis::registry
