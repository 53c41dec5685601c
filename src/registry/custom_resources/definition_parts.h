// SPDX-License-Identifier: Apache-2.0

// Parts of a CustomResourceDefinition with rules of their own: conversion, selectable fields,
// deprecation (apiextensions-apiserver, pkg/apis/apiextensions/validation).
#pragma once

#include <functional>

#include "registry/validation/checks.h"

namespace portcullis::registry {

// Each schema of the versions, and each inside of one, before those inside of it.
void VisitSchemas(json::Value versions, const std::function<void(json::Value)>& visit);

// `old` is the stored definition, or null: what it got away with, the new one may keep.
void CheckConversion(json::Value definition, json::Value old, const FieldPath& path,
                     FieldErrors& errors);
// Of one version, its schema given.
void CheckSelectableFields(json::Value fields, json::Value schema, const FieldPath& path,
                           FieldErrors& errors);
void CheckDeprecationWarning(json::Value version, const FieldPath& path, FieldErrors& errors);

// Whether a base64 text holds certificates in PEM, as far as can be told without reading them.
bool IsCaBundle(std::string_view base64);

}  // namespace portcullis::registry
