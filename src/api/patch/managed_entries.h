// SPDX-License-Identifier: Apache-2.0

// The entries of metadata.managedFields: one per manager, operation, version and subresource, with
// the fields it owns. What managed_fields.h and scale_fields.h work on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/patch/field_set.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::patch {

constexpr std::string_view kApplied = "Apply";
constexpr std::string_view kUpdated = "Update";

struct Entry {
  std::string manager;
  std::string operation;
  std::string api_version;
  std::string subresource;
  std::string time;
  FieldSet fields;

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
base::Result<Entries> DecodeEntries(json::Value list);
// With these FieldsV1 instead of its own.
json::Value EncodeEntry(json::Arena& arena, const Entry& entry, json::Value fields);
// Sorted as Kubernetes sorts them, which brings `entries` into that order.
json::Value EncodeEntries(json::Arena& arena, Entries& entries);
// The object with these entries, but those that own nothing; without managedFields if none is left.
json::Value WithEntries(json::Arena& arena, json::Value object, Entries& entries);

}  // namespace portcullis::api::patch
