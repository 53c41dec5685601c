// SPDX-License-Identifier: Apache-2.0

// What is wrong with the head of an answer that could not be parsed, or of a request that is not sent, in the
// words of Go's net/http.
#pragma once

#include <string>
#include <string_view>

#include "net/http.h"

namespace portcullis::net::internal {

// `status_line` is the first line of the answer; `fields` the lines after it, or as many of them as
// have come. "malformed HTTP response \"x\"", "malformed MIME header: missing colon: \"x\"". Pure.
std::string MalformedHeadText(std::string_view status_line, std::string_view fields);

// The first field that no request may have, since it would be read as another or as several: "" if there is
// none, else as "net/http: invalid header field value for \"X-A\"" (RFC 9110 §5.1, §5.5). Pure.
std::string MalformedFieldText(const Headers& fields);

}  // namespace portcullis::net::internal
