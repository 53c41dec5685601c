// The formats of strings that schemas of custom resources may demand.
#pragma once

#include <string_view>

namespace portcullis::api::schema {

// True if `text` is of the format, or if the format is none that is checked.
bool HasFormat(std::string_view text, std::string_view format);

}  // namespace portcullis::api::schema
