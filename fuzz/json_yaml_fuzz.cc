// SPDX-License-Identifier: Apache-2.0

// Any bytes: reading YAML never crashes; what reads well is written as YAML that reads back equal.
#include <cstdio>
#include <cstdlib>

#include "json/writer.h"
#include "json/yaml.h"

namespace json = portcullis::json;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  json::Arena arena;
  std::string strict_error;
  json::YamlOptions options;
  options.strict_error = &strict_error;
  for (const std::string_view document : json::SplitYaml(text)) {
    const auto value = json::ParseYaml(arena, document, options);
    if (!value.ok() || value->depth() > 300) continue;
    const std::string yaml = json::ToYaml(*value);
    const auto again = json::ParseYaml(arena, yaml);
    if (!again.ok() || !(*again == *value)) {
      std::fprintf(stderr, "%s\n---\n%s", json::ToString(*value).c_str(), yaml.c_str());
      std::abort();
    }
  }
  return 0;
}
