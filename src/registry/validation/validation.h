// Validation of the built-in kinds: everything an apiserver checks of an object besides its
// metadata, after mutating admission and before validating admission
// (k8s.io/kubernetes/pkg/apis/*/validation).
//
// One function pair per kind, found through the table in validation.cc; what is only "required",
// "one of", "at least" or "immutable" stands as rows of data in field_rules.cc. Errors come in
// Kubernetes' order with Kubernetes' texts. Pure functions of the object; thread-safe.
#pragma once

#include "api/field_error.h"
#include "json/value.h"
#include "registry/strategy.h"

namespace portcullis::registry {

// All that is wrong with a new object.
void ValidateKind(const Context& ctx, json::Value object, api::FieldErrors& errors);
// All that is wrong with an object that is to replace `old`, through the resource itself or the
// subresource ctx.subresource.
void ValidateKindUpdate(const Context& ctx, json::Value object, json::Value old,
                        api::FieldErrors& errors);

}  // namespace portcullis::registry
