// SPDX-License-Identifier: Apache-2.0

// matchConditions: the interface between those who own conditions (webhooks, policies) and the CEL
// environment that evaluates them. kube_cel implements it; without one, conditions are errors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/request.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::admission::match {

struct MatchCondition {
  std::string name;
  std::string expression;
  bool operator==(const MatchCondition&) const = default;
};

std::vector<MatchCondition> ParseMatchConditions(json::Value list);

// What conditions are evaluated on: the versioned objects of the invocation, while request.resource
// stays that of the original request.
struct ConditionInput {
  const Request* request = nullptr;
  api::GroupVersionKind kind;  // the matched kind
  json::Value object;
  json::Value old_object;
};

struct ConditionOutcome {
  enum class Verdict : std::uint8_t { kMatch, kNoMatch, kError };
  Verdict verdict = Verdict::kMatch;
  std::string failed_condition;  // the first false one
  // For kError: the text to show, duplicates removed, several as `[a, b]`.
  std::string error;
  int erroring_expressions = 0;  // scanned before the first false one
  std::uint64_t cost = 0;        // of all of them
};

// The compiled conditions of one webhook or policy. Immutable after construction.
class ConditionProgram {
 public:
  virtual ~ConditionProgram() = default;
  virtual ConditionOutcome Evaluate(const ConditionInput& input) const = 0;
};

class ConditionEvaluator {
 public:
  virtual ~ConditionEvaluator() = default;
  // Never fails: a condition that does not compile is an error at every evaluation.
  virtual std::shared_ptr<const ConditionProgram> Compile(
      std::vector<MatchCondition> conditions) const = 0;
};

}  // namespace portcullis::admission::match
