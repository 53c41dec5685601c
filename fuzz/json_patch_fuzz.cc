// SPDX-License-Identifier: Apache-2.0

// Any document and any patch: applying never crashes and leaves the document alone, and a patch that
// repeats keys, applied with all of them, comes to the same as with the last of each. The input is
// {"doc": …, "patch": […], "merge": …, "text": a patch as text}.
#include <cstdlib>

#include "json/duplicates.h"
#include "json/merge_patch.h"
#include "json/patch.h"
#include "json/pointer.h"
#include "json/reader.h"
#include "json/writer.h"

namespace json = portcullis::json;

namespace {

// Of what it is: a test, a copy or a depth may come out otherwise where a value repeats keys.
void CheckRepeatedKeys(json::Arena& arena, json::Value document, std::string_view text) {
  json::PatchOptions options;
  options.max_depth = 300;
  options.copy_limit = 0;
  std::string range_error;
  const auto all =
      json::DecodePatch(arena, text, "jsonpatch.Patch", {&options.repeats_keys, &range_error});
  if (!all.ok() || !options.repeats_keys || !range_error.empty()) return;
  const auto last = json::DecodePatch(arena, text);
  if (!last.ok()) std::abort();
  const auto by_all = json::ApplyPatch(arena, document, *all, options);
  options.repeats_keys = false;
  const auto by_last = json::ApplyPatch(arena, document, *last, options);
  if (!by_all.ok() || !by_last.ok()) return;
  if (json::ToString(json::LastOfDuplicates(arena, *by_all)) != json::ToString(*by_last)) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  json::Arena arena;
  const auto input = json::Parse(arena, text);
  if (!input.ok()) return 0;
  const json::Value document = (*input)["doc"];
  const std::string before = json::ToString(document);
  const auto patch = json::DecodePatch(arena, json::ToString((*input)["patch"]));
  if (patch.ok()) {
    json::PatchOptions options;
    options.max_depth = 300;
    options.copy_limit = 10000;
    const auto result = json::ApplyPatch(arena, document, *patch, options);
    if (result.ok()) (void)json::ToString(*result);
    for (const json::Value& operation : patch->elements()) {
      (void)json::Resolve(document, operation["path"].AsString());
    }
  }
  CheckRepeatedKeys(arena, document, (*input)["text"].AsString());
  const auto merged = json::MergePatch(arena, document, (*input)["merge"]);
  if (merged.ok()) (void)json::ToString(*merged);
  if (json::ToString(document) != before) std::abort();
  return 0;
}
