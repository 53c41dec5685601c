// SPDX-License-Identifier: Apache-2.0

// Shapes of the few Go structs an AdmissionReview is decoded into, and decoding by them: unknown
// members dropped, wrong types reported with Go's text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::webhook {

struct GoField;

enum class GoKind : std::uint8_t {
  kString,
  kBool,
  kInt32,
  kInt64,          // a pointer
  kBytes,          // base64 text; decoded into the raw bytes
  kStringMap,      // map[string]string
  kStringList,     // []string
  kStringListMap,  // map[string][]string
  kStruct,
  kStructList,
  kAny,      // kept as it is
  kAnyList,  // []runtime.RawExtension
};

struct GoStruct {
  std::string_view name;  // "AdmissionResponse"
  std::span<const GoField> fields;
};

struct GoField {
  std::string_view name;
  GoKind kind = GoKind::kString;
  std::string_view go_type = "string";  // as errors print it
  const GoStruct* shape = nullptr;      // of kStruct and kStructList
};

// The admission.k8s.io AdmissionReview; both versions have the same shape.
const GoStruct& AdmissionReviewShape();
// That of v1alpha1, as far as answers have it.
const GoStruct& AdmissionReviewV1alpha1Shape();
// The apiextensions.k8s.io ConversionReview; both versions have the same shape.
const GoStruct& ConversionReviewShape();
// meta/v1 Status.
const GoStruct& StatusShape();

// Decodes an object, which may have every member of keys that are repeated (json/duplicates.h): as in
// Go, structs and maps are merged, and null clears what Go has a pointer, a map or a list for; of
// everything else the last value counts. The error is the first one in document order.
base::Result<json::Value> DecodeStruct(json::Arena& arena, const GoStruct& shape,
                                       json::Value input);

}  // namespace portcullis::webhook
