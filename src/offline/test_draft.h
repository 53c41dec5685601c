// SPDX-License-Identifier: Apache-2.0

// The test file that `portcullis test --init POLICY` writes: for each operation that a policy matches a case
// with a plain object, and cases with changes of it that make each condition, validation, operand of && and ||
// and condition of ?: true and false. They are found by trying; for what none reaches there is a case to
// complete. All have the verdicts of today.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "offline/inputs.h"
#include "offline/judge.h"

namespace portcullis::offline {

struct InitialTest {
  std::string path;  // beside the policy, with the ending .test.yaml
  std::string text;
};

// Of the first policy of the file. `more` are files that the test names besides, such as parameters. Errors: no
// policy in it, a flag's value.
base::Result<InitialTest> MakeInitialTest(const std::string& file,
                                          std::span<const std::string> more,
                                          const JudgeOptions& options);

}  // namespace portcullis::offline
