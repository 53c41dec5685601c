// SPDX-License-Identifier: Apache-2.0

// The plain text of a trace for terminals: one row a step, then one row a field.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace portcullis::admission {

// `document` is TraceDocument()'s, or one that was read from a file.
std::string TraceTable(json::Value document);

// Who a step of a document is of: "LimitRanger", "sidecar/sidecar.example.com", "policy/binding".
std::string TraceStepName(json::Value step);
// "spec.containers[0].image" for "/spec/containers/0/image".
std::string TraceFieldPath(std::string_view pointer);

// A row for each document: when, who, what, and what became of it.
std::string TraceListTable(json::Value documents);

}  // namespace portcullis::admission
