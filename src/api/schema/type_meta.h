// SPDX-License-Identifier: Apache-2.0

// The first look of Kubernetes' decoders at a file or a body: which kind and version it says it is of.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::schema {

// Whether `root` is an object (or null) whose apiVersion and kind, if there, are texts. Error:
// `couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of …`.
base::Status CheckTypeMeta(json::Value root);

// A parser's message about JSON, as that first look reports it.
base::Status TypeMetaError(std::string_view message);

// The message about a kind that a decoder does not know: `no kind "Pod" is registered for version "v2" in
// scheme "pkg/runtime/scheme.go:100"`. The scheme is named by the file of Kubernetes that makes it.
std::string NotRegistered(std::string_view kind, std::string_view version, std::string_view scheme);

// Reads JSON or YAML and checks as above. Null becomes an empty object.
base::Result<json::Value> ParseWithTypeMeta(json::Arena& arena, std::string_view text);

}  // namespace portcullis::api::schema
