// SPDX-License-Identifier: Apache-2.0

// FieldSelector: `metadata.name=a,status.phase!=Running` (k8s.io/apimachinery/pkg/fields).
// Value type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/schema/schema.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api {

class FieldSelector {
 public:
  struct Term {
    std::string field;
    std::string value;
    bool negated = false;
    bool operator==(const Term&) const = default;
  };

  FieldSelector() = default;  // matches everything
  // `==` is read as `=`; backslash escapes `,`, `=` and itself. Go's error texts
  // (`invalid selector: 'a'; can't understand 'a'`).
  static base::Result<FieldSelector> Parse(std::string_view text);

  // `field` values are looked up in the object: strings as they are, booleans and numbers printed,
  // absent as "", or as the schema says ("false" of a boolean, "0" of a number). `source` of events
  // and `status.successful` of jobs are no paths but stand for some.
  bool Matches(json::Value object, const schema::Schema* schema = nullptr) const;
  bool empty() const { return terms_.empty(); }
  const std::vector<Term>& terms() const { return terms_; }
  // The value a selector demands of `field` with `=`, if there is such a term.
  const std::string* RequiresExactMatch(std::string_view field) const;
  std::string ToString() const;
  bool operator==(const FieldSelector&) const = default;

 private:
  std::vector<Term> terms_;
};

}  // namespace portcullis::api
