// Patches: turning a request body into a function from the live object to the new one, for each of
// the patch types Kubernetes has.
#pragma once

#include <functional>
#include <string_view>

#include "api/names.h"
#include "api/schema/schema.h"
#include "base/status.h"
#include "json/value.h"
#include "server/call.h"
#include "server/rest_options.h"

namespace portcullis::server::rest {

enum class PatchType { kJson, kMerge, kStrategic, kApply };

// Of the Content-Type. `strategic` says whether the kind can be merged by its schema.
base::Result<PatchType> ReadPatchType(const Call& call, bool strategic);

// What a patch is applied to.
struct PatchTarget {
  api::GroupVersionKind kind;
  const api::schema::Schema* schema = nullptr;  // null: nothing is known of the kind
};

// The live object (canonical, of target.kind) to the patched one, canonical and defaulted. Reads
// the body once; the result refers to `call`.
base::Result<std::function<base::Result<json::Value>(json::Value live)>> MakePatch(
    Call& call, PatchType type, const PatchTarget& target, const WriteOptions& options);

}  // namespace portcullis::server::rest
