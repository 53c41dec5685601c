// SPDX-License-Identifier: Apache-2.0

// Formats of OpenAPI's `format`, as apiextensions-apiserver and kube-openapi's strfmt know them. Pure
// functions.
#pragma once

#include <string_view>

namespace portcullis::api::schema {

// Whether values of the type are held to the format: "int32" of an integer, "double" of a number,
// "date-time" of a string or of what has no type. Hyphens in a text's format do not count.
bool IsFormatOf(std::string_view type, std::string_view format);

// Whether the text is of the format ("date-time", "ipv4", "uuid", …); unknown formats accept all.
bool MatchesFormat(std::string_view format, std::string_view text);

}  // namespace portcullis::api::schema
