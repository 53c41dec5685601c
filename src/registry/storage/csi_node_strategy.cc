// SPDX-License-Identifier: Apache-2.0

// CSINodes (pkg/apis/storage/validation).

#include <set>
#include <unordered_map>
#include <vector>

#include "registry/kind_table.h"
#include "registry/pods/pod_parts.h"
#include "registry/validation/go_diff.h"

namespace portcullis::registry {
namespace {

void ValidateCsiNode(const Context&, json::Value object, FieldErrors& errors) {
  std::set<std::string_view> names;
  std::size_t index = 0;
  for (const json::Value& driver : object["spec"]["drivers"].elements()) {
    const FieldPath at = FieldPath("spec", "drivers").Index(index++);
    const std::string_view name = driver["name"].AsString();
    CheckCsiDriverName(name, at.Child("name"), errors);
    const std::string_view id = driver["nodeID"].AsString();
    if (id.empty()) errors.push_back(api::Required(at.Child("nodeID"), ""));
    if (id.size() > 256) {
      errors.push_back(api::Invalid(at.Child("nodeID"), id, "must be 256 characters or less"));
    }
    if (const json::Value count = driver["allocatable"]["count"]; count.is_int()) {
      CheckNonNegative(count, at.Child("allocatable", "count"), errors);
    }
    if (!names.insert(name).second) errors.push_back(api::Duplicate(at.Child("name"), name));
    std::set<std::string_view> keys;
    for (const json::Value& key : driver["topologyKeys"].elements()) {
      if (key.AsString().empty()) errors.push_back(api::Required(at, ""));
      if (!keys.insert(key.AsString()).second) {
        errors.push_back(api::Duplicate(at, key.AsString()));
      }
      AddInvalid(at, key.AsString(), api::IsQualifiedName(key.AsString()), errors);
    }
  }
}

// No keys and an empty list of them are the same.
json::Value WithKeys(json::Arena& arena, json::Value driver) {
  return driver["topologyKeys"].empty() ? json::Without(arena, driver, "topologyKeys") : driver;
}

// What a driver has said of itself may not change, except how many volumes it takes (gate
// MutableCSINodeAllocatableCount).
void ValidateCsiNodeUpdate(const Context& ctx, json::Value object, json::Value old,
                           FieldErrors& errors) {
  ValidateCsiNode(ctx, object, errors);
  const bool mutable_count = ctx.release->GateEnabled("MutableCSINodeAllocatableCount");
  const auto lasting = [&](json::Value driver) {
    return mutable_count ? json::Without(ctx.arena, driver, "allocatable") : driver;
  };
  std::unordered_map<std::string_view, std::vector<json::Value>> drivers;  // by name
  for (const json::Value& driver : object["spec"]["drivers"].elements()) {
    drivers[driver["name"].AsString()].push_back(driver);
  }
  for (const json::Value& before : old["spec"]["drivers"].elements()) {
    const auto same = drivers.find(before["name"].AsString());
    if (same == drivers.end()) continue;
    for (const json::Value& driver : same->second) {
      const json::Value now = lasting(driver);
      if (WithKeys(ctx.arena, now) == WithKeys(ctx.arena, lasting(before))) continue;
      errors.push_back(api::Invalid(FieldPath("spec", "drivers"),
                                    GoValue(ctx, "io.k8s.api.storage.v1.CSINodeDriver", now),
                                    "field is immutable"));
    }
  }
}

}  // namespace

void AddCsiNodeStrategy(KindTable& table) {
  table.Add({.group = "storage.k8s.io",
             .resource = "csinodes",
             .validate = &ValidateCsiNode,
             .validate_update = &ValidateCsiNodeUpdate,
             .traits = {.returns_deleted = true, .needs_version = true},
             .metadata = {.update = "F"}});
}

}  // namespace portcullis::registry
