// The other versions of the objects of a request, for managedFields: who wrote in another version
// owns fields of that one.
#pragma once

#include "api/patch/managed_fields.h"
#include "server/call.h"

namespace portcullis::server::rest {

// Lives no longer than the call. Confined to its thread.
class CallVersions final : public api::patch::Versions {
 public:
  explicit CallVersions(Call& call) : call_(call) {}
  base::Result<View> In(std::string_view api_version, json::Value object) const override;

 private:
  Call& call_;
};

}  // namespace portcullis::server::rest
