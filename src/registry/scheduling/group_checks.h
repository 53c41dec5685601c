// SPDX-License-Identifier: Apache-2.0

// What PodGroups and the templates of Workloads share (the declarations of their types). Pure functions.
#pragma once

#include <string_view>

#include "registry/validation/checks.h"

namespace portcullis::registry {

// A required text, checked by `check` if it is there.
void CheckRequiredName(json::Value owner, std::string_view name,
                       std::vector<std::string> (*check)(std::string_view), const FieldPath& path,
                       FieldErrors& errors);
// A subdomain, in the words of declared checks.
void CheckLongName(std::string_view name, const FieldPath& path, FieldErrors& errors);
// Refuses each element of a list whose `name` an earlier one has.
void CheckNamesAreUnique(json::Value list, const FieldPath& path, FieldErrors& errors);
// One of `names` is set, in the words of declared unions.
void CheckMembers(json::Value owner, std::initializer_list<std::string_view> names,
                  const FieldPath& path, FieldErrors& errors);

// The fields behind feature gates, with their gates.
struct GroupField {
  std::string_view gate;
  std::string_view name;
};
inline constexpr GroupField kGatedGroupFields[] = {
    {"TopologyAwareWorkloadScheduling", "schedulingConstraints"},
    {"DRAWorkloadResourceClaims", "resourceClaims"},
    {"WorkloadAwarePreemption", "disruptionMode"},
    {"WorkloadAwarePreemption", "priorityClassName"},
    {"WorkloadAwarePreemption", "priority"}};

// A new spec without the fields of gates that are off, unless `old` (null for a new one) has the field.
json::Value WithoutGatedFields(const Context& ctx, json::Value spec, json::Value old);
// One of the gated fields, new or changed.
void CheckGatedField(std::string_view name, json::Value value, const FieldPath& path,
                     FieldErrors& errors);
void CheckSchedulingPolicy(json::Value policy, const FieldPath& path, FieldErrors& errors);

}  // namespace portcullis::registry
