// SPDX-License-Identifier: Apache-2.0

// The facts about Go types that `schema import` reads beside OpenAPI (docs/internals/catalog.md).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace portcullis::api::catalog {

struct GoField {
  std::string_view name;     // in JSON
  std::string_view go_type;  // "*v1.PodSecurityContext", "[]string"
  std::string_view go_name;  // "" if it is the JSON name with a capital
  bool omit_empty = false;
  bool omit_zero = false;
};

struct SpecialKind {
  std::string_view kind;     // "time", "quantity", "union", …
  std::string_view element;  // definition, of unions
};

// Views into the parsed text.
struct GoFacts {
  std::map<std::string_view, std::vector<GoField>> types;  // by definition name, in Go's order
  std::map<std::string_view, SpecialKind> kinds;
  std::map<std::string_view, std::vector<std::string_view>>
      selectable;  // by group/version/resource
  // Descriptions of printed columns by {resource.group or "*", column}.
  std::map<std::pair<std::string, std::string>, std::string> columns;
  // Warnings about kinds that are going away, by "<apiVersion> <Kind>".
  std::map<std::string, std::string> deprecated;
};

base::Result<GoFacts> ParseGoFacts(std::string_view text);

}  // namespace portcullis::api::catalog
