// SPDX-License-Identifier: Apache-2.0

// The JSON form of a trace, described in docs/internals/trace.md: versioned, made once the operation
// has ended.
//
// What Secrets, tokens and token reviews hold is in no document: their values stand as "(hidden)",
// and texts that others have made of them (messages, warnings, annotations) are left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admission/trace/trace.h"
#include "api/names.h"
#include "json/value.h"

namespace portcullis::admission {

inline constexpr std::string_view kTraceVersion = "portcullis.dev/v1";

// What was asked for. Views live as long as the call.
struct TraceSubject {
  std::string_view id;
  std::string_view verb;  // "create"
  api::GroupVersionResource resource;
  std::string_view subresource;
  std::string_view ns;
  std::string_view name;
  std::string_view user;
  bool dry_run = false;
  std::vector<std::string> warnings;
};

struct TraceDocumentOptions {
  bool full = true;               // false: no values of fields, no object
  bool hides_config_maps = true;  // also the values of ConfigMaps
};

// kind AdmissionTrace. REQUIRES: trace.Finish() was called. Values live in `arena` and in that of
// the operation.
json::Value TraceDocument(json::Arena& arena, const Trace& trace, const TraceSubject& subject,
                          const TraceDocumentOptions& options);

}  // namespace portcullis::admission
