// Decompression of answers. Error texts are those of Go's compress/gzip.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::net::internal {

// `limit` 0: none. One or more gzip members.
base::Result<std::string> Gunzip(std::string_view compressed, std::size_t limit);

}  // namespace portcullis::net::internal
