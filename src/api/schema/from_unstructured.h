// SPDX-License-Identifier: Apache-2.0

// What Kubernetes' converter makes of decoded JSON on its way into a Go type, where a strategic merge
// patch or an apply has put it together: numbers are converted as Go converts them, and values of
// another type are refused with texts that name no field
// (k8s.io/apimachinery/pkg/runtime/converter.go). Decode() has the texts of the JSON decoder.
#pragma once

#include <string>
#include <vector>

#include "api/schema/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::schema {

// The value as Decode() is to see it; an error has the bare text. If given, `unknown_fields` receives the
// paths of unknown fields, which the value is without then: sorted, and without the keys of maps on the
// way. Threads: any; `arena` outlives the result.
base::Result<json::Value> FromUnstructured(json::Arena& arena, const Schema& schema,
                                           json::Value value,
                                           std::vector<std::string>* unknown_fields = nullptr);

}  // namespace portcullis::api::schema
