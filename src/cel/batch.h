// SPDX-License-Identifier: Apache-2.0

// Expressions in bulk: one JSON object in, one out. What `portcullis cel --batch` and the
// conformance tests speak.
//
//   in:  {"id": …, "expr": "x + 1", "container": "", "check": true, "types": {"x": "int"},
//         "vars": {"x": {"$type": "int", "value": "41"}}}
//   out: {"id": …, "value": {"$type": "int", "value": "42"}}
//        {"id": …, "error": "division by zero", "phase": "parse|check|eval"}
//
// TYPED is {"$type": "int|uint|double|bool|string|bytes|null|type|timestamp|duration|list|map",
// "value": V}; a plain JSON value stands for itself.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cel/environment.h"
#include "json/value.h"

namespace portcullis::cel {

// Reads TYPED. Status: what is malformed.
base::Result<Value> ReadTyped(json::Arena& arena, const json::Value& typed);
// Writes TYPED; values of other kinds as {"$type": "<their type's name>", "value": <JSON or null>}.
// Fails if it has more than a million parts.
base::Result<json::Value> WriteTyped(json::Arena& arena, Value value);

struct BatchAnswer {
  // What is wrong with the request itself counts to the phase that would have needed it.
  enum class Phase : std::uint8_t { kOk, kParse, kCheck, kEval };
  Phase phase = Phase::kOk;
  std::string error;  // unless kOk
  json::Value value;  // TYPED, if kOk
  std::string type;   // as checked
  std::uint64_t cost = 0;
};

// Evaluates one request in an environment that extends `base`. Plain numbers are what the variable
// is declared as. The answer's value lives in `arena`.
BatchAnswer AnswerBatch(const std::shared_ptr<const Environment>& base, json::Arena& arena,
                        json::Value request, const EvalOptions& options = {});

// The same from text to text.
std::string AnswerBatchLine(const std::shared_ptr<const Environment>& base, std::string_view line,
                            const EvalOptions& options = {});

}  // namespace portcullis::cel
