// SPDX-License-Identifier: Apache-2.0

// metadata.managedFields: who owns which field, and server-side apply on top of it
// (KEP-555; Kubernetes documentation, "Server-Side Apply").
//
// Every write goes through one of the two functions: Track() for create, update and patch, Apply()
// for apply patches. Both take the object as it is stored (null for a new one) and give the object
// to go on with, its managedFields brought up to date.
#pragma once

#include <string>
#include <string_view>

#include "api/patch/field_set.h"
#include "api/schema/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::patch {

class FieldsCache;

// Objects in the versions of their kind: who wrote in another version owns fields of that one.
class Versions {
 public:
  virtual ~Versions() = default;
  struct View {
    json::Value object;
    const schema::Schema* schema = nullptr;  // null: the version is gone
    bool resets = true;                      // Writer::reset holds for the version, too
  };
  // The object, of any version, in this one. Fails if it cannot be converted.
  virtual base::Result<View> In(std::string_view api_version, json::Value object) const = 0;
};

// Who writes what. Views outlive the call.
struct Writer {
  std::string_view manager;      // ?fieldManager=, else the first word of User-Agent
  std::string_view api_version;  // of the request: "apps/v1"
  std::string_view subresource;  // "" for the resource itself
  std::string_view now;          // RFC 3339, see base::FormatTime
  // Fields that a write through this endpoint cannot change (status through the resource itself,
  // spec through its status): the write owns none of them. May be null.
  const FieldSet* reset = nullptr;
  // Null: all versions are taken for the same.
  const Versions* versions = nullptr;
  // What Track() gets as `next`, before it was decoded; null if not known (see Compare()).
  json::Value sent = {};
  // Null, or of the engine: the kind is built-in, and a new object's `live` is what {} is decoded to.
  FieldsCache* cache = nullptr;
  // May be null. Set to whether an entry has got the time `now`.
  bool* noted = nullptr;
};

// The name a request without fieldManager goes by: User-Agent up to the first '/', without
// unprintable characters, as many whole ones as fit into 128 bytes; "unknown" if none is left
// (apiserver, handlers/create.go).
std::string ManagerFromUserAgent(std::string_view user_agent);

// After an ordinary write. `next` is what the client made of `live`.
json::Value Track(json::Arena& arena, const schema::Schema& schema, json::Value live,
                  json::Value next, const Writer& writer);

enum class Force { kNo, kYes };

// The result of applying `config` to `live`. Fails with kConflict and Kubernetes' causes
// (FieldManagerConflict) unless forced, with code 500 if `config` does not fit the schema.
// If nothing changes the result equals `live`.
base::Result<json::Value> Apply(json::Arena& arena, const schema::Schema& schema, json::Value live,
                                json::Value config, const Writer& writer, Force force);

// What admission made of metadata.managedFields: OK if it can be understood.
base::Status CheckManagedFields(json::Value object);

}  // namespace portcullis::api::patch
