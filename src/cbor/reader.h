// SPDX-License-Identifier: Apache-2.0

// Parse reads one CBOR data item into an arena document, as Kubernetes decodes CBOR into untyped
// content: map[string]any, []any, string, int64, float64, bool, nil.
//
//   json::Value pod = TRY(cbor::Parse(arena, body));
//
// Byte strings and text strings both become strings; a byte string that is tagged with an expected
// encoding (tags 21 to 23) becomes text in that encoding, tagged times become RFC 3339 text, other
// tags are left out. Refused, beside what is malformed: repeated keys, keys that are no strings,
// text that is not UTF-8, integers beyond int64, NaN and infinities, bignums, simple values other
// than true, false and null, and more than 10,000 levels. Indefinite lengths are taken.
//
// Source of rules and texts: k8s.io/apimachinery/pkg/runtime/serializer/cbor/internal/modes and the
// library under it, github.com/fxamacker/cbor.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::cbor {

// Whether the bytes are one data item by their heads alone. Errors have the reason BadRequest and
// the Go library's text: "unexpected EOF", `cbor: unexpected "break" code`.
base::Status CheckWellFormed(std::string_view bytes);

// The whole item. Errors as above, and "cbor: found duplicate map key "a" at map element index 1".
base::Result<json::Value> Parse(json::Arena& arena, std::string_view bytes);

// The same for content of a Go type, whose structs take keys that are numbers for unknown fields: keys that
// are no strings are kept under names that KeyFault() reads.
base::Result<json::Value> ParseTyped(json::Arena& arena, std::string_view bytes);

// What is said of a key that is no string: of a struct's, or of a map's; "" if there is nothing wrong with
// it. `into` is what it was read for: "value", "struct field v1.ConfigMap.data".
std::string KeyFault(std::string_view key, bool of_struct, std::string_view into);

// Of a map only the members of these names, as a Go struct with these fields alone would get it:
// other values may be anything well-formed, and are null. What is no map is read whole.
base::Result<json::Value> ParseMembers(json::Arena& arena, std::string_view bytes,
                                       std::span<const std::string_view> names);

// What errors call the type of a value: "byte string", "positive integer", "primitives".
std::string_view TypeName(json::Value value);

}  // namespace portcullis::cbor
