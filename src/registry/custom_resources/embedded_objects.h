// SPDX-License-Identifier: Apache-2.0

// Resources inside of custom resources: x-kubernetes-embedded-resource (apiextensions-apiserver,
// pkg/apiserver/schema/objectmeta).
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

// What is wrong with the resource `value` itself: its apiVersion, kind and metadata.
void CheckEmbeddedObject(json::Value value, const FieldPath& path, FieldErrors& errors);
// The same for every value below that the schema calls a resource, `value` included.
void CheckEmbeddedObjects(json::Value props, json::Value value, const FieldPath& path,
                          FieldErrors& errors);

}  // namespace portcullis::registry
