// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/stored_protobuf.h"

#include <string>

#include "api/names.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/codec/protobuf.h"

namespace portcullis::engine {

base::Result<store::Encoded> ReadStoredProtobuf(const api::catalog::Catalog& catalog,
                                                std::string_view value) {
  const ProtobufEnvelope envelope = TRY(ReadProtobufEnvelope(value));
  const api::GroupVersion version = TRY(api::ParseGroupVersion(envelope.api_version));
  const api::GroupVersionKind kind{version.group, version.version, std::string(envelope.kind)};
  const api::catalog::ResourceInfo* resource = catalog.FindKind(kind);
  if (resource == nullptr) {
    return base::BadRequest(base::StrCat("no kind \"", envelope.kind,
                                         "\" is registered for version \"", envelope.api_version,
                                         "\""));
  }
  json::Arena arena;
  json::Value object = TRY(ReadProtobufObject(arena, kind, envelope.raw, resource->schema));
  object = Recanonicalize(catalog, arena, kind, object);
  return EncodeForStore(arena, AsStored(catalog, arena, kind, object), *resource);
}

}  // namespace portcullis::engine
