// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const Manifest* binding : facts.bindings()) {
    const json::Value ref = binding->object["spec"]["paramRef"];
    if (ref["parameterNotFoundAction"].AsString() != "Allow") continue;
    findings.Add(*binding, std::vector<std::string>{"spec", "paramRef", "parameterNotFoundAction"},
                 "without its parameter the policy admits everything");
  }
}

}  // namespace

const LintRule kMissingParameterAllows = {
    "missing-parameter-allows",
    Severity::kWarning,
    "a binding that lets everything pass while its parameter is missing",
    "A parameter that is deleted, or not there yet, switches the policy off without a "
    "word (kubernetes #141367, #130887, #124237).",
    "parameterNotFoundAction: Deny.",
    &Check};

}  // namespace portcullis::offline
