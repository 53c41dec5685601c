// SPDX-License-Identifier: Apache-2.0

// What --help tells of the flags of the server besides their rows in options.cc: the group that
// each belongs to, and what it opens to others. Data and look-ups.
#pragma once

#include <string_view>

namespace portcullis::server {

// The heading of --help that the flag stands below: "Admission", without " flags". "" if it has
// none.
std::string_view GroupOf(std::string_view flag);

// What the flag opens to others, a sentence; "" if nothing.
std::string_view RiskOf(std::string_view flag);

}  // namespace portcullis::server
