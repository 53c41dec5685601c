// SPDX-License-Identifier: Apache-2.0

// Any JSON as an object of each kind that Kubernetes has dropped: converted to the version that is
// stored, back and there again, it is the same (docs/legacy.md).
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "api/catalog/catalog.h"
#include "api/conversion/conversion.h"
#include "api/schema/decode.h"
#include "json/reader.h"
#include "json/writer.h"

namespace api = portcullis::api;
namespace json = portcullis::json;

namespace {

struct World {
  std::shared_ptr<const api::catalog::Catalog> catalog =
      api::catalog::Catalog::BuiltIn({}, {.minor = 15, .plugins = {}, .initializers = true})
          .value();
};

void Check(const api::catalog::ResourceInfo& resource, json::Value input, json::Arena& arena) {
  auto object = api::schema::Decode(arena, *resource.schema, input);
  if (!object.ok() || !object->is_object()) return;
  const json::Value typed =
      json::With(arena,
                 json::With(arena, *object, "apiVersion",
                            json::String(arena, resource.kind.group_version().ToString())),
                 "kind", json::String(arena, resource.kind.kind));
  const auto stored = api::Convert(arena, typed, resource.storage_kind);
  if (!stored.ok()) std::abort();
  const auto shown = api::Convert(arena, *stored, resource.kind);
  if (!shown.ok()) std::abort();
  const auto again = api::Convert(arena, *shown, resource.storage_kind);
  if (!again.ok() ||
      json::ToString(*again, {.sort_keys = true}) != json::ToString(*stored, {.sort_keys = true})) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const World kWorld;
  json::Arena arena;
  json::ParseOptions options;
  options.max_depth = 200;
  const auto input =
      json::Parse(arena, std::string_view(reinterpret_cast<const char*>(data), size), options);
  if (!input.ok()) return 0;
  for (const api::catalog::ResourceInfo* resource : kWorld.catalog->resources()) {
    if (resource->legacy && resource->schema != nullptr) Check(*resource, *input, arena);
  }
  return 0;
}
