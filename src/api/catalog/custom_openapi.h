// SPDX-License-Identifier: Apache-2.0

// OpenAPI of custom resources, in the form that kubectl and client generators need: the schemas
// with their kinds, and the operations that tell which query parameters the server takes
// (apiextensions-apiserver, pkg/controller/openapi).
#pragma once

#include "api/catalog/catalog.h"
#include "json/value.h"

namespace portcullis::api::catalog {

// Confined to one thread; lives no longer than the arena.
class CustomDocument {
 public:
  // `taken`: see CustomDefinitionName().
  CustomDocument(json::Arena& arena, bool v3, json::Value taken = {})
      : arena_(arena), v3_(v3), taken_(taken) {}

  // `props`: the openAPIV3Schema of the resource's version; null if there is none.
  void AddSchemas(const ResourceInfo& info, json::Value props, json::ObjectBuilder& schemas);
  void AddPaths(const ResourceInfo& info, json::ObjectBuilder& paths);

 private:
  json::Value Typed(std::string_view type);
  json::Value Described(json::Value schema, std::string_view description);
  json::Value Ref(std::string_view name);
  // A reference with something beside it, as the version of OpenAPI allows it.
  json::Value DescribedRef(std::string_view name, std::string_view description);
  json::Value KindValue(const GroupVersionKind& kind);
  json::Value Kinds(const GroupVersionKind& kind);
  json::Value WithSelectableFields(const ResourceInfo& info, json::Value schema);
  json::Value ObjectSchema(const ResourceInfo& info, json::Value props);
  json::Value ListSchema(const ResourceInfo& info, std::string_view item);
  // Without what kubectl cannot read in version 2.
  json::Value ForV2(json::Value props);
  // apiVersion, kind and metadata where objects are embedded.
  json::Value WithEmbedded(json::Value props);
  json::Value MapMembers(json::Value props, json::Value (CustomDocument::*function)(json::Value));
  json::Value Query(std::string_view name, std::string_view type);
  json::Value Operation(const ResourceInfo& info, std::string_view action);

  json::Arena& arena_;
  const bool v3_;
  const json::Value taken_;
};

}  // namespace portcullis::api::catalog
