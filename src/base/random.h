// SPDX-License-Identifier: Apache-2.0

// Randomness: uids, generated names, chances. Thread-safe; from the system's generator.
#pragma once

#include <string>

namespace portcullis::base {

// RFC 9562 version 4, lower case: "0b8c1d3e-…".
std::string Uuid();
// `length` characters of the alphabet Kubernetes uses for generated names (no vowels, no 0, 1, 3).
std::string RandomSuffix(std::size_t length);
// Fills the text with `size` random bytes.
std::string RandomBytes(std::size_t size);
// At least 0 and less than 1, as Go's rand.Float64.
double RandomFraction();

}  // namespace portcullis::base
