// SPDX-License-Identifier: Apache-2.0

// Any bytes as a file of manifests: reading never crashes, and every field that is found has a place
// within the file.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "offline/blame.h"
#include "offline/inputs.h"
#include "offline/review.h"

namespace offline = portcullis::offline;
namespace json = portcullis::json;

namespace {

void Check(const offline::Location& place, std::size_t lines) {
  if (place.line >= 1 && place.line <= lines) return;
  std::fprintf(stderr, "%s is not within %zu lines\n", place.ToString().c_str(), lines);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  // libyaml also ends lines at CR, NEL, LS and PS, each of at least one byte.
  const std::size_t lines = text.size() + 2;
  offline::Inputs inputs;
  offline::ReadText("f.yaml", text, true, inputs);
  const std::vector<std::string> name = {"metadata", "name"};
  for (const offline::Manifest& manifest : inputs.manifests) {
    Check(manifest.Find({}), lines);
    Check(manifest.Find(name), lines);
    if (offline::IsReview(manifest))
      Check(offline::ReadReview(manifest).manifest.Find(name), lines);
  }
  for (const std::string& path : offline::FieldsOf(text)) {
    static_cast<void>(offline::FieldSteps(path));
  }
  return 0;
}
