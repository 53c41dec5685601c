// Parse reads JSON text into an arena document.
//
// Behaves as Go's encoding/json with Kubernetes' settings: invalid UTF-8 becomes U+FFFD, lone
// surrogate escapes likewise, depth is limited to 10,000, error texts are Go's
// ("invalid character 'x' looking for beginning of value", "unexpected end of JSON input").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::json {

struct ParseOptions {
  // The text outlives the arena (or is retained by it): strings without escapes become views into
  // it and containers remember their bytes.
  bool borrow_text = false;
  // If given, receives the path of each duplicate key as Kubernetes' strict decoding prints it,
  // e.g. `spec.containers[0].name`, in order of occurrence, each path once, at most 100 of them.
  std::vector<std::string>* duplicate_keys = nullptr;
  int max_depth = 10000;
};

// Errors have the reason BadRequest and Go's text as message.
base::Result<Value> Parse(Arena& arena, std::string_view text, const ParseOptions& options = {});
// Parses into an arena of its own that also keeps a copy of the text.
base::Result<Document> ParseDocument(std::string text, const ParseOptions& options = {});

}  // namespace portcullis::json
