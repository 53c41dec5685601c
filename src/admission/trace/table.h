// SPDX-License-Identifier: Apache-2.0

// The plain text of a trace for terminals: one row a step, then one row a field.
#pragma once

#include <string>

#include "json/value.h"

namespace portcullis::admission {

// `document` is TraceDocument()'s, or one that was read from a file.
std::string TraceTable(json::Value document);

// A row for each document: when, who, what, and what became of it.
std::string TraceListTable(json::Value documents);

}  // namespace portcullis::admission
