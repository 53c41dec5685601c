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

// What is read by a schema stays as it is if it is decoded by it.
void CheckForm(json::Arena& arena, const api::GroupVersionKind& kind, std::string_view raw,
               const api::schema::Schema& schema) {
  api::schema::Decoded met;
  const auto object = portcullis::engine::ReadProtobufObject(arena, kind, raw, &schema, &met);
  if (!object.ok()) return;
  const auto decoded = api::schema::Decode(arena, schema, *object);
  if (!decoded.ok() || json::ToString(*decoded) != json::ToString(*object)) std::abort();
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
