#include "server/rest/subresource_body.h"

#include "server/codec.h"
#include "server/rest/system_fields.h"

namespace portcullis::server::rest {

json::Value CreatedStatus(json::Arena& arena) {
  return json::ObjectBuilder(arena)
      .Set("kind", "Status")
      .Set("apiVersion", "v1")
      .Set("metadata", json::MakeObject(arena, {}))
      .Set("status", "Success")
      .Set("code", 201)
      .Build();
}

base::Result<json::Value> ReadSubresourceBody(Call& call, WriteOptions& options) {
  options = TRY(ReadWriteOptions(call, WriteKind::kCreate));
  return MatchNamespace(call, TRY(DecodeRequest(call, options.validation)));
}

}  // namespace portcullis::server::rest
