// SPDX-License-Identifier: Apache-2.0

#include "base/stack_size.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>

namespace portcullis::base {

void RaiseStackSize() {
  // The kernel lets the first thread's stack grow to the limit of the moment.
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kStackSize) {
    limit.rlim_cur = std::min<rlim_t>(kStackSize, limit.rlim_max);
    setrlimit(RLIMIT_STACK, &limit);
  }
  // The C library has looked at the limit when the process began.
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  std::size_t size = 0;
  if (pthread_attr_getstacksize(&attributes, &size) == 0 && size < kStackSize &&
      pthread_attr_setstacksize(&attributes, kStackSize) == 0) {
    pthread_setattr_default_np(&attributes);
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace portcullis::base
