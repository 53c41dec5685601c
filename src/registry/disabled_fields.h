// SPDX-License-Identifier: Apache-2.0

// Fields behind feature gates: while the gate is off in the release, Kubernetes drops them from what
// a client writes, unless the stored object has them already (pkg/api/pod/util.go and the strategies
// of the kinds).
#pragma once

#include <span>
#include <string_view>

#include "json/value.h"
#include "registry/strategy.h"

namespace portcullis::registry {

struct DisabledField {
  std::string_view gate;
  std::string_view path;             // "volumes[].name": `[]` goes through all elements of a list
  bool drops_empty_parent = false;   // an object that holds nothing else goes as well
  std::string_view kept_value = {};  // a value of the field that needs no gate
};

// `object` without the `fields` of gates that are off, unless `old` (null for a create) uses one of
// that gate. `base` is where their paths start: "" or names with dots between them. Nothing is copied
// if there are none.
json::Value WithoutDisabledFields(const Context& ctx, std::span<const DisabledField> fields,
                                  std::string_view base, json::Value object, json::Value old);

}  // namespace portcullis::registry
