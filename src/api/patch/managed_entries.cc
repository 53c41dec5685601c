// SPDX-License-Identifier: Apache-2.0

#include "api/patch/managed_entries.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "api/patch/fields_cache.h"
#include "api/patch/typed.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::api::patch {

using json::Value;

OwnedFields::OwnedFields(FieldSet set) : set_(std::make_shared<const FieldSet>(std::move(set))) {}

base::Result<OwnedFields> OwnedFields::FromJson(Value fields, const KnownSets& known) {
  OwnedFields out;
  if (known.cache != nullptr) out.set_ = known.cache->SetOf(*known.schema, fields);
  if (out.set_ == nullptr) return OwnedFields(TRY(FieldSet::FromJson(fields)));
  out.written_ = fields;
  out.reconciled_ = known.schema;
  return out;
}

Value OwnedFields::ToJson(json::Arena& arena) const {
  return written_.is_null() ? (*this)->ToJson(arena) : written_;
}

void OwnedFields::Update(const FieldSet& lost, const FieldSet& won) {
  const FieldSet& owned = **this;
  if (won.IsWithin(owned) && lost.Intersection(owned).IsWithin(won)) return;
  *this = owned.Difference(lost).Union(won);
}

void OwnedFields::Reconcile(const schema::Schema& schema) {
  if (reconciled_ == &schema) return;
  if (auto reconciled = Reconciled(schema, **this)) *this = *std::move(reconciled);
}

const FieldSet& OwnedFields::None() {
  static const FieldSet kNone;
  return kNone;
}

base::Result<Entries> DecodeEntries(Value list, const KnownSets& known) {
  Entries out;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> places;
  for (const Value& item : list.elements()) {
    Entry entry{.manager = std::string(item["manager"].AsString()),
                .operation = std::string(item["operation"].AsString()),
                .api_version = std::string(item["apiVersion"].AsString()),
                .subresource = std::string(item["subresource"].AsString()),
                .time = std::string(item["time"].AsString()),
                .fields = {}};
    if (entry.operation != kApplied && entry.operation != kUpdated) {
      return base::Status(base::Reason::kUnknown,
                          base::StrCat("error decoding managed fields: invalid operation: ",
                                       base::GoQuote(entry.operation)));
    }
    if (entry.api_version.empty()) {
      return base::Status(base::Reason::kUnknown, "apiVersion must not be empty");
    }
    if (const std::string_view type = item["fieldsType"].AsString(); type != "FieldsV1") {
      return base::Status(base::Reason::kUnknown,
                          type.empty()
                              ? std::string("missing fieldsType in managed fields entry")
                              : base::StrCat("invalid fieldsType in managed fields entry: ", type));
    }
    entry.fields = TRY(OwnedFields::FromJson(
        item["fieldsV1"], entry.api_version == known.api_version ? known : KnownSets()));
    // What Entry::IsSameAs() compares.
    const auto [place, is_new] =
        places.try_emplace({entry.manager, entry.operation, entry.subresource,
                            entry.is_apply() ? std::string() : entry.api_version},
                           out.size());
    if (is_new) {
      out.push_back(std::move(entry));
    } else {
      out[place->second] = std::move(entry);
    }
  }
  return out;
}

Value EncodeEntry(json::Arena& arena, const Entry& entry, Value fields) {
  json::ObjectBuilder item(arena);
  if (!entry.manager.empty()) item.Set("manager", entry.manager);
  item.Set("operation", entry.operation);
  item.Set("apiVersion", entry.api_version);
  if (!entry.time.empty()) item.Set("time", entry.time);
  item.Set("fieldsType", "FieldsV1");
  item.Set("fieldsV1", fields);
  if (!entry.subresource.empty()) item.Set("subresource", entry.subresource);
  return item.Build();
}

Value EncodeEntries(json::Arena& arena, Entries& entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.operation, a.time, a.manager, a.api_version, a.subresource) <
           std::tie(b.operation, b.time, b.manager, b.api_version, b.subresource);
  });
  json::ArrayBuilder out(arena);
  for (const Entry& entry : entries) {
    out.Add(EncodeEntry(arena, entry, entry.fields.ToJson(arena)));
  }
  return out.Build();
}

Value WithEntries(json::Arena& arena, Value object, Entries& entries) {
  entries.erase(std::remove_if(entries.begin(), entries.end(),
                               [](const Entry& entry) { return entry.fields->empty(); }),
                entries.end());
  if (entries.empty()) return json::RemovePath(arena, object, {"metadata", "managedFields"});
  return json::SetPath(arena, object, {"metadata", "managedFields"}, EncodeEntries(arena, entries));
}

}  // namespace portcullis::api::patch
