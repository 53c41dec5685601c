// SPDX-License-Identifier: Apache-2.0

// The status of FlowSchemas and PriorityLevelConfigurations (pkg/apis/flowcontrol/validation).
#pragma once

#include "registry/kind_table.h"

namespace portcullis::registry {

void CheckFlowConditions(json::Value conditions, FieldErrors& errors);

// A row's `validate_update`, made of its `validate`.
template <Check kCheck>
void ValidateFlowUpdate(const Context& ctx, json::Value object, json::Value, FieldErrors& errors) {
  if (ctx.subresource.empty()) return kCheck(ctx, object, errors);
  CheckFlowConditions(object["status"]["conditions"], errors);
}

}  // namespace portcullis::registry
