// SPDX-License-Identifier: Apache-2.0

// How a strategic merge patch treats the fields of a Go type, as `reflect` and the struct tags
// `patchStrategy` and `patchMergeKey` tell it (apimachinery, pkg/util/strategicpatch/meta.go and
// third_party/forked/golang/json/fields.go). Pure functions; schemas outlive what is returned.
#pragma once

#include <string_view>

#include "api/schema/schema.h"
#include "base/status.h"

namespace portcullis::api::patch {

// A Go type: that of a schema, or a pointer to it.
struct GoType {
  const schema::Schema* schema = nullptr;
  bool pointer = false;
};

// Its reflect.Kind, as in "struct" or "ptr".
std::string_view KindOf(const GoType& type);

// What Go's struct tags say of a field: its type, and how a list or map of it is patched.
struct FieldRule {
  GoType type;
  std::string_view merge_key;
  bool merge = false;
  bool replace = false;
};

// Errors have Kubernetes' texts, as in `unable to find api field in struct PodSpec for the json field
// "x"`; names differ in case at most.
base::Result<FieldRule> RuleOf(const GoType& parent, std::string_view name);
// The same of a field that should be a list; the type is that of its elements.
base::Result<FieldRule> ListRuleOf(const GoType& parent, std::string_view name);

}  // namespace portcullis::api::patch
