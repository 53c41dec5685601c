// SPDX-License-Identifier: Apache-2.0

// FieldError: one thing that is wrong with one field, with the texts of
// k8s.io/apimachinery/pkg/util/validation/field. Value types.
//
//   api::FieldErrors errors;
//   errors.push_back(api::Invalid(path.Child("replicas"), -1, "must be greater than or equal to
//   0")); return api::InvalidStatus({"apps", "Deployment"}, name, errors);          // api_status.h
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_path.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api {

enum class FieldErrorType : std::uint8_t {
  kNotFound,
  kRequired,
  kDuplicate,
  kInvalid,
  kNotSupported,
  kForbidden,
  kTooLong,
  kTooMany,
  kTooFew,
  kInternal,
  kTypeInvalid,
  kTooShort,
};

std::string_view FieldErrorCause(FieldErrorType type);  // "FieldValueInvalid", "InternalError"
std::string_view FieldErrorText(FieldErrorType type);   // "Invalid value"

// A value as Go prints it in a field error: strings as %q, numbers and booleans as %v, everything
// else as JSON. Converts implicitly from what validation has at hand.
class BadValue {
 public:
  BadValue(std::string_view text);  // NOLINT: implicit by design
  BadValue(const std::string& text) : BadValue(std::string_view(text)) {}  // NOLINT
  BadValue(const char* text) : BadValue(std::string_view(text)) {}         // NOLINT
  BadValue(bool value) : text_(value ? "true" : "false") {}                // NOLINT
  BadValue(int value) : text_(std::to_string(value)) {}                    // NOLINT
  BadValue(std::int64_t value) : text_(std::to_string(value)) {}           // NOLINT
  BadValue(std::uint64_t value) : text_(std::to_string(value)) {}          // NOLINT
  BadValue(double value);                                                  // NOLINT
  BadValue(json::Value value);  // NOLINT: containers as compact JSON, null as "null"
  // A list of strings, as JSON.
  BadValue(std::span<const std::string> values);  // NOLINT

  // Text that is printed as it is, e.g. JSON of a Go struct without JSON tags.
  static BadValue Raw(std::string text);
  // Nothing is printed ("Invalid value: <detail>"), field.OmitValueType.
  static BadValue Omitted();

  bool omitted() const { return omitted_; }
  const std::string& text() const { return text_; }

 private:
  BadValue() = default;
  std::string text_;
  bool omitted_ = false;
};

struct FieldError {
  FieldErrorType type = FieldErrorType::kInvalid;
  std::string field;
  BadValue bad_value = BadValue::Omitted();
  std::string detail;

  std::string Body() const;      // `Invalid value: "x": must be y`
  std::string ToString() const;  // `spec.a: Invalid value: "x": must be y`
  base::Cause ToCause() const;
};
using FieldErrors = std::vector<FieldError>;

FieldError Required(const FieldPath& path, std::string_view detail);
FieldError Invalid(const FieldPath& path, BadValue value, std::string_view detail);
FieldError TypeInvalid(const FieldPath& path, BadValue value, std::string_view detail);
FieldError Duplicate(const FieldPath& path, BadValue value);
FieldError NotFound(const FieldPath& path, BadValue value);
FieldError Forbidden(const FieldPath& path, std::string_view detail);
// Detail `supported values: "a", "b"` in the order given; none if the list is empty.
FieldError NotSupported(const FieldPath& path, BadValue value,
                        std::span<const std::string_view> supported);
inline FieldError NotSupported(const FieldPath& path, BadValue value,
                               std::initializer_list<std::string_view> supported) {
  return NotSupported(path, std::move(value),
                      std::span<const std::string_view>(supported.begin(), supported.size()));
}
// `may not be more than N bytes`; a negative maximum gives `value is too long`.
FieldError TooLong(const FieldPath& path, int max_bytes);
FieldError TooLongCharacters(const FieldPath& path, int max_characters);
FieldError TooShort(const FieldPath& path, int min_length);
// `Too many: 5: must have at most 3 items`; a negative actual number is not printed.
FieldError TooMany(const FieldPath& path, int actual, int maximum);
FieldError TooFew(const FieldPath& path, int actual, int minimum);
FieldError InternalFieldError(const FieldPath& path, std::string_view error);

// Go's aggregate of errors: one text alone, several as "[a, b]", each distinct text once.
std::string AggregateText(std::span<const std::string> texts);
std::string AggregateText(std::span<const FieldError> errors);

}  // namespace portcullis::api
