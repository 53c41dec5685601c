// SPDX-License-Identifier: Apache-2.0

// The checks of ObjectMeta that all kinds share (k8s.io/apimachinery/pkg/api/validation,
// ValidateObjectMeta and ValidateObjectMetaUpdate), with their texts.
#pragma once

#include <string_view>

#include "api/field_error.h"
#include "api/field_path.h"
#include "json/value.h"
#include "registry/strategy.h"

namespace portcullis::registry {

void ValidateObjectMeta(const Context& ctx, json::Value object, bool namespaced,
                        const Strategy& strategy, api::FieldErrors& errors);
// The metadata (at `path`) of a resource that is part of another object: it needs no name.
void ValidateEmbeddedObjectMeta(json::Value object, const api::FieldPath& path,
                                api::FieldErrors& errors);
// What is checked of the names of every new object when nothing else is wrong with it.
void ValidateNames(json::Value object, api::FieldErrors& errors);
// All that an update checks of the metadata: what it checks of all kinds, and what the strategy says,
// with what that checks between. `object` has the resourceVersion it is to be stored against.
void ValidateObjectMetaUpdate(const Context& ctx, const Strategy& strategy, bool namespaced,
                              json::Value object, json::Value old, api::FieldErrors& errors);
// What an update checks of the metadata of all kinds.
void CheckMetadataUpdate(json::Value object, json::Value old, api::FieldErrors& errors);
// A manager of fields, that of a request's options or of an entry of managedFields.
void CheckFieldManager(std::string_view manager, const api::FieldPath& path,
                       api::FieldErrors& errors);
// Finalizers of most built-in kinds are qualified or standard ones.
void CheckFinalizersQualified(json::Value object, api::FieldErrors& errors);

}  // namespace portcullis::registry
