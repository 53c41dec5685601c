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
  call.dry_run = options.dry_run;
  const MediaType type = TRY(NegotiateInput(call.headers().Get("Content-Type")));
  json::Value object = TRY(DecodeBody(call, call.kind(), call.body, type, options.validation));
  return MatchNamespace(call, object);
}

}  // namespace portcullis::server::rest
