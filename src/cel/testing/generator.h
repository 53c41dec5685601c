// SPDX-License-Identifier: Apache-2.0

// Random expressions over the variables of testing/fixture.h, mostly well typed. Deterministic: the
// choices come from the bytes given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace portcullis::cel::testing {

// Reads choices from `bytes`; what is missing counts as 0, so that every input ends.
std::string GenerateExpression(std::span<const std::uint8_t> bytes);

}  // namespace portcullis::cel::testing
