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
#include "net/client.h"

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

// What a webhook is to answer with: an object of `kind` in `api_version`, which it need not tell, and
// the types of its fields (api/schema/go_types.h).
struct ReviewForm {
  std::string_view api_version;
  std::string_view kind;
  std::string_view types;
};
// The same for such an object. Every value that `types` name has its type or is null.
base::Result<json::Value> ParseReview(json::Arena& arena, const net::Response& response,
                                      const ReviewForm& form);

// The error of an answer with another status: the Status in its body, or a text for the code.
base::Status ErrorOfAnswer(int http_status, std::string_view content_type, std::string_view body,
                           std::optional<int> retry_after);

}  // namespace portcullis::kubeconfig
