// SPDX-License-Identifier: Apache-2.0

// What was judged of a case, against what is expected of it.
#pragma once

#include <string>

#include "offline/result.h"
#include "offline/suites/suite.h"

namespace portcullis::offline {

// Whether what was judged is what is expected.
bool Holds(const Expectation& expect, const Result& judged);

// The result of the case: passed, or failed with what differs. It has the object, code, warnings and
// annotations of what was judged.
Result Compare(const Case& one, const std::string& suite, const Result& judged);

// A note about the cases that were not run: "12 cases are not run: policy a (ClusterPolicy) needs
// Kyverno (10), …".
void NoteNotRun(Report& report);

}  // namespace portcullis::offline
