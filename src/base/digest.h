// SPDX-License-Identifier: Apache-2.0

// Digests of bytes.
#pragma once

#include <string>
#include <string_view>

namespace portcullis::base {

// SHA-256 as 64 lower-case hex digits.
std::string Sha256Hex(std::string_view bytes);
// SHA-512 as 128 lower-case hex digits.
std::string Sha512Hex(std::string_view bytes);

}  // namespace portcullis::base
