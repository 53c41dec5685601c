// SPDX-License-Identifier: Apache-2.0

// Who writes a policy with parameters must be allowed to read them: a policy could tell what is in
// them (kubernetes/pkg/registry/admissionregistration, authz.go of each kind).
#pragma once

#include <string>

#include "api/field_error.h"
#include "json/value.h"
#include "registry/admission/admission_policy_validation.h"
#include "registry/strategy.h"

namespace portcullis::registry {

// Forbidden at `spec.paramKind` unless the user may get all its objects. Members of system:masters
// and policies that keep their paramKind are not asked about.
void AuthorizeParamKind(const Context& ctx, json::Value policy, json::Value old,
                        api::FieldErrors& errors);

// Forbidden at `spec.paramRef` unless the user may get (by name) or list (by selector) the objects
// that the binding refers to, of the kind its policy names.
void AuthorizeParamRef(const Context& ctx, json::Value binding, PolicyKind kind,
                       api::FieldErrors& errors);

// As Go's %v prints a *user.DefaultInfo: `&{alice 42 [devs] map[scope:[a b]]}`.
std::string GoUserText(const api::UserInfo& user);

}  // namespace portcullis::registry
