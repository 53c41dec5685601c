// SPDX-License-Identifier: Apache-2.0

#include "engine/subresources/subresource_body.h"

#include "engine/codec/codec.h"
#include "engine/write/system_fields.h"

namespace portcullis::engine {

json::Value CreatedStatus(json::Arena& arena) {
  return json::ObjectBuilder(arena)
      .Set("kind", "Status")
      .Set("apiVersion", "v1")
      .Set("metadata", json::MakeObject(arena, {}))
      .Set("status", "Success")
      .Set("code", 201)
      .Build();
}

base::Result<json::Value> DecodeSubresourceBody(Operation& op, const Input& input) {
  const json::Value body = TRY(DecodeInput(op, input));
  // Whose uid and resourceVersion say which object is meant.
  const bool means_one = op.subresource_name() == "binding" || op.subresource_name() == "token";
  return means_one ? MatchNamespace(op, body) : PrepareMetadata(op, body);
}

}  // namespace portcullis::engine
