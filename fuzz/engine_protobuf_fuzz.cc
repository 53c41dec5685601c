// Bodies in Kubernetes' protobuf form.

#include <cstddef>
#include <cstdint>
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
  static_cast<void>(portcullis::engine::ReadProtobufObject(arena, kind, envelope->raw,
                                                           catalog->FindSchema(kind)));
  return 0;
}
