// SPDX-License-Identifier: Apache-2.0

// What a client demands of the object it writes: that it has a name, a uid, a resourceVersion.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "engine/operation.h"
#include "engine/write/write.h"
#include "json/value.h"
#include "store/object.h"

namespace portcullis::engine {

// That an object can be kept under the name: it is there and a segment of a path.
base::Status CheckNameParameter(std::string_view name);

// metadata.resourceVersion of the body of an update.
struct RequestedVersion {
  bool given = false;
  std::int64_t number = 0;
};
base::Result<RequestedVersion> ReadRequestedVersion(json::Value object);

// Whether the object names the version it wants to replace.
bool HasVersion(json::Value object);

// That `wanted`, if anything, is the uid of the live object (null: of none).
base::Status CheckUid(const Operation& op, std::string_view name, std::string_view wanted,
                      json::Value live);

// That `wanted`, which may be empty, is the resourceVersion of the live object.
base::Status CheckVersion(const Operation& op, const store::Key& key, std::string_view wanted,
                          json::Value live);

// A uid is a precondition; it cannot hold when no object is stored.
base::Status CheckNoUid(const Operation& op, const UpdateSpec& spec, json::Value object);

}  // namespace portcullis::engine
