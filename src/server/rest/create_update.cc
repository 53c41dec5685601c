// POST of an object and PUT.

#include "api/api_status.h"
#include "base/strings.h"
#include "server/codec.h"
#include "server/rest/verbs.h"
#include "server/rest/write.h"
#include "server/rest_options.h"

namespace portcullis::server::rest {

VerbResult Create(Call& call) {
  const WriteOptions options = TRY(ReadWriteOptions(call, WriteKind::kCreate));
  const json::Value object = TRY(DecodeRequest(call, options.validation));
  if (call.audit) call.audit->SetRequestObject(object);
  return WrittenReply(call, TRY(CreateObject(call, object, options)));
}

VerbResult Update(Call& call) {
  const WriteOptions options = TRY(ReadWriteOptions(call, WriteKind::kUpdate));
  const json::Value object = TRY(DecodeRequest(call, options.validation));
  if (call.audit) call.audit->SetRequestObject(object);
  TRY(MatchNameForUpdate(call, object));
  UpdateSpec spec;
  spec.name = call.info.name;
  spec.transform = [&](json::Value) -> base::Result<json::Value> { return object; };
  spec.create_if_absent = CreatesOnUpdate(call);
  return WrittenReply(call, TRY(UpdateObject(call, spec, options)));
}

}  // namespace portcullis::server::rest
