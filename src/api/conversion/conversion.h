// Conversion of built-in objects between the versions a kind is served in, and of custom resources
// with strategy None. What differs between versions beyond apiVersion is data:
// src/api/data/conversions.rules (docs/internals/defaults.md).
#pragma once

#include <string_view>

#include "api/names.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api {

// True if objects of `from` can be written as `to` by Convert (same group and kind, or one of the
// kinds served in two groups, e.g. v1 Event and events.k8s.io/v1 Event).
bool IsConvertible(const GroupVersionKind& from, const GroupVersionKind& to);

// The object with `to` as its apiVersion and kind and its fields moved where versions differ. The
// object itself if it already is of that version.
base::Result<json::Value> Convert(json::Arena& arena, json::Value object,
                                  const GroupVersionKind& to);

}  // namespace portcullis::api
