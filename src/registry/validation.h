// Validation of the built-in kinds: everything an apiserver checks of an object besides its
// metadata, after mutating admission and before validating admission
// (k8s.io/kubernetes/pkg/apis/*/validation).
//
// What a kind's row in the table of kinds says: its functions, then its rules about single fields.
// Errors come in Kubernetes' order with Kubernetes' texts. Pure functions of the object;
// thread-safe.
#pragma once

#include "api/field_error.h"
#include "json/value.h"
#include "registry/strategy.h"

namespace portcullis::registry {

struct Kind;

// All that is wrong with a new object. `kind` may be null: then only what holds for all kinds.
void ValidateKind(const Kind* kind, const Context& ctx, json::Value object,
                  api::FieldErrors& errors);
// All that is wrong with an object that is to replace `old`, through the resource itself or the
// subresource ctx.subresource.
void ValidateKindUpdate(const Kind* kind, const Context& ctx, json::Value object, json::Value old,
                        api::FieldErrors& errors);

}  // namespace portcullis::registry
