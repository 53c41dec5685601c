// SPDX-License-Identifier: Apache-2.0

// The test file that `portcullis test --init POLICY` writes: for each operation that a policy matches a case
// with a plain object, and for each validation one to complete; with the verdicts that they have today.
#pragma once

#include <string>

#include "base/status.h"
#include "offline/inputs.h"
#include "offline/judge.h"

namespace portcullis::offline {

struct InitialTest {
  std::string path;  // beside the policy, with the ending .test.yaml
  std::string text;
};

// Of the first policy of the file. Errors: no policy in it, a flag's value.
base::Result<InitialTest> MakeInitialTest(const std::string& file, const JudgeOptions& options);

}  // namespace portcullis::offline
