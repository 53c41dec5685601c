// SPDX-License-Identifier: Apache-2.0

#include "registry/flow_control/flow_status.h"

#include <set>

namespace portcullis::registry {

void CheckFlowConditions(json::Value conditions, FieldErrors& errors) {
  std::set<std::string_view> types;
  std::size_t index = 0;
  for (const json::Value& condition : conditions.elements()) {
    const FieldPath at = FieldPath("status", "conditions").Index(index++).Child("type");
    const std::string_view type = condition["type"].AsString();
    if (!types.insert(type).second) errors.push_back(api::Duplicate(at, type));
    if (type.empty()) errors.push_back(api::Required(at, ""));
  }
}

}  // namespace portcullis::registry
