// SPDX-License-Identifier: Apache-2.0

// The node tree of one YAML document; private to this folder.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace portcullis::json::internal {

enum class YamlKind { kScalar, kSequence, kMapping, kAlias };

struct YamlNode {
  YamlKind kind = YamlKind::kScalar;
  std::string value;     // of a scalar; the anchor's name of an alias
  std::string tag;       // in full: "tag:yaml.org,2002:str"; "" if there is none
  bool plain = false;    // a scalar without quotes and tag, whose text decides its type
  std::size_t line = 0;  // counted from 1
  std::vector<const YamlNode*> children;  // of a mapping: key, value, key, value …
  const YamlNode* target = nullptr;       // of an alias
};

// Nodes may be reached more than once, through aliases; an alias may even lie within its target.
struct YamlTree {
  std::deque<YamlNode> nodes;
  const YamlNode* root = nullptr;  // null if the text has no document
};

// The most levels of collections, as in Go's library.
inline constexpr std::size_t kYamlMaxDepth = 10000;

// Reads the first document. Errors: BadRequest, "yaml: line 2: found character that cannot start
// any token".
base::Result<YamlTree> ReadYamlTree(std::string_view text);

// "yaml: <what>".
base::Status YamlError(std::string_view what);
// `line` is counted from 1; Go does not name the first one.
base::Status YamlTooDeep(std::size_t line);

}  // namespace portcullis::json::internal
