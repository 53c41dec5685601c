// SPDX-License-Identifier: Apache-2.0

// Parameter objects: what a policy's paramKind and a binding's paramRef lead to.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/object_interfaces.h"
#include "admission/request.h"
#include "policy/cel_policy/match_resources.h"
#include "store/store.h"

namespace portcullis::policy {

struct ParamKind {
  std::string api_version;
  std::string kind;
  bool operator==(const ParamKind&) const = default;
};

struct ParamRef {
  std::string name;
  std::string ns;
  std::shared_ptr<const Selector> selector;  // null if there is none
  bool deny_if_missing = true;
};

std::optional<ParamKind> ParseParamKind(json::Value value);
std::optional<ParamRef> ParseParamRef(json::Value value, SelectorPool& selectors);

// One parameter object; an empty one stands for "no parameters": null.
struct Param {
  json::Value object;
  std::string key;  // "namespace/name", or ""
};

// Where objects of a kind are found.
struct ParamSource {
  api::GroupVersionKind kind;
  api::GroupVersionResource resource;
  bool namespaced = false;
  bool built_in = false;
};

// The error is `failed to find resource referenced by paramKind: '…'`.
base::Result<ParamSource> FindParamSource(const admission::ObjectInterfaces* objects,
                                          const ParamKind& kind);

// The objects that a binding's paramRef selects for the request; empty if there are none and that
// is allowed. Errors are ones of configuration. `keep_type` leaves apiVersion and kind in objects
// of built-in kinds.
base::Result<std::vector<Param>> CollectParams(const ParamSource& source, const ParamRef& ref,
                                               const admission::Request& request,
                                               const store::Reader* reader,
                                               const admission::ObjectInterfaces* objects,
                                               bool keep_type);

}  // namespace portcullis::policy
