// SPDX-License-Identifier: Apache-2.0

// ValidateValue checks a value against a JSONSchemaProps object of a CustomResourceDefinition, as
// apiextensions-apiserver does with kube-openapi's validator: types, limits, patterns, formats,
// enumerations, allOf/anyOf/oneOf/not, and the uniqueness that list types promise.
//
// Names in messages are paths from the root of the value ("spec.list[0].a in body must be of type
// integer: \"string\"").
#pragma once

#include <map>
#include <string>

#include "api/field_error.h"
#include "api/field_path.h"
#include "json/value.h"

namespace portcullis::api::schema {

struct Constraints;

// Appends all that is wrong, in the order of the schema. `old` is what the value replaces, if
// anything: what has not changed since is not complained about (CRDValidationRatcheting).
void ValidateValue(const Constraints& schema, json::Value value, const FieldPath& path,
                   FieldErrors& errors, const json::Value* old = nullptr);
// Whether the value is what it was, as far as its schema tells what belongs to what: elements of
// x-kubernetes-list-type map may have changed places, and an object with a field that the schema
// does not name is never the same (k8s.io/apiserver, pkg/cel/common/equality.go).
bool IsUnchanged(json::Value props, json::Value value, json::Value old);
// The elements of an older list, to look up by the keys of a newer one's. Borrows the list.
class Counterparts {
 public:
  // Without `old`, or where the schema's list type is not map, no element has a counterpart.
  Counterparts(json::Value props, const json::Value* old);
  // The first element of the older list with the same keys, or null.
  const json::Value* Of(json::Value element) const;

 private:
  std::string KeysOf(json::Value element) const;

  json::Value keys_;
  std::map<std::string, const json::Value*> elements_;
};
// Elements of x-kubernetes-list-type set and map that occur twice.
void ValidateListTypes(json::Value props, json::Value value, const FieldPath& path,
                       FieldErrors& errors);

}  // namespace portcullis::api::schema
