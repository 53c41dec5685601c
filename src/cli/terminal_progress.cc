// SPDX-License-Identifier: Apache-2.0

#include "cli/terminal_progress.h"

#include <utility>

#include "base/strings.h"

namespace portcullis::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kEmptyLine = "\r\x1b[K";

}  // namespace

TerminalProgress::TerminalProgress(const base::Clock& clock, Write write)
    : clock_(clock), write_(std::move(write)), next_(clock.Steady() + 1s) {}

TerminalProgress::~TerminalProgress() {
  const base::MutexLock lock(mutex_);
  Clear();
}

void TerminalProgress::Expect(std::size_t more) {
  const base::MutexLock lock(mutex_);
  expected_ += more;
}

void TerminalProgress::Done() {
  const base::MutexLock lock(mutex_);
  ++done_;
  if (done_ >= expected_) return Clear();
  const base::SteadyTime now = clock_.Steady();
  if (now < next_) return;
  next_ = now + 250ms;
  shown_ = true;
  write_(base::StrCat(kEmptyLine, "judged ", std::to_string(done_), " of ",
                      std::to_string(expected_), " requests"));
}

void TerminalProgress::Clear() {
  if (!std::exchange(shown_, false)) return;
  write_(kEmptyLine);
}

}  // namespace portcullis::cli
