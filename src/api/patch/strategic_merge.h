// SPDX-License-Identifier: Apache-2.0

// Strategic merge patch: a merge patch that knows the schema, so that lists with a merge key are
// merged element by element (Kubernetes documentation, "Update API Objects in Place Using kubectl
// patch"; SIG API machinery, "strategic-merge-patch.md").
//
// Understands the directives `$patch` (replace, delete, merge), `$retainKeys`,
// `$deleteFromPrimitiveList/<field>` and `$setElementOrder/<field>`.
#pragma once

#include "api/schema/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::patch {

// What has become of an object by a patch.
struct StrategicMerged {
  json::Value object;
  // The patch as Kubernetes quotes it where the object does not fit its type: its merge changes the
  // patch in place, which loses the directives it has used up and the nulls of what it has added.
  json::Value patch;
};

// The object with the patch applied. `object` must be an object; `patch` is what the client sent.
// Errors are of unknown reason (code 500) with Kubernetes' texts, as in
// `unknown patch type: explode in map: map[$patch:explode]`.
base::Result<StrategicMerged> StrategicMerge(json::Arena& arena, const schema::Schema& schema,
                                             json::Value object, json::Value patch);

}  // namespace portcullis::api::patch
