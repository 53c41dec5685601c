// SPDX-License-Identifier: Apache-2.0

// What a terminal shows of long work: "judged 1200 of 10000 requests", in one line that is written over and
// is gone in the end. Short work shows nothing.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "offline/progress.h"

namespace portcullis::cli {

class TerminalProgress final : public offline::Progress {
 public:
  using Write = std::function<void(std::string_view)>;
  // Nothing is written in the first second. The clock outlives it.
  TerminalProgress(const base::Clock& clock, Write write);
  ~TerminalProgress() override;

  void Expect(std::size_t more) override;
  void Done() override;

 private:
  void Clear() PC_REQUIRES(mutex_);

  const base::Clock& clock_;
  const Write write_;
  base::Mutex mutex_;
  base::SteadyTime next_ PC_GUARDED_BY(mutex_);  // when something is written again
  std::size_t expected_ PC_GUARDED_BY(mutex_) = 0;
  std::size_t done_ PC_GUARDED_BY(mutex_) = 0;
  bool shown_ PC_GUARDED_BY(mutex_) = false;
};

}  // namespace portcullis::cli
