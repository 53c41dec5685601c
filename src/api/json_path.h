// SPDX-License-Identifier: Apache-2.0

// JSONPath as Kubernetes reads it (k8s.io/client-go/util/jsonpath): fields, quoted keys, indices,
// slices, unions, wildcards, descent, filters. Pure functions.
//
//   TRY(ParseJsonPath(".status.conditions[?(@.type==\"Ready\")].status"))
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace portcullis::api {

// A step of a path, small because a path may have as many as characters.
struct JsonPathNode {
  enum class Kind : std::uint8_t {
    kText,        // the text itself
    kIdentifier,  // "range", "end"
    kField,       // the member `text`
    kSelf,        // the value, where a path within a filter has no step
    kWildcard,    // all members and elements
    kRecursive,   // the value and all below it
    kInt,         // IntOf
    kFloat,       // FloatOf
    kBool,        // "true", "false"
    kSlice,       // elements by BoundsOf
    kFilter,  // elements for which one path finds something, or two compare by the operator `text`
    kUnion,   // what each of its paths finds, one after the other
  };

  bool operator==(const JsonPathNode&) const = default;

  Kind kind = Kind::kText;
  bool ends_path = false;  // the last step of a path within a filter or a union
  std::uint32_t size = 0;  // of a filter and a union: how many of the nodes that follow are within
  std::string_view text;
};

// Each node takes what the one before it has found. Texts point into the path that was parsed, or
// into `texts` where they do not stand there as they are.
struct JsonPath {
  JsonPath() = default;
  JsonPath(JsonPath&&) = default;
  JsonPath& operator=(JsonPath&&) = default;
  JsonPath(const JsonPath&) = delete;
  JsonPath& operator=(const JsonPath&) = delete;

  std::vector<JsonPathNode> nodes;
  std::deque<std::string> texts;
};

// "first:last:step", where nothing was written there is 0. A single index ends behind itself.
struct JsonPathBounds {
  struct Bound {
    bool is_known = false;
    bool is_derived = false;
    std::int64_t value = 0;
  };
  Bound first;
  Bound last;
  Bound step;
};

// The path that is written without its braces, which has to outlive the result. A BadRequest has
// the text of Kubernetes' parser: "unterminated array". A `}` ends the path; what follows it is read
// as text and other paths, and left out.
base::Result<JsonPath> ParseJsonPath(std::string_view path);

// What the text of a node of ParseJsonPath says, by its kind.
std::int64_t IntOf(const JsonPathNode& node);
double FloatOf(const JsonPathNode& node);
JsonPathBounds BoundsOf(const JsonPathNode& node);

}  // namespace portcullis::api
