// SPDX-License-Identifier: Apache-2.0

// Any object and any strategic merge patch of several kinds: an object or an error, and the object
// that was there stays as it is. The input is {"object": {…}, "patch": {…}}.
#include <cstdlib>

#include "api/catalog/catalog.h"
#include "api/patch/strategic_merge.h"
#include "json/reader.h"
#include "json/writer.h"

namespace api = portcullis::api;
namespace json = portcullis::json;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const auto kCatalog = api::catalog::Catalog::BuiltIn({}).value();
  static const api::GroupVersionKind kKinds[] = {
      {"", "v1", "Pod"}, {"apps", "v1", "Deployment"}, {"", "v1", "Service"}};
  json::Arena arena;
  json::ParseOptions options;
  options.max_depth = 200;
  const auto input = json::Parse(arena, {reinterpret_cast<const char*>(data), size}, options);
  if (!input.ok()) return 0;
  const json::Value object = (*input)["object"];
  if (!object.is_object()) return 0;
  const std::string before = json::ToString(object);
  for (const auto& kind : kKinds) {
    const auto merged =
        api::patch::StrategicMerge(arena, *kCatalog->FindSchema(kind), object, (*input)["patch"]);
    if (merged.ok()) {
      (void)json::ToString(merged->object);
      (void)json::ToString(merged->patch);
    } else if (merged.status().message().empty()) {
      std::abort();
    }
  }
  if (json::ToString(object) != before) std::abort();
  return 0;
}
