// SPDX-License-Identifier: Apache-2.0

// Tolerations as PodTolerationRestriction and RuntimeClass compare and merge them. All values are
// tolerations in v1 form, {key, operator, value, effect, tolerationSeconds}.
#pragma once

#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::plugins::common {

// A JSON list of tolerations as Go decodes it: members by their names in any case, others passed
// over; absent for `null`. Errors are Go's: `json: cannot unmarshal number into Go struct field
// Toleration.key of type string`.
base::Result<json::Value> DecodeTolerations(json::Arena& arena, std::string_view text);

// The same toleration; absent and empty members are equal.
bool SameToleration(json::Value a, json::Value b);

// Whether everything that `narrow` tolerates is tolerated by `wide` too. An operator left out of
// `narrow` is not taken for Equal here: only an identical toleration covers it.
bool Covers(json::Value wide, json::Value narrow);

// Both lists without what another element covers; of equal elements the first stays.
json::Value MergeTolerations(json::Arena& arena, json::Value first, json::Value second);

// Whether every toleration is covered by one of the whitelist. An empty whitelist allows all.
bool AllowedBy(json::Value tolerations, json::Value whitelist);

}  // namespace portcullis::plugins::common
