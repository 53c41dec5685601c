// SPDX-License-Identifier: Apache-2.0

// The types that expressions see of objects whose schema is known: what the type checking of
// ValidatingAdmissionPolicies declares `object`, `oldObject` and `params` as.
//
// Fields carry escaped names; fields whose values have no type (quantities, arbitrary JSON) are
// not exposed, as in Kubernetes (apiserver/pkg/cel/common/schemas.go).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "api/schema/schema.h"
#include "cel/types.h"
#include "json/value.h"

namespace portcullis::kube_cel {

// Makes the fields of a type when they are asked for first. Confined to one thread.
class ObjectTypes final : public cel::TypeProvider {
 public:
  // `next` knows all other types; `object_meta` is the metadata of embedded resources. They and
  // the schemas outlive this.
  ObjectTypes(const cel::TypeProvider* next, const api::schema::Schema* object_meta)
      : next_(next), object_meta_(object_meta) {}

  // The type of objects with this schema; null if it is not exposed.
  const cel::Type* Add(const api::schema::Schema& schema, std::string name);

  const cel::Type* FindStruct(std::string_view name) const override;
  const cel::Type* FindField(const cel::Type& type, std::string_view field) const override;

 private:
  struct Struct {
    const api::schema::Schema* schema = nullptr;
    const Struct* parent = nullptr;
    bool known = false;  // fields have been made
    std::map<std::string, const cel::Type*, std::less<>> fields;
  };

  const cel::Type* TypeOf(const api::schema::Schema& schema, const std::string& name,
                          const Struct* parent) const;
  const cel::Type* StructType(const api::schema::Schema* schema, const std::string& name,
                              const Struct* parent) const;
  void MakeFields(Struct& type, const std::string& name) const;

  const cel::TypeProvider* const next_;
  const api::schema::Schema* const object_meta_;
  mutable json::Arena arena_;
  mutable std::map<std::string, Struct, std::less<>> structs_;
};

}  // namespace portcullis::kube_cel
