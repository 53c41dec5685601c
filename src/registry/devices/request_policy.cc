// SPDX-License-Identifier: Apache-2.0

// How much of a device's capacity a claim may ask for (pkg/apis/resource/validation,
// validateRequestPolicy).

#include <limits>
#include <set>

#include "base/strings.h"
#include "registry/devices/device_checks.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMostOptions = 10;

void CheckOptions(json::Value options, const api::Quantity& usual, const api::Quantity& capacity,
                  const FieldPath& path, FieldErrors& errors) {
  for (std::size_t i = 1; i < options.size(); ++i) {
    const api::Quantity option = QuantityOf(options[i]);
    if (option < QuantityOf(options[i - 1])) {
      errors.push_back(api::Invalid(path.Index(i), option.ToString(),
                                    "values must be sorted in ascending order"));
    }
  }
  bool has_usual = false;
  if (CheckSize(options, kMostOptions, path, errors)) {
    std::set<std::int64_t> seen;
    for (std::size_t i = 0; i < options.size(); ++i) {
      const api::Quantity option = QuantityOf(options[i]);
      if (option > capacity) {
        errors.push_back(api::Invalid(
            path.Index(i), option.ToString(),
            base::StrCat("option is larger than capacity value: ", capacity.ToString())));
      }
      has_usual = has_usual || option == usual;
      if (!seen.insert(option.Value()).second) {
        errors.push_back(api::Duplicate(path.Index(i), std::to_string(option.Value())));
      }
    }
  }
  if (has_usual) return;
  errors.push_back(api::Invalid(path, usual.ToString(),
                                "default value is not valid according to the requestPolicy"));
}

// Steps are counted in whole numbers.
bool CheckWhole(const api::Quantity& amount, const FieldPath& path, FieldErrors& errors) {
  if (amount.Sign() < 0) {
    errors.push_back(api::Invalid(path, amount.ToString(), "must be greater than or equal to 0"));
    return false;
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (amount > api::Quantity::FromInt(kMost)) {
    errors.push_back(
        api::Invalid(path, amount.ToString(), "must not be larger than 9223372036854775807"));
    return false;
  }
  return true;
}

void CheckStep(json::Value range, const api::Quantity& usual, const api::Quantity& capacity,
               const FieldPath& path, FieldErrors& errors) {
  const api::Quantity least = QuantityOf(range["min"]);
  const api::Quantity step = QuantityOf(range["step"]);
  const FieldPath at = path.Child("step");
  if (step.Sign() <= 0) {
    errors.push_back(api::Invalid(at, step.ToString(), "must be greater than zero"));
    return;
  }
  api::Quantity next = least;
  next.Add(step);
  if (next > capacity) {
    errors.push_back(
        api::Invalid(at, step.ToString(),
                     base::StrCat("one step ", next.ToString(),
                                  " is larger than capacity value: ", capacity.ToString())));
  }
  bool whole = CheckWhole(usual, path.Child("default"), errors);
  whole = CheckWhole(least, path.Child("min"), errors) && whole;
  const bool has_most = !range["max"].is_null();
  const api::Quantity most = QuantityOf(range["max"]);
  if (has_most) whole = CheckWhole(most, path.Child("max"), errors) && whole;
  whole = CheckWhole(step, at, errors) && whole;
  if (!whole) return;
  const auto check = [&](const api::Quantity& amount) {
    if ((amount.Value() - least.Value()) % step.Value() == 0) return;
    errors.push_back(
        api::Invalid(at, amount.ToString(),
                     base::StrCat("value is not a multiple of a given step (", step.ToString(),
                                  ") from (", least.ToString(), ")")));
  };
  check(usual);
  if (has_most) check(most);
}

void CheckRange(json::Value range, const api::Quantity& usual, const api::Quantity& capacity,
                const FieldPath& path, FieldErrors& errors) {
  if (range["min"].is_null()) {
    errors.push_back(api::Required(path.Child("min"), "required when validRange is defined"));
    return;
  }
  const auto wrong = [&](std::string_view field, const api::Quantity& amount, std::string_view text,
                         const api::Quantity& limit) {
    errors.push_back(
        api::Invalid(path.Child(field), amount.ToString(), base::StrCat(text, limit.ToString())));
  };
  const api::Quantity least = QuantityOf(range["min"]);
  if (least > capacity) wrong("min", least, "min is larger than capacity value: ", capacity);
  if (usual < least) wrong("default", usual, "default is less than min: ", least);
  if (!range["max"].is_null()) {
    const api::Quantity most = QuantityOf(range["max"]);
    if (least > most) wrong("max", least, "min is larger than max: ", most);
    if (most > capacity) wrong("max", most, "max is larger than capacity value: ", capacity);
    if (usual > most) wrong("default", usual, "default is more than max: ", most);
  }
  if (!range["step"].is_null()) CheckStep(range, usual, capacity, path, errors);
}

}  // namespace

void CheckRequestPolicy(json::Value policy, const api::Quantity& capacity, const FieldPath& path,
                        FieldErrors& errors) {
  const json::Value options = policy["validValues"];
  const json::Value range = policy["validRange"];
  if (!options.empty() && !range.is_null()) {
    errors.push_back(api::Forbidden(path,
                                    "exactly one policy can be specified, cannot specify "
                                    "\"validValues\" and \"validRange\" at the same time"));
    return;
  }
  if (options.empty() && range.is_null()) return;
  const std::string_view field = options.empty() ? "validRange" : "validValues";
  if (policy["default"].is_null()) {
    errors.push_back(
        api::Required(path.Child("default"), base::StrCat("required when ", field, " is defined")));
    return;
  }
  const api::Quantity usual = QuantityOf(policy["default"]);
  if (options.empty()) {
    CheckRange(range, usual, capacity, path.Child(field), errors);
  } else {
    CheckOptions(options, usual, capacity, path.Child(field), errors);
  }
}

}  // namespace portcullis::registry
