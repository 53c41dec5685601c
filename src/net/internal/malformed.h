// SPDX-License-Identifier: Apache-2.0

// What is wrong with the head of an answer that could not be parsed, in the words of Go's net/http.
#pragma once

#include <string>
#include <string_view>

namespace portcullis::net::internal {

// `status_line` is the first line of the answer; `fields` the lines after it, or as many of them as
// have come. "malformed HTTP response \"x\"", "malformed MIME header: missing colon: \"x\"". Pure.
std::string MalformedHeadText(std::string_view status_line, std::string_view fields);

}  // namespace portcullis::net::internal
