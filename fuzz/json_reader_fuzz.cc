// SPDX-License-Identifier: Apache-2.0

// Any bytes: reading never crashes; what reads well prints, reads back equal, and prints the same
// whether or not pieces of the text are spliced.
#include <cstdlib>

#include "json/duplicates.h"
#include "json/reader.h"
#include "json/writer.h"

namespace json = portcullis::json;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  json::Arena arena;
  std::vector<std::string> duplicates;
  json::ParseOptions options;
  options.borrow_text = true;
  options.max_depth = 500;
  options.duplicate_keys = &duplicates;
  const auto value = json::Parse(arena, text, options);
  if (!value.ok()) {
    if (value.status().message().empty()) std::abort();
    return 0;
  }
  // With all members of repeated keys: the last of them are what was read above.
  json::ParseOptions all = options;
  all.duplicate_keys = nullptr;
  all.keep_duplicates = true;
  const auto kept = json::Parse(arena, text, all);
  if (!kept.ok() || !(json::LastOfDuplicates(arena, *kept) == *value)) std::abort();
  std::vector<std::string> paths;
  json::DuplicatePaths(*kept, paths);
  if (paths != duplicates) std::abort();
  json::WriteOptions plain;
  plain.splice_source = false;
  const std::string printed = json::ToString(*value, plain);
  if (json::ToString(*value) != printed) std::abort();
  const auto again = json::Parse(arena, printed);
  if (!again.ok()) std::abort();
  // -0.0 is printed as "-0", which is the integer 0 when read; the second time nothing changes.
  const std::string settled = json::ToString(*again);
  if (json::ToString(*json::Parse(arena, settled)) != settled) std::abort();
  if (!(json::DeepCopy(arena, *value) == *value)) std::abort();
  for (const json::Member& member : value->members()) {
    if (!value->Find(member.name())->IsSameAs(member.value)) std::abort();
  }
  return 0;
}
