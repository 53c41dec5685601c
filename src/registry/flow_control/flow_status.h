// SPDX-License-Identifier: Apache-2.0

// What FlowSchemas and PriorityLevelConfigurations have in common (pkg/apis/flowcontrol/validation): the
// status, and the objects that must be as they are.
#pragma once

#include "registry/kind_table.h"

namespace portcullis::registry {

// The mandatory objects `exempt` and `catch-all` keep their specs, but for what exempt requests are given.
// `kind`: what the OpenAPI name of the spec's type begins with.
void CheckMandatory(const Context& ctx, std::string_view kind, json::Value object,
                    FieldErrors& errors);

void CheckFlowConditions(json::Value conditions, FieldErrors& errors);

// A row's `validate_update`, made of its `validate`.
template <Check kCheck>
void ValidateFlowUpdate(const Context& ctx, json::Value object, json::Value, FieldErrors& errors) {
  if (ctx.subresource.empty()) return kCheck(ctx, object, errors);
  CheckFlowConditions(object["status"]["conditions"], errors);
}

}  // namespace portcullis::registry
