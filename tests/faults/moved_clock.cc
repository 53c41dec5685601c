// SPDX-License-Identifier: Apache-2.0

// Moves the wall clock of a program, for tests of the whole server:
//
//   LD_PRELOAD=libmoved_clock.so MOVED_CLOCK=file portcullis serve …
//
// `file` holds a 64-bit number of seconds, which a test may change at any time: by so much the wall
// clock is ahead. The steady clock, by which the program waits, stays as it is.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

namespace {

int64_t Ahead() {
  static const volatile int64_t* const seconds = []() -> const volatile int64_t* {
    const char* path = getenv("MOVED_CLOCK");
    const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* mapped = mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    return mapped == MAP_FAILED ? nullptr : static_cast<const int64_t*>(mapped);
  }
  ();
  return seconds == nullptr ? 0 : *seconds;
}

template <typename F>
F* Next(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const next = Next<int(clockid_t, timespec*)>("clock_gettime");
  const int result = next(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    time->tv_sec += Ahead();
  }
  return result;
}

int gettimeofday(timeval* __restrict time, void* __restrict zone) noexcept {
  static auto* const next = Next<int(timeval*, void*)>("gettimeofday");
  const int result = next(time, zone);
  if (result == 0) time->tv_sec += Ahead();
  return result;
}

time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
