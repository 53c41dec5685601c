// SPDX-License-Identifier: Apache-2.0

// YAML to JSON documents and back, as sigs.k8s.io/yaml does it for kubectl, configuration files and
// "application/yaml" bodies: YAML 1.1 (yes/no/on/off are booleans), anchors, merge keys, names of
// any scalar type turned into text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::json {

struct YamlOptions {
  // If given, receives what strict reading adds: "" or `yaml: unmarshal errors:\n  line 3: key "a"
  // already set in map`. The value is not affected; the last of equal keys stays.
  std::string* strict_error = nullptr;
};

// Reads the first document of `text`; null if there is none. Nothing is borrowed from the text.
// Numbers come out as if they had gone through JSON: 30.0 is the integer 30.
// Errors are BadRequest with the library's texts: "yaml: line 3: did not find expected key".
base::Result<Value> ParseYaml(Arena& arena, std::string_view text, const YamlOptions& options = {});

// Whether Kubernetes takes the text for JSON: its first character other than white space is "{".
bool HasJsonPrefix(std::string_view text);
// Parses JSON if HasJsonPrefix(), else YAML. YAML errors get the prefix Kubernetes puts there:
// "error converting YAML to JSON: ".
base::Result<Value> ParseYamlOrJson(Arena& arena, std::string_view text);

// The documents of a stream, separated by lines that begin with "---" and go on with nothing but
// white space or a comment. A separator in front of everything stays part of the first document.
std::vector<std::string_view> SplitYaml(std::string_view text);

// Appends block style YAML with members in the order go-yaml sorts them ("a2" before "a10"), lines
// folded at 80 columns, ending in a newline.
void WriteYaml(const Value& value, std::string& out);
std::string ToYaml(const Value& value);

// The same as version 3 of go-yaml writes a document that it has read from JSON: members in their order,
// regular indentation of four columns, no folded lines, booleans of YAML 1.2.
std::string ToYamlV3(const Value& value);

}  // namespace portcullis::json
