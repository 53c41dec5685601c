// SPDX-License-Identifier: Apache-2.0

#include "registry/batch/job_indexes.h"

#include "base/strings.h"
#include "golang/strconv.h"
#include "registry/validation/checks.h"

namespace portcullis::registry {
namespace {

// An index below `completions`; an error's text otherwise.
std::string ParseIndex(std::string_view text, std::int64_t completions, std::int64_t& index) {
  const auto number = golang::Atoi(text);
  if (!number.ok()) {
    return base::StrCat("cannot convert string to integer for index: ", Quoted(text));
  }
  if (*number >= completions) return base::StrCat("too large index: ", Quoted(text));
  index = *number;
  return "";
}

std::string Falling(std::int64_t before, std::int64_t now) {
  return base::StrCat("non-increasing order, previous: ", std::to_string(before),
                      ", current: ", std::to_string(now));
}

std::string ParseInterval(std::string_view text, std::int64_t completions,
                          std::pair<std::int64_t, std::int64_t>& interval) {
  const auto ends = base::Split(text, '-');
  if (ends.size() > 2) {
    return base::StrCat("the fragment ", Quoted(text),
                        " violates the requirement that an index interval can have at most two "
                        "parts separated by '-'");
  }
  std::string wrong = ParseIndex(ends[0], completions, interval.first);
  interval.second = interval.first;
  if (!wrong.empty() || ends.size() == 1) return wrong;
  wrong = ParseIndex(ends[1], completions, interval.second);
  if (!wrong.empty() || interval.first < interval.second) return wrong;
  return Falling(interval.first, interval.second);
}

}  // namespace

JobIndexes ParseJobIndexes(std::string_view text, std::int64_t completions) {
  JobIndexes indexes;
  if (text.empty()) return indexes;
  for (const std::string_view part : base::Split(text, ',')) {
    std::pair<std::int64_t, std::int64_t> interval;
    std::string wrong = ParseInterval(part, completions, interval);
    if (wrong.empty()) {
      if (!indexes.intervals.empty() && indexes.intervals.back().second >= interval.first) {
        wrong = Falling(indexes.intervals.back().second, interval.first);
      }
      indexes.intervals.push_back(interval);
      indexes.total += interval.second - interval.first + 1;
    }
    if (indexes.wrong.empty()) indexes.wrong = std::move(wrong);
  }
  if (!indexes.wrong.empty()) indexes.total = 0;
  return indexes;
}

}  // namespace portcullis::registry
