// SPDX-License-Identifier: Apache-2.0

// The first look of Kubernetes' decoders at a file: which kind and version it says it is of.
#pragma once

#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::schema {

// Whether `root` is an object (or null) whose apiVersion and kind, if there, are texts. Error:
// `couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of …`.
base::Status CheckTypeMeta(json::Value root);

// A parser's message about JSON, as that first look reports it.
base::Status TypeMetaError(std::string_view message);

// Reads JSON or YAML and checks as above. Null becomes an empty object.
base::Result<json::Value> ParseWithTypeMeta(json::Arena& arena, std::string_view text);

}  // namespace portcullis::api::schema
