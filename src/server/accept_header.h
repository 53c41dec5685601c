// SPDX-License-Identifier: Apache-2.0

// The header Accept, as goautoneg reads it. Pure functions.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace portcullis::server {

// The types and subtypes that it names, "*" among them, the most wanted first.
std::vector<std::pair<std::string_view, std::string_view>> AcceptedTypes(std::string_view accept);

}  // namespace portcullis::server
