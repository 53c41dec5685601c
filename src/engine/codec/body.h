// SPDX-License-Identifier: Apache-2.0

// Request bodies as far as they can be read before their kind is known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/catalog/catalog.h"
#include "api/names.h"
#include "api/schema/decode.h"
#include "api/schema/schema.h"
#include "base/status.h"
#include "engine/codec/media_type.h"
#include "json/value.h"

namespace portcullis::engine {

// A body's content. What is wrong with it is reported once its kind is known; mostly nothing is.
struct Body {
  json::Value value;          // not for look-ups by name if `repeats_keys`; see Untyped()
  bool repeats_keys = false;  // `value` has all members of repeated keys (json/duplicates.h)
  // Untyped content cannot hold one of the numbers; of a type, only the field matters.
  std::string range_error;
  // A protobuf message that does not fit its kind, or CBOR that says what no object may.
  std::string message_error;
  // `value` is what api::schema::Decode() makes of it by this schema, and `met` what it has met; null: it
  // has not been decoded.
  const api::schema::Schema* decoded_by = nullptr;
  api::schema::Decoded met;
};

// Reads JSON, or YAML, protobuf or CBOR turned into JSON. `expected` is the kind that an endpoint takes;
// protobuf that names no kind is taken for it. Errors have Kubernetes' texts.
base::Result<Body> ReadBody(json::Arena& arena, const api::catalog::Catalog& catalog,
                            std::string_view bytes, MediaType type,
                            const api::GroupVersionKind& expected);

// What every decoder of the Go server reads first. Views into the document.
struct TypeMeta {
  std::string_view api_version;
  std::string_view kind;
};

// As encoding/json reads it: names match in any case, of several the last one that is no null
// counts. Errors: `couldn't get version/kind; json parse error: json: cannot unmarshal …`.
base::Result<TypeMeta> ReadTypeMeta(json::Value document);

// The body as untyped content: of each repeated key the last value.
json::Value Untyped(json::Arena& arena, const Body& body);

// The body as input for api::schema::Decode(): values of repeated keys are merged as the schema
// says, and `strict_errors`, if given, receives what strict decoding says of them, unknown fields
// included. Untouched, and nothing reported, if no key is repeated.
base::Result<json::Value> Typed(json::Arena& arena, const Body& body,
                                const api::schema::Schema& schema,
                                std::vector<std::string>* strict_errors);

// What strict decoding says of unknown fields of an object that has been read as untyped content:
// Kubernetes puts their paths between quotation marks as they are.
std::vector<std::string> UnknownFields(const std::vector<std::string>& paths);

}  // namespace portcullis::engine
