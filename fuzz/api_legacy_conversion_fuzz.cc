// SPDX-License-Identifier: Apache-2.0

// Any JSON as an object of each kind that Kubernetes has dropped: converted to the version that is
// stored, back and there again, it is the same, and so it is by way of every other version of the
// kind; a Scale likewise (docs/legacy.md).
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

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

bool AreEqual(json::Value a, json::Value b) {
  return json::ToString(a, {.sort_keys = true}) == json::ToString(b, {.sort_keys = true});
}

json::Value WithKind(json::Arena& arena, json::Value object, const api::GroupVersionKind& kind) {
  object =
      json::With(arena, object, "apiVersion", json::String(arena, kind.group_version().ToString()));
  return json::With(arena, object, "kind", json::String(arena, kind.kind));
}

// What bodies are is what comes back from the internal type: then every version shows it.
void CheckOtherVersions(const World& world, const api::catalog::ResourceInfo& resource,
                        json::Value stored, json::Arena& arena) {
  const auto internal = api::ThroughInternal(arena, stored, resource.storage_kind);
  if (!internal.ok()) return;
  for (const api::catalog::ResourceInfo* other : world.catalog->resources()) {
    if (other->storage_kind != resource.storage_kind || !other->legacy) continue;
    json::Value rounds[2] = {*internal, {}};
    for (json::Value& round : rounds) {
      if (&round != rounds) round = rounds[0];
      const auto shown = api::Convert(arena, round, other->kind);
      if (!shown.ok()) std::abort();
      const auto back = api::Convert(arena, *shown, resource.storage_kind);
      if (!back.ok()) std::abort();
      round = *back;
    }
    if (!AreEqual(rounds[0], rounds[1])) std::abort();
  }
}

void CheckScale(const World& world, const api::GroupVersionKind& kind, json::Value input,
                json::Arena& arena) {
  const api::GroupVersionKind current{"autoscaling", "v1", "Scale"};
  const api::schema::Schema* schema = world.catalog->FindSchema(kind);
  if (schema == nullptr) std::abort();
  const auto object = api::schema::Decode(arena, *schema, input);
  if (!object.ok() || !object->is_object()) return;
  const auto now = api::Convert(arena, WithKind(arena, *object, kind), current);
  if (!now.ok()) std::abort();
  const auto old = api::Convert(arena, *now, kind);
  if (!old.ok()) return;  // a text that is no selector
  const auto again = api::Convert(arena, *old, current);
  if (!again.ok() || !AreEqual(*now, *again)) std::abort();
}

void Check(const World& world, const api::catalog::ResourceInfo& resource, json::Value input,
           json::Arena& arena) {
  auto object = api::schema::Decode(arena, *resource.schema, input);
  if (!object.ok() || !object->is_object()) return;
  const json::Value typed = WithKind(arena, *object, resource.kind);
  const auto stored = api::Convert(arena, typed, resource.storage_kind);
  if (!stored.ok()) std::abort();
  const auto shown = api::Convert(arena, *stored, resource.kind);
  if (shown.ok()) {
    const auto again = api::Convert(arena, *shown, resource.storage_kind);
    if (!again.ok() || !AreEqual(*again, *stored)) std::abort();
  } else if (api::ThroughInternal(arena, *stored, resource.storage_kind).ok()) {
    std::abort();
  }
  CheckOtherVersions(world, resource, *stored, arena);
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
    if (resource->legacy && resource->schema != nullptr) Check(kWorld, *resource, *input, arena);
  }
  constexpr std::pair<const char*, const char*> kScales[] = {
      {"extensions", "v1beta1"}, {"apps", "v1beta1"}, {"apps", "v1beta2"}};
  for (const auto& [group, version] : kScales) {
    CheckScale(kWorld, {group, version, "Scale"}, *input, arena);
  }
  return 0;
}
