// SPDX-License-Identifier: Apache-2.0

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
  // If given, tells whether an object of the text repeats a key.
  bool* repeats_keys = nullptr;
  // Objects keep every member of a repeated key, in the order of the text. Such values are input
  // for json/duplicates.h and api/schema/merge_duplicates.h and for nothing else: a look-up by name
  // in them finds any of the members.
  bool keep_duplicates = false;
  // If given, a number that no float64 holds becomes infinity with its literal, and the text of the
  // first such error is put here: Go reports it only where such a number is read as a number.
  // Without it Parse() fails with that text.
  std::string* range_error = nullptr;
  int max_depth = 10000;
};

// Whether a document holds a number that no float64 holds; only after a `range_error`.
bool HasInfinity(Value value);

// Errors have the reason BadRequest and Go's text as message.
base::Result<Value> Parse(Arena& arena, std::string_view text, const ParseOptions& options = {});
// Parses into an arena of its own that also keeps a copy of the text.
base::Result<Document> ParseDocument(std::string text, const ParseOptions& options = {});

}  // namespace portcullis::json
