// SPDX-License-Identifier: Apache-2.0

// Bodies in Kubernetes' protobuf form, and what is read of them written again, and decoded once more.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/catalog/catalog.h"
#include "api/schema/decode.h"
#include "engine/codec/protobuf.h"
#include "json/value.h"
#include "json/writer.h"

namespace {

namespace api = portcullis::api;
namespace json = portcullis::json;

using api::schema::Kind;

// What is read by the schema has "0" for a quantity without a text behind a pointer, as Go does
// (engine/codec/protobuf.h); decoding is given a null and leaves the field out. Unions hold no quantities.
json::Value WithoutZeroPointers(json::Arena& arena, const api::schema::Schema& schema,
                                json::Value value) {
  if (schema.kind == Kind::kStruct && value.is_object()) {
    json::ObjectBuilder object(arena);
    for (const json::Member& member : value.members()) {
      const api::schema::Field* const field = schema.FindField(member.name(), member.hash);
      if (field == nullptr) std::abort();
      const bool is_quantity = field->schema->kind == Kind::kQuantity;
      if (field->pointer && is_quantity && member.value.AsString() == "0") continue;
      object.Set(member.name(), WithoutZeroPointers(arena, *field->schema, member.value));
    }
    return object.Build();
  }
  if (schema.element == nullptr || schema.kind == Kind::kUnion) return value;
  if (value.is_array()) {
    json::ArrayBuilder list(arena);
    for (const json::Value& element : value.elements()) {
      list.Add(WithoutZeroPointers(arena, *schema.element, element));
    }
    return list.Build();
  }
  if (!value.is_object()) return value;
  json::ObjectBuilder map(arena);
  for (const json::Member& member : value.members()) {
    map.Set(member.name(), WithoutZeroPointers(arena, *schema.element, member.value));
  }
  return map.Build();
}

// What is read by a schema is what decoding makes of what is read without it.
void CheckAgainstDecoding(json::Arena& arena, const api::GroupVersionKind& kind,
                          std::string_view raw, const api::schema::Schema& schema,
                          json::Value object, const api::schema::Decoded& met) {
  const auto plain = portcullis::engine::ReadProtobufObject(arena, kind, raw, &schema);
  if (!plain.ok()) return;
  api::schema::Decoded met_before;
  api::schema::DecodeOptions options;
  options.met = &met_before;
  const auto before = api::schema::Decode(arena, schema, *plain, options);
  if (!before.ok()) return;
  // A list that a later part replaces may be met by one of both only.
  if ((met_before.empty_lists && !met.empty_lists) || (met_before.any && !met.any)) std::abort();
  if (json::ToString(object) == json::ToString(*before)) return;
  const std::string now_text = json::ToString(WithoutZeroPointers(arena, schema, object));
  if (now_text != json::ToString(WithoutZeroPointers(arena, schema, *before))) std::abort();
}

// What is read by a schema stays as it is if it is decoded by it.
void CheckForm(json::Arena& arena, const api::GroupVersionKind& kind, std::string_view raw,
               const api::schema::Schema& schema) {
  api::schema::Decoded met;
  const auto object = portcullis::engine::ReadProtobufObject(arena, kind, raw, &schema, &met);
  if (!object.ok()) return;
  const auto decoded = api::schema::Decode(arena, schema, *object);
  if (!decoded.ok() || json::ToString(*decoded) != json::ToString(*object)) std::abort();
  CheckAgainstDecoding(arena, kind, raw, schema, *object, met);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  portcullis::json::Arena arena;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto envelope = portcullis::engine::ReadProtobufEnvelope(body);
  if (!envelope.ok()) return 0;
  const auto version = portcullis::api::ParseGroupVersion(envelope->api_version);
  if (!version.ok()) return 0;
  const portcullis::api::GroupVersionKind kind{version->group, version->version,
                                               std::string(envelope->kind)};
  static const auto catalog = portcullis::api::catalog::Catalog::BuiltIn({}).value();
  const portcullis::api::schema::Schema* const schema = catalog->FindSchema(kind);
  if (schema != nullptr) CheckForm(arena, kind, envelope->raw, *schema);
  const auto object = portcullis::engine::ReadProtobufObject(arena, kind, envelope->raw, schema);
  std::string written;
  if (!object.ok() || !portcullis::engine::WriteProtobuf(*object, written).ok()) return 0;
  if (!portcullis::engine::ReadProtobufEnvelope(written).ok()) std::abort();
  return 0;
}
