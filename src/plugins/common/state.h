// SPDX-License-Identifier: Apache-2.0

// Reading the cluster's current state: single objects by name, with the refusals Kubernetes gives
// for absent ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"
#include "store/store.h"

namespace portcullis::plugins::common {

// The object, or null. `reader` may be null (nothing is known of the cluster).
store::ObjectPtr Find(const store::Reader* reader, std::string_view group,
                      std::string_view resource, std::string_view ns, std::string_view name);

inline store::ObjectPtr FindNamespace(const store::Reader* reader, std::string_view name) {
  return Find(reader, "", "namespaces", "", name);
}

// The object's JSON, kept alive by `arena`; null for a null object.
json::Value RootOf(json::Arena& arena, const store::ObjectPtr& object);

// All objects of a collection; nothing without a reader.
std::vector<store::ObjectPtr> List(const store::Reader* reader, std::string_view group,
                                   std::string_view resource, std::string_view ns = {});

// Why Kubernetes' client does not even ask for an object of that name: `resource name may not be
// empty`, `invalid resource name "a/b": [may not contain '/']`; "" if it does.
std::string NameProblem(std::string_view name);

// What Kubernetes' caches say of an absent object: the resource in the singular,
// `serviceaccount "x" not found`.
base::Status AbsentFromCache(std::string_view group, std::string_view singular,
                             std::string_view name);

}  // namespace portcullis::plugins::common
