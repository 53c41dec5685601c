// SPDX-License-Identifier: Apache-2.0

// JSONPath as Kubernetes reads it (k8s.io/client-go/util/jsonpath): fields, quoted keys, indices,
// slices, unions, wildcards, descent, filters. Pure functions.
//
//   TRY(ParseJsonPath(".status.conditions[?(@.type==\"Ready\")].status"))
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace portcullis::api {

struct JsonPathNode;
using JsonPath = std::vector<JsonPathNode>;  // each node takes what the one before it has found

struct JsonPathNode {
  enum class Kind {
    kText,        // the text itself
    kIdentifier,  // "range", "end"
    kField,       // the member `text`
    kWildcard,    // all members and elements
    kRecursive,   // the value and all below it
    kInt,
    kFloat,
    kBool,
    kSlice,   // elements by `bounds`
    kFilter,  // the elements for which `paths` hold, two of them compared by the operator `text`
    kUnion,   // what `paths` find, one after the other
  };
  // "first:last:step", where nothing was written there is 0. A single index ends behind itself.
  struct Bound {
    bool is_known = false;
    bool is_derived = false;
    std::int64_t value = 0;
  };

  Kind kind = Kind::kText;
  std::string text;
  std::int64_t number = 0;
  double real = 0;
  bool truth = false;
  std::array<Bound, 3> bounds = {};
  std::vector<JsonPath> paths = {};
};

// The path that is written without its braces. A BadRequest has the text of Kubernetes' parser:
// "unterminated array". A `}` ends the path; what follows it is read as text and other paths, and
// left out.
base::Result<JsonPath> ParseJsonPath(std::string_view path);

}  // namespace portcullis::api
