// SPDX-License-Identifier: Apache-2.0

// Fields behind feature gates that are off in v1.36: Kubernetes drops them from what a client
// writes, unless the stored object has them already or --feature-gates turns the gate on
// (pkg/api/pod/util.go and the strategies of the kinds).
#pragma once

#include <span>
#include <string_view>

#include "json/value.h"
#include "registry/strategy.h"

namespace portcullis::registry {

struct DisabledField {
  std::string_view gate;
  std::string_view path;            // "volumes[].name": `[]` goes through all elements of a list
  bool drops_empty_parent = false;  // an object that holds nothing else goes as well
};

// `object` without the `fields` that `old` (null for a create) does not use either. `base` is where
// their paths start: "" or names with dots between them. Nothing is copied if there are none.
json::Value WithoutDisabledFields(const Context& ctx, std::span<const DisabledField> fields,
                                  std::string_view base, json::Value object, json::Value old);

}  // namespace portcullis::registry
