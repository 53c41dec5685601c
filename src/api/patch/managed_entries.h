// SPDX-License-Identifier: Apache-2.0

// The entries of metadata.managedFields: one per manager, operation, version and subresource, with
// the fields it owns. What managed_fields.h and scale_fields.h work on.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/patch/field_set.h"
#include "api/schema/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::patch {

class FieldsCache;

// Where DecodeEntries() may find sets that were read before, of entries of one version.
struct KnownSets {
  FieldsCache* cache = nullptr;  // null: nowhere
  const schema::Schema* schema = nullptr;
  std::string_view api_version;
};

// The fields of one entry. Most writes leave most entries as they are: what FieldsCache knows is neither read nor
// written again until it changes.
class OwnedFields {
 public:
  OwnedFields() = default;
  OwnedFields(FieldSet set);  // NOLINT(google-explicit-constructor)
  static base::Result<OwnedFields> FromJson(json::Value fields, const KnownSets& known);
  json::Value ToJson(json::Arena& arena) const;

  const FieldSet& operator*() const { return set_ != nullptr ? *set_ : None(); }
  const FieldSet* operator->() const { return &**this; }
  // Takes `lost` away, then adds `won`.
  void Update(const FieldSet& lost, const FieldSet& won);
  // See Reconciled().
  void Reconcile(const schema::Schema& schema);

 private:
  static const FieldSet& None();

  std::shared_ptr<const FieldSet> set_;  // null: none
  // If the cache knows it: its FieldsV1, and the schema by which there is nothing to reconcile.
  json::Value written_;
  const schema::Schema* reconciled_ = nullptr;
};

constexpr std::string_view kApplied = "Apply";
constexpr std::string_view kUpdated = "Update";

struct Entry {
  std::string manager;
  std::string operation;
  std::string api_version;
  std::string subresource;
  std::string time;
  OwnedFields fields;

  bool is_apply() const { return operation == kApplied; }
  // The same writer in the same role. An applier is the same in every version.
  bool IsSameAs(const Entry& other) const {
    return manager == other.manager && operation == other.operation &&
           subresource == other.subresource && (is_apply() || api_version == other.api_version);
  }
};
using Entries = std::vector<Entry>;

// Of two entries that say they are the same writer the later one counts. Fails with Kubernetes'
// texts if an entry cannot be understood.
base::Result<Entries> DecodeEntries(json::Value list, const KnownSets& known = {});
// With these FieldsV1 instead of its own.
json::Value EncodeEntry(json::Arena& arena, const Entry& entry, json::Value fields);
// Sorted as Kubernetes sorts them, which brings `entries` into that order.
json::Value EncodeEntries(json::Arena& arena, Entries& entries);
// The object with these entries, but those that own nothing; without managedFields if none is left.
json::Value WithEntries(json::Arena& arena, json::Value object, Entries& entries);

}  // namespace portcullis::api::patch
