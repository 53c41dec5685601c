// SPDX-License-Identifier: Apache-2.0

// LabelSelector: which sets of labels are meant, from `a=b,c in (d,e),!f` or from the
// {matchLabels, matchExpressions} of the API (k8s.io/apimachinery/pkg/labels). Value type.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_error.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api {

class LabelSelector {
 public:
  enum class Operator : std::uint8_t {
    kIn,
    kNotIn,
    kEquals,        // printed key=value
    kDoubleEquals,  // printed key==value
    kNotEquals,
    kExists,
    kDoesNotExist,
    kGreaterThan,
    kLessThan,
  };
  struct Requirement {
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values;  // sorted, distinct
    bool operator==(const Requirement&) const = default;
  };

  LabelSelector() = default;  // matches everything
  static LabelSelector Nothing();
  // The query form. Go's error texts, e.g. "found '!', expected: in, notin, =, ==, !=, gt, lt".
  static base::Result<LabelSelector> Parse(std::string_view text);
  // metav1.LabelSelectorAsSelector: null matches nothing, {} everything. Errors for operators and
  // values as Go words them (`"Foo" is not a valid label selector operator`).
  static base::Result<LabelSelector> FromJson(json::Value selector);
  // All of `labels` (an object of strings) must be present: ReplicationController and Service.
  static LabelSelector FromSet(json::Value labels);

  // `labels` is metadata.labels, an object of strings, or null.
  bool Matches(json::Value labels) const;
  bool Matches(const std::function<const std::string*(std::string_view)>& lookup) const;

  bool is_everything() const { return !nothing_ && requirements_.empty(); }
  bool is_nothing() const { return nothing_; }
  const std::vector<Requirement>& requirements() const { return requirements_; }
  void Add(Requirement requirement);
  std::string ToString() const;  // canonical: requirements in order of keys
  bool operator==(const LabelSelector&) const = default;

 private:
  std::vector<Requirement> requirements_;
  bool nothing_ = false;
};

// Checks of label keys and values (k8s.io/apimachinery/pkg/util/validation): the texts of what is
// wrong, empty if nothing.
std::vector<std::string> IsQualifiedName(std::string_view key);
std::vector<std::string> IsValidLabelValue(std::string_view value);
std::vector<std::string> IsDns1123Label(std::string_view name);
std::vector<std::string> IsDns1123Subdomain(std::string_view name);
std::vector<std::string> IsDns1035Label(std::string_view name);
// A generateName as the beginning of a name: one that ends in a dash is checked with an `a` in place of
// its last two characters (maskTrailingDash), whatever the other one is.
std::string MaskTrailingDash(std::string_view prefix);

// metav1 validation.ValidateLabelSelector. `allow_invalid_values` skips the check of the values of
// matchExpressions, as updates of stored objects do.
FieldErrors ValidateLabelSelector(json::Value selector, const FieldPath& path,
                                  bool allow_invalid_values = false);

}  // namespace portcullis::api
