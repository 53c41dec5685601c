// SPDX-License-Identifier: Apache-2.0

// What the server itself does to the metadata of every object that is written
// (k8s.io/apiserver/pkg/registry/rest: BeforeCreate, BeforeUpdate).
#pragma once

#include <string_view>

#include "api/patch/field_set.h"
#include "api/patch/managed_fields.h"
#include "base/status.h"
#include "engine/operation.h"
#include "engine/write/versions.h"
#include "json/value.h"
#include "registry/strategy.h"

namespace portcullis::engine {

// Before admission: what clients may not set on create goes, the request's namespace is filled in.
base::Result<json::Value> PrepareMetadata(Operation& op, json::Value object);
// That the body speaks of the object of the URL; the namespace is filled in.
base::Result<json::Value> MatchNamespace(Operation& op, json::Value object);
base::Status MatchName(std::string_view url_name, json::Value object);

// Entries of ownerReferences that are equal to an earlier one go, with a warning.
enum class When { kBeforeAdmission, kAfterAdmission };
json::Value DeduplicateOwners(Operation& op, json::Value object, When when);

// uid, creationTimestamp and, for generateName, the name.
json::Value AssignIdentity(Operation& op, json::Value object);
// A new name for another attempt.
json::Value RegenerateName(Operation& op, json::Value object);

// What an update cannot change, from the stored object.
json::Value KeepSystemFields(Operation& op, json::Value object, json::Value old);

// The context of strategies.
registry::Context StrategyContext(Operation& op, std::string_view name);
const registry::Strategy& StrategyOf(const Operation& op);

// Who writes fields through a request, and all that api::patch::Writer refers to.
class FieldWriter {
 public:
  // `kind` is what is written: the resource's own kind, or what a subresource shows of it, of which
  // there are no other versions and which has no fields of other endpoints.
  FieldWriter(Operation& op, std::string_view manager, const api::GroupVersionKind& kind);
  FieldWriter(const FieldWriter&) = delete;
  FieldWriter& operator=(const FieldWriter&) = delete;

  const api::patch::Writer& writer() const { return writer_; }

 private:
  const std::string api_version_;
  const std::string now_;
  const api::patch::FieldSet reset_;
  const CallVersions versions_;
  api::patch::Writer writer_;
};

// managedFields after an ordinary write, unless the kind has no schema.
json::Value TrackFields(Operation& op, json::Value live, json::Value next,
                        std::string_view manager);
// The object as the strategy has prepared it. If only the times in managedFields tell it from the live one,
// it keeps those of the live one (registry/store.go, IgnoreManagedFieldsTimestampsTransformer).
json::Value KeepTimes(Operation& op, json::Value object, json::Value live);
// If admission has made managedFields unreadable they become those of `before`, with a warning.
json::Value RestoreManagedFields(Operation& op, json::Value object, json::Value before);

}  // namespace portcullis::engine
