// SPDX-License-Identifier: Apache-2.0

// Spot: where an object has to be, and with which labels, so that the selectors of a policy, its binding or a
// webhook select it.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "json/value.h"
#include "offline/inputs.h"

namespace portcullis::offline {

struct Spot {
  std::string ns = "default";
  json::Value ns_labels;  // of a namespace that none of the manifests is; null: it is there
  json::Value labels;     // of the object
};

// `matches` have namespaceSelector and objectSelector. The namespace is `default`, one of the manifests, or a new one
// called after `name`. Labels live in `arena` and in those of `matches`.
Spot SpotOf(json::Arena& arena, std::span<const Manifest> manifests,
            std::initializer_list<json::Value> matches, std::string_view name);

}  // namespace portcullis::offline
