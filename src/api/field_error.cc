// SPDX-License-Identifier: Apache-2.0

#include "api/field_error.h"

#include <algorithm>
#include <cstdio>
#include <unordered_set>

#include "base/gotext.h"
#include "base/strings.h"
#include "golang/strconv.h"
#include "json/writer.h"

namespace portcullis::api {
namespace {

bool ShowsValue(FieldErrorType type) {
  switch (type) {
    case FieldErrorType::kRequired:
    case FieldErrorType::kForbidden:
    case FieldErrorType::kTooLong:
    case FieldErrorType::kTooShort:
    case FieldErrorType::kInternal:
      return false;
    default:
      return true;
  }
}

FieldError Make(FieldErrorType type, const FieldPath& path, BadValue value, std::string detail) {
  return FieldError{type, path.ToString(), std::move(value), std::move(detail)};
}

std::string AtMost(std::string_view lead, int maximum, std::string_view one,
                   std::string_view many) {
  return base::StrCat(lead, std::to_string(maximum), " ", maximum == 1 ? one : many);
}

BadValue CountOrNone(int actual) { return actual >= 0 ? BadValue(actual) : BadValue::Omitted(); }

}  // namespace

std::string_view FieldErrorCause(FieldErrorType type) {
  switch (type) {
    case FieldErrorType::kNotFound:
      return "FieldValueNotFound";
    case FieldErrorType::kRequired:
      return "FieldValueRequired";
    case FieldErrorType::kDuplicate:
      return "FieldValueDuplicate";
    case FieldErrorType::kInvalid:
      return "FieldValueInvalid";
    case FieldErrorType::kNotSupported:
      return "FieldValueNotSupported";
    case FieldErrorType::kForbidden:
      return "FieldValueForbidden";
    case FieldErrorType::kTooLong:
      return "FieldValueTooLong";
    case FieldErrorType::kTooMany:
      return "FieldValueTooMany";
    case FieldErrorType::kTooFew:
      return "FieldValueTooFew";
    case FieldErrorType::kInternal:
      return "InternalError";
    case FieldErrorType::kTypeInvalid:
      return "FieldValueTypeInvalid";
    case FieldErrorType::kTooShort:
      return "FieldValueTooShort";
  }
  return "";
}

std::string_view FieldErrorText(FieldErrorType type) {
  switch (type) {
    case FieldErrorType::kNotFound:
      return "Not found";
    case FieldErrorType::kRequired:
      return "Required value";
    case FieldErrorType::kDuplicate:
      return "Duplicate value";
    case FieldErrorType::kInvalid:
    case FieldErrorType::kTypeInvalid:
      return "Invalid value";
    case FieldErrorType::kNotSupported:
      return "Unsupported value";
    case FieldErrorType::kForbidden:
      return "Forbidden";
    case FieldErrorType::kTooLong:
      return "Too long";
    case FieldErrorType::kTooMany:
      return "Too many";
    case FieldErrorType::kTooFew:
      return "Too few";
    case FieldErrorType::kInternal:
      return "Internal error";
    case FieldErrorType::kTooShort:
      return "Too short";
  }
  return "";
}

BadValue::BadValue(std::string_view text) : text_(base::GoQuote(text)) {}

BadValue::BadValue(double value) : text_(golang::FormatFloat(value)) {}

BadValue::BadValue(json::Value value) {
  if (value.is_string()) {
    text_ = base::GoQuote(value.AsString());
  } else if (value.is_double()) {
    text_ = golang::FormatFloat(value.AsDouble());
  } else {
    json::Write(value, text_);
  }
}

BadValue::BadValue(std::span<const std::string> values) {
  text_ = "[";
  for (const std::string& value : values) {
    if (text_.size() > 1) text_ += ',';
    json::WriteString(value, text_);
  }
  text_ += ']';
}

BadValue BadValue::Raw(std::string text) {
  BadValue value;
  value.text_ = std::move(text);
  return value;
}

BadValue BadValue::Omitted() {
  BadValue value;
  value.omitted_ = true;
  return value;
}

std::string FieldError::Body() const {
  std::string body(FieldErrorText(type));
  if (ShowsValue(type) && !bad_value.omitted()) body += ": " + bad_value.text();
  if (!detail.empty()) body += ": " + detail;
  return body;
}

std::string FieldError::ToString() const { return base::StrCat(field, ": ", Body()); }

base::Cause FieldError::ToCause() const {
  return base::Cause{std::string(FieldErrorCause(type)), Body(), field};
}

FieldError Required(const FieldPath& path, std::string_view detail) {
  return Make(FieldErrorType::kRequired, path, "", std::string(detail));
}

FieldError Invalid(const FieldPath& path, BadValue value, std::string_view detail) {
  return Make(FieldErrorType::kInvalid, path, std::move(value), std::string(detail));
}

FieldError TypeInvalid(const FieldPath& path, BadValue value, std::string_view detail) {
  return Make(FieldErrorType::kTypeInvalid, path, std::move(value), std::string(detail));
}

FieldError Duplicate(const FieldPath& path, BadValue value) {
  return Make(FieldErrorType::kDuplicate, path, std::move(value), "");
}

FieldError NotFound(const FieldPath& path, BadValue value) {
  return Make(FieldErrorType::kNotFound, path, std::move(value), "");
}

FieldError Forbidden(const FieldPath& path, std::string_view detail) {
  return Make(FieldErrorType::kForbidden, path, "", std::string(detail));
}

FieldError NotSupported(const FieldPath& path, BadValue value,
                        std::span<const std::string_view> supported) {
  std::string detail;
  for (const std::string_view text : supported) {
    detail += detail.empty() ? "supported values: " : ", ";
    detail += base::GoQuote(text);
  }
  return Make(FieldErrorType::kNotSupported, path, std::move(value), std::move(detail));
}

FieldError TooLong(const FieldPath& path, int max_bytes) {
  return Make(FieldErrorType::kTooLong, path, "<value omitted>",
              max_bytes < 0 ? "value is too long"
                            : AtMost("may not be more than ", max_bytes, "byte", "bytes"));
}

FieldError TooLongCharacters(const FieldPath& path, int max_characters) {
  return Make(FieldErrorType::kTooLong, path, "<value omitted>",
              max_characters < 0
                  ? "value is too long"
                  : AtMost("may not be more than ", max_characters, "character", "characters"));
}

FieldError TooShort(const FieldPath& path, int min_length) {
  return Make(FieldErrorType::kTooShort, path, "<value omitted>",
              min_length < 0 ? "value is too short"
                             : AtMost("must be at least ", min_length, "character", "characters"));
}

FieldError TooMany(const FieldPath& path, int actual, int maximum) {
  return Make(
      FieldErrorType::kTooMany, path, CountOrNone(actual),
      maximum < 0 ? "has too many items" : AtMost("must have at most ", maximum, "item", "items"));
}

FieldError TooFew(const FieldPath& path, int actual, int minimum) {
  return Make(
      FieldErrorType::kTooFew, path, CountOrNone(actual),
      minimum < 0 ? "has too few items" : AtMost("must have at least ", minimum, "item", "items"));
}

FieldError InternalFieldError(const FieldPath& path, std::string_view error) {
  return Make(FieldErrorType::kInternal, path, BadValue::Omitted(), std::string(error));
}

std::string AggregateText(std::span<const std::string> texts) {
  if (texts.size() == 1) return texts[0];
  std::unordered_set<std::string_view> seen;
  std::string joined;
  for (const std::string& text : texts) {
    if (!seen.insert(text).second) continue;
    if (seen.size() > 1) joined += ", ";
    joined += text;
  }
  return seen.size() <= 1 ? joined : base::StrCat("[", joined, "]");
}

std::string AggregateText(std::span<const FieldError> errors) {
  std::vector<std::string> texts;
  texts.reserve(errors.size());
  for (const FieldError& error : errors) texts.push_back(error.ToString());
  return AggregateText(texts);
}

}  // namespace portcullis::api
