// Validation of custom objects against the structural schema of their definition, with the texts of
// k8s.io/kube-openapi/pkg/validation. Rules in CEL (x-kubernetes-validations) are not looked at
// here: this module knows no CEL.
#pragma once

#include "api/field_error.h"
#include "api/schema/schema.h"
#include "json/value.h"

namespace portcullis::api::schema {

// All that is wrong with a new object. `schema` is ResourceInfo::schema of a custom resource.
FieldErrors ValidateCustomObject(const Schema& schema, json::Value object);
// The same of an object that replaces `old`: what has not changed is not complained about
// (CRDValidationRatcheting).
FieldErrors ValidateCustomObjectUpdate(const Schema& schema, json::Value object, json::Value old);

}  // namespace portcullis::api::schema
