// SPDX-License-Identifier: Apache-2.0

// Where the mistake that a message tells of stands in a configuration file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace portcullis::admission {

// `file:line:column` of the first field path in `message` (`limits[0].burst`) that leads somewhere
// in `text`, or as far as it leads; `file` if none does. Paths begin at `root`, names of members
// and indexes.
std::string PlaceOfMistake(std::string_view file, std::string_view text, std::string_view message,
                           const std::vector<std::string>& root = {});

}  // namespace portcullis::admission
