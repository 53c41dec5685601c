// SPDX-License-Identifier: Apache-2.0

// Objects in CBOR, as far as it takes their types: what the Go decoder says of content that does not
// fit them, and byte fields, which are base64 in JSON and bytes in CBOR. All else is src/cbor.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "api/catalog/catalog.h"
#include "api/schema/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::engine {

inline constexpr std::string_view kCborType = "application/cbor";
inline constexpr std::string_view kCborSequenceType = "application/cbor-seq";

// What a decoder into the Go type says of content.
struct CborFaults {
  std::string type_error;                    // the first one; the object is refused
  std::optional<std::size_t> unknown_field;  // the position of the first one within its map
};
CborFaults CheckCborTypes(const api::schema::Schema& schema, json::Value value);

// Appends the item of a value of this type, null if there is none, without the tag of documents.
void WriteCbor(const api::schema::Schema* schema, json::Value value, std::string& out);
// A document: of the type that its apiVersion and kind say, if the catalog has that.
void WriteCborDocument(const api::catalog::Catalog& catalog, json::Value value, std::string& out);
// The type of an object as above; null for custom resources and what is unknown.
const api::schema::Schema* CborSchemaOf(const api::catalog::Catalog& catalog, json::Value object);

}  // namespace portcullis::engine
