// SPDX-License-Identifier: Apache-2.0

// Resources inside of custom resources: x-kubernetes-embedded-resource (apiextensions-apiserver,
// pkg/apiserver/schema/objectmeta).
#pragma once

#include <string_view>

#include "registry/validation/checks.h"

namespace portcullis::registry {

inline constexpr std::string_view kEmbedded = "x-kubernetes-embedded-resource";

// Whether a field of a resource is one that every resource has.
inline bool IsMetaField(std::string_view name) {
  return name == "metadata" || name == "kind" || name == "apiVersion";
}

// What is wrong with the resource `value` itself: its apiVersion, kind and metadata.
void CheckEmbeddedObject(json::Value value, const FieldPath& path, FieldErrors& errors);
// The same for every value below that the schema calls a resource, `value` included.
void CheckEmbeddedObjects(json::Value props, json::Value value, const FieldPath& path,
                          FieldErrors& errors);

}  // namespace portcullis::registry
