// SPDX-License-Identifier: Apache-2.0

// Test files: requests with what is expected of them, beside a policy (docs/offline-tests.md).
//
//   apiVersion: portcullis.dev/v1
//   kind: Test
//   metadata: {name: replica-limit}
//   files: [PATH, …]                         # what the cluster has, relative to this file
//   object: {…}                              # what cases begin with
//   cases:
//   - name: seven are too many
//     set: {spec.replicas: 7}
//     expect: {verdict: deny, message: {contains: at most 5}}
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "offline/inputs.h"
#include "offline/result.h"
#include "offline/review.h"

namespace portcullis::offline {

bool IsTest(const Manifest& manifest);

// One case of a test file, ready to be judged.
struct Case {
  Review review;  // its `resource` is not known yet
  std::string name;
  std::vector<std::string> steps;  // to the case in the test's object
  json::Value expect;
};

struct TestFile {
  std::string name;
  Inputs inputs;  // of `files`
  std::vector<Case> cases;
};

// Values live in `arena` and in that of the manifest. `wrong` receives the place of an error.
base::Result<TestFile> ReadTest(json::Arena& arena, const Manifest& manifest, Location& wrong);

// Turns what was judged of the case into a result of the case: passed, or failed with what differs.
Result Compare(const Case& one, const Manifest& test, const std::string& test_name,
               const Result& judged);

}  // namespace portcullis::offline
