// SPDX-License-Identifier: Apache-2.0

// Diff: what two clusters (two sets of policies, two releases of Kubernetes) make of the same requests, as
// far as it differs: verdicts, messages, warnings, audit annotations, objects in the end.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "offline/inputs.h"
#include "offline/judge.h"
#include "offline/result.h"

namespace portcullis::offline {

// One of the two: the manifests of the requests come first, then those of its own.
struct DiffSide {
  Inputs inputs;
  JudgeOptions options;
};

struct Difference {
  Result before;
  Result after;
  std::string patch;  // JSON Patch between the objects; "" if they are equal
};

struct DiffReport {
  std::vector<Difference> differences;
  std::vector<Problem> problems;  // of both sides
  std::size_t same = 0;
};

// The sides have the same requests in the same order. Errors are the user's: a flag's value, a file.
base::Result<DiffReport> Diff(const DiffSide& before, const DiffSide& after);

std::string DiffAsText(const DiffReport& report);
std::string DiffAsJson(const DiffReport& report);
std::string DiffAsYaml(const DiffReport& report);
// For the other forms (report/format.h): a result that fails for each difference.
Report DiffAsReport(const DiffReport& report);

// The files of a folder in a git revision ("main:policies") as `git archive` gives them, a tar archive.
// Errors: what is not one.
base::Status ReadTar(const std::string& revision, std::string_view archive, Inputs& inputs);

}  // namespace portcullis::offline
