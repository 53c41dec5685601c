// SPDX-License-Identifier: Apache-2.0

// What the status of a namespace tells while it is being deleted: why it is still there (Kubernetes
// documentation, NamespaceCondition; texts of pkg/controller/namespace/deletion).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace portcullis::controllers {

// What a round of deletions has left behind.
struct NamespaceLeftovers {
  std::map<std::string, std::size_t> resources;   // "pods.", "deployments.apps": how many objects
  std::map<std::string, std::size_t> finalizers;  // how many objects each of them keeps
  std::vector<std::string> errors;                // of deletions
  std::vector<std::string> undiscovered;  // "metrics.k8s.io/v1": their resources are not known
};

// The conditions to write in place of `old`, or null if they tell it all already. `now` dates those
// whose status changes.
json::Value NamespaceConditions(json::Arena& arena, json::Value old, const NamespaceLeftovers& left,
                                std::string_view now);

}  // namespace portcullis::controllers
