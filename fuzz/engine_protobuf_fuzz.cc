// SPDX-License-Identifier: Apache-2.0

// Bodies in Kubernetes' protobuf form, and what is read of them written again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/catalog/catalog.h"
#include "engine/codec/protobuf.h"
#include "json/value.h"

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
  const auto object =
      portcullis::engine::ReadProtobufObject(arena, kind, envelope->raw, catalog->FindSchema(kind));
  std::string written;
  if (!object.ok() || !portcullis::engine::WriteProtobuf(*object, written).ok()) return 0;
  if (!portcullis::engine::ReadProtobufEnvelope(written).ok()) std::abort();
  return 0;
}
