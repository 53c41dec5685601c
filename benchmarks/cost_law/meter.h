// SPDX-License-Identifier: Apache-2.0

// What one request costs: the work of the whole process and the memory it allocates.
//
// Work is counted in instructions where the kernel lends a hardware counter (perf_event_open), else
// in nanoseconds of processor time. Memory is counted exactly, by the program's own operator new:
// the sum of everything allocated, and the most that was held at once above what was held before.
#pragma once

#include <cstdint>
#include <string_view>

namespace portcullis::cost_law {

struct Cost {
  double work = 0;
  double allocated = 0;  // bytes
  double peak = 0;       // bytes
};

// One at a time in a process. Must be made before the threads whose work it counts are started.
class Meter {
 public:
  Meter();
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  // True if work is counted in instructions, which do not vary with the load of the machine.
  bool exact() const { return counter_ >= 0; }
  std::string_view unit() const { return exact() ? "instructions" : "ns of CPU"; }

  void Start();
  Cost Stop();  // since Start()

  // Blocks until the process does nothing, a second at most: what an earlier request has left to
  // do in the background would be counted, too.
  void AwaitIdle() const;

 private:
  double Work() const;

  int counter_ = -1;
  double work_ = 0;
  std::uint64_t allocated_ = 0;
  std::int64_t held_ = 0;
};

}  // namespace portcullis::cost_law
