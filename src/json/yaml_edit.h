// SPDX-License-Identifier: Apache-2.0

// Changes of a YAML or JSON text that people have written: comments, order, spaces and quotes of all
// that is not changed stay as they are.
//
//   auto text = EditYaml(file, {{{"cases", "3", "expect"}, value}});
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::json {

struct YamlChange {
  std::vector<std::string> path;  // names of members, indexes of elements as decimal numbers
  Value value;                    // what stands there then
};

// The first document of `text` with the values of the changes at their paths, which exist and do not
// lie within each other. Within a value, only members and elements that differ are written anew, and
// only members that are gone are removed. Errors: BadRequest, for texts that do not parse, paths that
// do not exist, and what cannot be changed in its place (aliases, merge keys). The result has been read
// again: it differs from `text` in nothing else.
base::Result<std::string> EditYaml(std::string_view text, std::span<const YamlChange> changes);

}  // namespace portcullis::json
