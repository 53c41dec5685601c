// SPDX-License-Identifier: Apache-2.0

// JSON Patch (RFC 6902) with the behaviour and the error texts of the library Kubernetes uses for
// PATCH requests, webhook answers and mutating policies (gopkg.in/evanphx/json-patch.v4).
//
// Where it is more lenient than the RFC:
// - `replace` of a missing member adds it; `copy` of a missing member writes null; a `test` of a
//   missing member against null, or without a value, succeeds;
// - negative indices count from the end, and indices may have a sign and leading zeros;
// - what stands before the first "/" of a path is ignored, a path without "/" addresses nothing;
// - `add`, `remove`, `move` and `copy` never address the whole document.
//
// Objects on the way of an operation, and those that a `test` has compared, have their members in order, as Go's
// maps are written.
//
// Comparison by `test` is structural: order of members does not count, 1 and 1.0 differ. Texts are compared as they
// are spelled, for which PatchOptions::spelled is needed: those of the document as Go writes them, with `<` as `\u003c`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::json {

struct PatchOptions {
  // The bytes all `copy` operations together may add, counted as written JSON. 0: no limit.
  std::int64_t copy_limit = std::int64_t{3} * 1024 * 1024;
  // The deepest document an operation may produce.
  std::uint32_t max_depth = 10000;
  // The patch repeats keys and was read with all their members. Of an operation's own members the
  // last one counts, and so it does in a value once an operation leads into it; values that no
  // operation has looked into keep all members.
  bool repeats_keys = false;
  // The patch with its texts as they are spelled, from DecodePatch(); null if all are spelled as Go does.
  Value spelled;
};

// Reads a patch and checks that it is an array of objects (null counts as an empty one). `go_type`
// is the type that the text for other JSON names: "json: cannot unmarshal object into Go value of
// type jsonpatch.Patch". A "[]T" names its elements, too; those of jsonpatch.Patch are
// jsonpatch.Operation. Errors: BadRequest.
struct PatchOddities {
  // If given and the text repeats keys, this becomes true and the result has all their members
  // (json/duplicates.h); without it the last one counts.
  bool* repeats_keys = nullptr;
  std::string* range_error = nullptr;  // see ParseOptions
  Value* spelled = nullptr;            // see PatchOptions
};
base::Result<Value> DecodePatch(Arena& arena, std::string_view text,
                                std::string_view go_type = "jsonpatch.Patch",
                                const PatchOddities& oddities = {});

// Applies the operations in order; the first that fails ends it. The result shares everything
// unchanged with document and patch, so both must outlive it. Errors have the reason Invalid and
// the library's text; how they are presented is up to the caller.
base::Result<Value> ApplyPatch(Arena& arena, Value document, Value patch,
                               const PatchOptions& options = {});

}  // namespace portcullis::json
