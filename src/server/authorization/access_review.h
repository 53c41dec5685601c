// SPDX-License-Identifier: Apache-2.0

// SubjectAccessReviews as authorization webhooks and their match conditions see a question
// (k8s.io/apiserver/plugin/pkg/authorizer/webhook).
#pragma once

#include "authz/authorizer.h"
#include "json/value.h"

namespace portcullis::server::authorization {

// The spec of a v1 review, without empty members, in Go's order.
json::Value ReviewSpec(json::Arena& arena, const authz::Attributes& attributes);

// The same as match conditions see it: with every text, also empty ones.
json::Value ConditionSpec(json::Arena& arena, json::Value spec);

}  // namespace portcullis::server::authorization
