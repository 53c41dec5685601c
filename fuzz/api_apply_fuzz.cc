// SPDX-License-Identifier: Apache-2.0

// Any object and any configuration applied to it: an object or an error; what is applied twice
// changes nothing the second time, and its managed fields can be read. The input is
// {"live": {…} or null, "config": {…}, "next": {…}}.
#include <cstdio>
#include <cstdlib>

#include "api/catalog/catalog.h"
#include "api/patch/managed_fields.h"
#include "api/schema/decode.h"
#include "json/reader.h"
#include "json/writer.h"

namespace api = portcullis::api;
namespace json = portcullis::json;
namespace patch = portcullis::api::patch;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const auto kCatalog = api::catalog::Catalog::BuiltIn({}).value();
  static const api::schema::Schema& kSchema =
      *kCatalog->FindSchema(api::GroupVersionKind{"apps", "v1", "Deployment"});
  json::Arena arena;
  json::ParseOptions options;
  options.max_depth = 200;
  const auto input = json::Parse(arena, {reinterpret_cast<const char*>(data), size}, options);
  if (!input.ok()) return 0;
  json::Value live = (*input)["live"];
  if (live.is_object()) {
    const auto decoded = api::schema::Decode(arena, kSchema, live);
    if (!decoded.ok()) return 0;
    live = *decoded;
  } else {
    live = json::Value();
  }
  patch::Writer writer;
  writer.manager = "fuzz";
  writer.api_version = "apps/v1";
  writer.now = "2024-01-01T00:00:00Z";
  const json::Value next = (*input)["next"];
  if (const auto decoded = api::schema::Decode(arena, kSchema, next);
      next.is_object() && decoded.ok()) {
    live = patch::Track(arena, kSchema, live, *decoded, writer);
  }
  const json::Value config = (*input)["config"];
  if (!config.is_object()) return 0;
  (void)patch::Apply(arena, kSchema, live, config, writer, patch::Force::kNo);
  const auto once = patch::Apply(arena, kSchema, live, config, writer, patch::Force::kYes);
  if (!once.ok()) {
    if (once.status().message().empty()) std::abort();
    return 0;
  }
  if (!patch::CheckManagedFields(*once).ok()) std::abort();
  const auto twice = patch::Apply(arena, kSchema, *once, config, writer, patch::Force::kYes);
  if (!twice.ok() || json::ToString(*twice) != json::ToString(*once)) {
    std::fprintf(stderr, "%s\n%s\n", json::ToString(*once).c_str(),
                 twice.ok() ? json::ToString(*twice).c_str() : twice.status().message().c_str());
    std::abort();
  }
  return 0;
}
