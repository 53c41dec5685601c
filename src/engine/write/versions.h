// SPDX-License-Identifier: Apache-2.0

// The other versions of the objects of a request, for managedFields: who wrote in another version
// owns fields of that one.
#pragma once

#include "api/patch/managed_fields.h"
#include "engine/operation.h"

namespace portcullis::engine {

// Lives no longer than the call. Confined to its thread.
class CallVersions final : public api::patch::Versions {
 public:
  explicit CallVersions(Operation& op) : op_(op) {}
  base::Result<View> In(std::string_view api_version, json::Value object) const override;

 private:
  bool Resets(const api::GroupVersion& version) const;

  Operation& op_;
};

}  // namespace portcullis::engine
