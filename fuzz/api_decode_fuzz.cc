// SPDX-License-Identifier: Apache-2.0

// Any JSON as an object of several kinds: decoding and defaulting never crash, and both are
// idempotent.
#include <cstdlib>

#include "api/catalog/catalog.h"
#include "api/schema/decode.h"
#include "api/schema/defaulting.h"
#include "api/schema/merge_duplicates.h"
#include "json/reader.h"
#include "json/writer.h"

namespace api = portcullis::api;
namespace json = portcullis::json;

namespace {

struct World {
  std::shared_ptr<const api::catalog::Catalog> catalog = api::catalog::Catalog::BuiltIn({}).value();
  std::shared_ptr<const api::schema::Defaulter> defaulter =
      api::schema::Defaulter::BuiltIn().value();
};

void Check(const World& world, const api::GroupVersionKind& kind, std::string_view text) {
  json::Arena arena;
  json::ParseOptions options;
  options.max_depth = 200;
  const auto input = json::Parse(arena, text, options);
  if (!input.ok()) return;
  const api::schema::Schema& schema = *world.catalog->FindSchema(kind);
  std::vector<std::string> unknown;
  api::schema::DecodeOptions decode;
  decode.unknown_fields = &unknown;
  const auto once = api::schema::Decode(arena, schema, *input, decode);
  if (!once.ok()) {
    if (once.status().message().empty()) std::abort();
    return;
  }
  const auto twice = api::schema::Decode(arena, schema, *once);
  if (!twice.ok() || json::ToString(*twice) != json::ToString(*once)) std::abort();
  bool repeats = false;
  options.keep_duplicates = true;
  options.repeats_keys = &repeats;
  const auto whole = json::Parse(arena, text, options);
  if (!whole.ok()) std::abort();
  std::vector<std::string> strict_errors;
  const auto merged = api::schema::MergeDuplicates(arena, schema, *whole, &strict_errors);
  if (!repeats && !merged.ok()) std::abort();
  if (merged.ok()) {
    const auto decoded = api::schema::Decode(arena, schema, *merged);
    if (!decoded.ok()) std::abort();
    if (!repeats && json::ToString(*decoded) != json::ToString(*once)) std::abort();
  }
  const json::Value full = world.defaulter->Apply(arena, kind, *once);
  const json::Value again = world.defaulter->Apply(arena, kind, full);
  if (json::ToString(again) != json::ToString(full)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const World kWorld;
  if (size == 0) return 0;
  const api::GroupVersionKind kinds[] = {
      {"", "v1", "Pod"},
      {"apps", "v1", "StatefulSet"},
      {"", "v1", "Service"},
      {"autoscaling", "v2", "HorizontalPodAutoscaler"},
      {"admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration"},
      {"apiextensions.k8s.io", "v1", "CustomResourceDefinition"},
  };
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  Check(kWorld, kinds[data[0] % std::size(kinds)], text);
  return 0;
}
