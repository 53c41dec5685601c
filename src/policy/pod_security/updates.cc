// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/updates.h"

#include <string_view>

namespace portcullis::policy::pod_security {
namespace {

bool ImagesDiffer(json::Value old_list, json::Value new_list) {
  if (old_list.size() != new_list.size()) return true;
  for (std::size_t i = 0; i < new_list.size(); ++i) {
    if (old_list[i]["image"].AsString() != new_list[i]["image"].AsString()) return true;
  }
  return false;
}

json::Value FindByName(json::Value list, std::string_view name) {
  for (const json::Value& item : list.elements()) {
    if (item["name"].AsString() == name) return item;
  }
  return {};
}

}  // namespace

bool IsSignificantUpdate(json::Value old_pod_spec, json::Value new_pod_spec) {
  for (std::string_view list : {"containers", "initContainers"}) {
    if (ImagesDiffer(old_pod_spec[list], new_pod_spec[list])) return true;
  }
  const json::Value before = old_pod_spec["ephemeralContainers"];
  for (const json::Value& container : new_pod_spec["ephemeralContainers"].elements()) {
    const json::Value old = FindByName(before, container["name"].AsString());
    if (old.is_null() || old["image"].AsString() != container["image"].AsString()) return true;
  }
  return false;
}

}  // namespace portcullis::policy::pod_security
