// Any document and any patch: applying never crashes and leaves the document alone. The input is
// {"doc": …, "patch": […], "merge": …}.
#include <cstdlib>

#include "json/merge_patch.h"
#include "json/patch.h"
#include "json/pointer.h"
#include "json/reader.h"
#include "json/writer.h"

namespace json = portcullis::json;

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
  const auto merged = json::MergePatch(arena, document, (*input)["merge"]);
  if (merged.ok()) (void)json::ToString(*merged);
  if (json::ToString(document) != before) std::abort();
  return 0;
}
