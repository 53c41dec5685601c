// SPDX-License-Identifier: Apache-2.0

// Write turns a document into JSON text as Go's encoding/json does: no spaces, floats in Go's
// shortest form, U+2028/2029 escaped, and `<`, `>`, `&` escaped only if asked for.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace portcullis::json {

struct WriteOptions {
  // Members in the order of their names, as Go prints maps; otherwise as they stand.
  bool sort_keys = false;
  // Splice the bytes a subtree was parsed from where they are remembered (never with sort_keys).
  bool splice_source = true;
  // Go's HTML escaping of <, > and & (json.Marshal has it on, Kubernetes' API encoder too).
  bool escape_html = true;
  // Spaces per level; 0 writes one line.
  int indent = 0;
};

void Write(Value value, std::string& out, const WriteOptions& options = {});
std::string ToString(Value value, const WriteOptions& options = {});
// Appends `text` as a JSON string with its quotes.
void WriteString(std::string_view text, std::string& out, bool escape_html = true);
// Go's strconv.FormatFloat(v, 'g'-like JSON form): 1e+21, 1e-7, 100000.
void WriteDouble(double value, std::string& out);

}  // namespace portcullis::json
