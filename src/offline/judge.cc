// SPDX-License-Identifier: Apache-2.0

#include "offline/judge.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "offline/judging.h"
#include "offline/report/format.h"

namespace portcullis::offline {

std::string_view VerdictText(Verdict verdict) {
  constexpr std::string_view kTexts[] = {"allow", "deny", "error", "skip", "pass", "fail"};
  return kTexts[static_cast<std::size_t>(verdict)];
}

std::size_t Report::Count(Verdict verdict) const {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(),
                    [&](const Result& result) { return result.verdict == verdict; }));
}

std::size_t Report::warnings() const {
  std::size_t count = 0;
  for (const Result& result : results) count += result.is_case ? 0 : result.warnings.size();
  return count;
}

std::size_t Report::refusals() const {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(),
                    [](const Result& result) { return IsRefusal(result.verdict); }));
}

base::Result<Report> Judge(const Inputs& inputs, const JudgeOptions& options) {
  Judging judging(inputs, options);
  TRY(judging.Begin());
  Report report = std::move(judging.report());
  report.problems.insert(report.problems.begin(), inputs.problems.begin(), inputs.problems.end());
  report.files = inputs.files;
  report.ignored = inputs.ignored;
  if (options.run) {
    std::erase_if(report.results,
                  [&](const Result& result) { return !options.run->Finds(NameOf(result)); });
  }
  return report;
}

}  // namespace portcullis::offline
