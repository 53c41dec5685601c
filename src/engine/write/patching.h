// SPDX-License-Identifier: Apache-2.0

// Patches: turning a request body into a function from the live object to the new one, for each of
// the patch types Kubernetes has.
#pragma once

#include <functional>
#include <string_view>

#include "api/names.h"
#include "api/schema/schema.h"
#include "base/status.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "json/value.h"

namespace portcullis::engine {

// What a patch is applied to.
struct PatchTarget {
  api::GroupVersionKind kind;
  const api::schema::Schema* schema = nullptr;  // null: nothing is known of the kind
  bool strategic = false;                       // it can be merged by its schema
};

// What a patch of the operation is applied to: the resource, or what its subresource shows of it.
PatchTarget PatchTargetOf(const Operation& op);

// The live object (canonical, of target.kind) to the patched one, canonical and defaulted.
using Transform = std::function<base::Result<json::Value>(json::Value live)>;

// Reads the body when it is called first: a patch of an absent object is not looked at. The result
// refers to `op` and to what the input views.
Transform MakePatch(Operation& op, const Input& input, const PatchTarget& target);

}  // namespace portcullis::engine
