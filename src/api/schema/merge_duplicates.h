// SPDX-License-Identifier: Apache-2.0

// MergeDuplicates: what Go's decoder makes of an object of a built-in kind whose JSON repeats keys.
//
// sigs.k8s.io/json decodes each value into what the values before it have left behind:
// - structs, maps and what pointers point to are merged; null clears maps, lists and pointers and
//   leaves structs and scalars alone;
// - of map entries and scalars the last one counts;
// - lists get the length of the last one, but their elements are decoded into the old elements, and
//   also into those that a shorter list in between had hidden; [] and null forget them;
// - types that decode themselves (quantities, times, raw extensions …) take the last value, with
//   their own meaning of null.
// Untyped content (custom resources, patches) does none of this: see json/duplicates.h.
//
// The reader tells whether a text repeats a key; only then is this needed.
#pragma once

#include <string>
#include <vector>

#include "api/schema/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::schema {

// `input` was read with json::ParseOptions::keep_duplicates. The result repeats no key and has no
// unknown fields; Decode() takes it as the object that was meant. Errors are those of Decode(), for
// values that are replaced by later ones as well. `strict_errors`, if given, receives the texts of
// strict decoding in the order of the input: `duplicate field "spec.x"`, `unknown field "spec.y"`.
base::Result<json::Value> MergeDuplicates(json::Arena& arena, const Schema& schema,
                                          json::Value input,
                                          std::vector<std::string>* strict_errors);

}  // namespace portcullis::api::schema
