// SPDX-License-Identifier: Apache-2.0

// What an operation has come to, in the form in which golden files hold it: code, headers, body.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "engine/operation.h"
#include "engine/outcome.h"
#include "engine/read/listing.h"

namespace portcullis::conformance {

// Of one operation. Annotations are those of an audit event of level Metadata, and those that the level
// Request adds. Answers are lines of JSON:
//   {"status": 201, "headers": [["Warning", "…"]], "body": "{…}", "annotations": {…},
//    "requestAnnotations": {…}}
class Answer {
 public:
  explicit Answer(engine::Operation& op) : op_(op) {}

  std::string Of(const engine::Outcome& outcome) const;
  std::string Of(const engine::Listing& listing) const;
  std::string Of(const base::Status& status) const;

 private:
  std::string Line(int code, std::string_view body, std::int64_t retry_after = 0) const;

  engine::Operation& op_;
};

}  // namespace portcullis::conformance
