// SPDX-License-Identifier: Apache-2.0

// What client-go's REST client makes of URLs and of answers (k8s.io/client-go/rest).
//
// Pure functions. Error texts are client-go's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::kubeconfig {

// The path of a server's URL as requests have it: decoded, without doubled slashes, dots and a
// trailing slash, and escaped again, so that an escaped slash becomes one; "/" for an empty one.
std::string RequestPath(std::string_view path);

// The body of an answer with status 200 to 206: JSON or YAML, an object with good kind and
// apiVersion, if it has them. A Content-Type that is none is an InternalError. Of a
// repeated key the last value counts; `all`, if given, receives the object with every one, and with
// numbers that no float64 holds, which are an error otherwise.
base::Result<json::Value> ParseAnswer(json::Arena& arena, int http_status,
                                      std::string_view content_type, std::string_view body,
                                      json::Value* all = nullptr);

// The error of an answer with another status: the Status in its body, or a text for the code.
base::Status ErrorOfAnswer(int http_status, std::string_view content_type, std::string_view body,
                           std::optional<int> retry_after);

}  // namespace portcullis::kubeconfig
