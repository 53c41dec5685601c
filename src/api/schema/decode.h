// SPDX-License-Identifier: Apache-2.0

// Decode brings JSON that a client sent into the form in which the Go server would write it again
// after decoding it into its types: unknown fields, nulls and omitted zeros dropped, fields that Go
// always writes added, quantities, times and durations normalised, members in Go's order.
//
// Fields are matched case-sensitively, as sigs.k8s.io/json does. Type errors have Go's texts:
//   json: cannot unmarshal string into Go struct field PodSpec.spec.replicas of type int32
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/schema/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::schema {

// What the object that was decoded may hold.
struct Decoded {
  bool empty_lists = false;  // where the schema has lists
  bool any = false;          // lists or objects of which the schema says nothing
};

struct DecodeOptions {
  // If given, receives the paths of unknown fields in order of occurrence, as in
  // `spec.containers[0].foo`; as many as Kubernetes reports (json::kMaxStrictErrors).
  std::vector<std::string>* unknown_fields = nullptr;
  // Lists and maps that Go writes even when nil become null when empty, as they do on their way
  // through the protobuf form in which built-in kinds are stored.
  bool empty_becomes_null = false;
  // Bytes of length zero stay, which Go leaves out of JSON and keeps in that form.
  bool keeps_empty_bytes = false;
  // If given, receives the path of the value that has the wrong type, as in `unknown_fields`.
  std::string* error_path = nullptr;
  // An earlier state of the object that Decode() has returned or would return as it is: what both
  // share is not looked at again.
  json::Value known;
  // If given, receives what has been met. REQUIRES: `known` is null.
  Decoded* met = nullptr;
};

// On a type error the status is BadRequest with Go's bare text (callers put
// `Pod in version "v1" cannot be handled as a Pod: ` in front of it).
base::Result<json::Value> Decode(json::Arena& arena, const Schema& schema, json::Value input,
                                 const DecodeOptions& options = {});

// Custom resources: nothing is added or dropped for Go's sake, fields the schema does not know are
// pruned (unless preserved), metadata is decoded as ObjectMeta, without its fields of a wrong type.
// `unknown_fields` as above.
json::Value Prune(json::Arena& arena, const Schema& schema, json::Value input, bool is_resource,
                  std::vector<std::string>* unknown_fields);

// Whether apiVersion, kind and metadata of a custom resource, and of resources embedded in it, have
// the types that Go gives them.
base::Status CheckMetadata(json::Arena& arena, const Schema& schema, json::Value object);

// The text of a strict decoding failure or "" if both lists are empty:
// `strict decoding error: duplicate field "a", unknown field "spec.b"`.
std::string StrictDecodingError(const std::vector<std::string>& duplicate_fields,
                                const std::vector<std::string>& unknown_fields);
// The texts of the warnings: `duplicate field "a"`, `unknown field "spec.b"`.
std::vector<std::string> DecodingWarnings(const std::vector<std::string>& duplicate_fields,
                                          const std::vector<std::string>& unknown_fields);

}  // namespace portcullis::api::schema
