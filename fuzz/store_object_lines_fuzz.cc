// SPDX-License-Identifier: Apache-2.0

// Any text as the file of `portcullis store import`: reading it never crashes, and what was read is
// written and read again as it was.
#include <cstdlib>
#include <string_view>

#include "base/strings.h"
#include "store/exchange/object_lines.h"

namespace store = portcullis::store;

namespace {

portcullis::base::Result<store::Content> Read(std::string_view text) {
  store::ObjectLinesReader reader;
  for (const std::string_view line : portcullis::base::Split(text, '\n')) TRY(reader.Add(line));
  return reader.Finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto content = Read({reinterpret_cast<const char*>(data), size});
  if (!content.ok()) return 0;
  std::string text = store::HeadLine(content->revision, content->objects.size());
  for (const store::ObjectPtr& object : content->objects) text += store::ObjectLine(*object);
  const auto again = Read(text);
  if (!again.ok() || again->objects.size() != content->objects.size()) std::abort();
  for (std::size_t i = 0; i < again->objects.size(); ++i) {
    if (again->objects[i]->bytes() != content->objects[i]->bytes()) std::abort();
  }
  return 0;
}
