// SPDX-License-Identifier: Apache-2.0

// What a step of a scenario expects, held against the outcome of an operation.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "engine/operation.h"
#include "engine/outcome.h"
#include "json/value.h"

namespace portcullis::engine::testing {

// Names that `expect` may have; see scenario.h for what they mean.
std::vector<std::string_view> ExpectationNames();

// What differs from `expect`, a text each; empty if the outcome is as expected.
std::vector<std::string> Differences(Operation& op, json::Value expect,
                                     const base::Result<Outcome>& outcome);

// An object or a Status without what differs from one server to the next: uid, resourceVersion,
// creationTimestamp and managedFields are left out, the name that generateName became ends in "(random)",
// and in texts uids are "(uid)", times in whole seconds "(time)", versions of quoted objects "(version)".
// tests/reference/scenarios.py does the same with what a kube-apiserver answers.
json::Value Normalized(json::Arena& arena, json::Value object);

}  // namespace portcullis::engine::testing
