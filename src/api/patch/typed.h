// SPDX-License-Identifier: Apache-2.0

// Objects seen through their schema, as server-side apply sees them: maps and structs are merged
// field by field, keyed lists and sets element by element, everything else (scalars, atomic lists
// and maps) is one leaf. What an unset list type means is Kubernetes' choice: atomic.
//
// A null schema means "not described": maps are merged, lists are atomic.
#pragma once

#include <optional>

#include "api/patch/field_set.h"
#include "api/schema/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::patch {

// Whether the schema describes nothing: values of any type may be there, and be merged. In a custom
// resource (whose schemas have no Go type) that includes x-kubernetes-int-or-string.
bool TakesAny(const schema::Schema* schema);

// OK, or what is wrong with a configuration that a client wants to apply, as in
// `.spec.replicas: expected numeric (int or float), got string`.
base::Status CheckTyped(const schema::Schema& schema, json::Value object);
// The same for an object that is stored, in which several elements may have one name.
base::Status CheckTypedStored(const schema::Schema& schema, json::Value object);
// Whether server-side apply can read a stored object, which of a built-in kind is mostly so.
bool Fits(const schema::Schema& schema, json::Value object);
// The same for an object that a program of Go made and which may have values in it that are no
// JSON: each is a ForeignValue() and wrong wherever it stands.
base::Status CheckTypedNative(const schema::Schema& schema, json::Value object);
// Its Go type, and how Go prints it with %v and with %#v.
json::Value ForeignValue(json::Arena& arena, std::string_view go_type, std::string_view text,
                         std::string_view literal);

// The fields that an applied configuration claims.
FieldSet FieldsOf(const schema::Schema* schema, json::Value object);

// The leaves (and new or vanished containers) in which two objects differ.
struct Comparison {
  FieldSet added;
  FieldSet modified;
  FieldSet removed;
  // An element of a keyed list or set, where the objects differ, has no name there: Kubernetes does
  // not track who owns what of such an object.
  bool nameless = false;
};
// `sent` is `after` before it was decoded, or null: Go tells an empty list or map in an element of an
// atomic list from an absent one, and how a quantity in it is written, which `after` has lost.
Comparison Compare(const schema::Schema* schema, json::Value before, json::Value after,
                   json::Value sent = {});

// What a writer does not own at a place and below: what `reset` prunes and `stripped` subtracts; null for
// nothing.
struct NotOwned {
  const FieldSet* reset = nullptr;
  const FieldSet* stripped = nullptr;

  bool none() const { return reset == nullptr && stripped == nullptr; }
  bool IsReset(const PathElement& step) const { return reset != nullptr && reset->Has(step); }
  bool IsStripped(const PathElement& step) const {
    return stripped != nullptr && stripped->Has(step);
  }
  NotOwned Below(const PathElement& step) const {
    return {reset == nullptr ? nullptr : reset->Below(step),
            stripped == nullptr ? nullptr : stripped->Below(step)};
  }
};

// FieldsV1 of a new object: what Compare() says is added or modified and is owned. `empty` is what the object was before, of which all lists
// are empty. Without a FieldSet in between, as most writes are creates. Nothing if it takes one, or
// for what is Comparison::nameless.
std::optional<json::Value> FieldsOfNew(json::Arena& arena, const schema::Schema& schema,
                                       json::Value empty, json::Value object, json::Value sent,
                                       const NotOwned& not_owned);

// `live` with the fields of `applied` put over it.
json::Value MergeTyped(json::Arena& arena, const schema::Schema* schema, json::Value live,
                       json::Value applied);

// `object` without the fields of the set.
json::Value RemoveFields(json::Arena& arena, const schema::Schema* schema, json::Value object,
                         const FieldSet& fields);

// The fields as the schema has them by now: of a list or map that has become atomic since they were
// written, it is owned itself, and nothing in it. Nothing if that changes no field.
std::optional<FieldSet> Reconciled(const schema::Schema& schema, const FieldSet& fields);

// The set with every struct field on the way to an owned path made a member too.
FieldSet WithNamedFields(const schema::Schema* schema, const FieldSet& fields);

}  // namespace portcullis::api::patch
