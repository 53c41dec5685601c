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
  const json::Value body = TRY(DecodeRequest(call, options.validation));
  if (call.audit) call.audit->SetRequestObject(body);
  // Whose uid and resourceVersion say which object is meant.
  const bool means_one = call.info.subresource == "binding" || call.info.subresource == "token";
  return means_one ? MatchNamespace(call, body) : PrepareMetadata(call, body);
}

}  // namespace portcullis::server::rest
