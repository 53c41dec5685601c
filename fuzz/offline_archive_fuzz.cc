// SPDX-License-Identifier: Apache-2.0

// Any bytes as what `git archive` gives to `portcullis diff`. Every document that is found is of a file of
// the revision.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "offline/two_sides.h"

namespace offline = portcullis::offline;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view archive(reinterpret_cast<const char*>(data), size);
  offline::Inputs inputs;
  static_cast<void>(offline::ReadTar("main:policies", archive, inputs));
  for (const offline::Manifest& manifest : inputs.manifests) {
    if (manifest.source->path().starts_with("main:policies/")) continue;
    std::fprintf(stderr, "%s is in no revision\n", manifest.source->path().c_str());
    std::abort();
  }
  return 0;
}
