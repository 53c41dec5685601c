// SPDX-License-Identifier: Apache-2.0

#include "registry/validation/conditions.h"

#include <algorithm>
#include <set>

#include "api/named_value.h"
#include "api/selector/label_selector.h"
#include "registry/validation/checks.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMaxReason = 1024;
constexpr std::size_t kMaxMessage = 32 * 1024;
constexpr std::string_view kReasonText =
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. "
    "'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex "
    "used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

bool IsReason(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto word = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return letter(text.front()) && word(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return word(c) || c == ',' || c == ':'; });
}

void ValidateCondition(json::Value condition, const api::FieldPath& path,
                       api::FieldErrors& errors) {
  const std::string_view type = condition["type"].AsString();
  AddInvalid(path.Child("type"), type, api::IsQualifiedName(type), errors);
  constexpr std::string_view kStatuses[] = {"False", "True", "Unknown"};
  const std::string_view status = condition["status"].AsString();
  if (std::find(std::begin(kStatuses), std::end(kStatuses), status) == std::end(kStatuses)) {
    errors.push_back(api::NotSupported(path.Child("status"), api::NamedValue(status), kStatuses));
  }
  if (const std::int64_t generation = condition["observedGeneration"].AsInt(); generation < 0) {
    errors.push_back(api::Invalid(path.Child("observedGeneration"), generation,
                                  "must be greater than or equal to zero"));
  }
  if (condition["lastTransitionTime"].AsString().empty()) {
    errors.push_back(api::Required(path.Child("lastTransitionTime"), ""));
  }
  const std::string_view reason = condition["reason"].AsString();
  if (reason.empty()) {
    errors.push_back(api::Required(path.Child("reason"), ""));
  } else {
    if (!IsReason(reason)) {
      errors.push_back(api::Invalid(path.Child("reason"), reason, kReasonText));
    }
    if (reason.size() > kMaxReason) {
      errors.push_back(api::TooLong(path.Child("reason"), static_cast<int>(kMaxReason)));
    }
  }
  if (condition["message"].AsString().size() > kMaxMessage) {
    errors.push_back(api::TooLong(path.Child("message"), static_cast<int>(kMaxMessage)));
  }
}

}  // namespace

void ValidateConditions(json::Value conditions, const api::FieldPath& path,
                        api::FieldErrors& errors) {
  std::set<std::string_view> types;
  std::size_t index = 0;
  for (const json::Value& condition : conditions.elements()) {
    const api::FieldPath place = path.Index(index++);
    const std::string_view type = condition["type"].AsString();
    if (!types.insert(type).second) errors.push_back(api::Duplicate(place.Child("type"), type));
    ValidateCondition(condition, place, errors);
  }
}

}  // namespace portcullis::registry
