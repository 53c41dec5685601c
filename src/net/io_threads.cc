// SPDX-License-Identifier: Apache-2.0

#include "net/io_threads.h"

#include <pthread.h>

#include <algorithm>
#include <thread>

#include "net/internal/loop.h"

namespace portcullis::net {

struct IoThreads::Threads {
  std::vector<std::thread> list;
};

int IoThreads::DefaultCount() {
  constexpr unsigned kMost = 32;
  return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 2U, kMost));
}

IoThreads::IoThreads(int count) : threads_(std::make_unique<Threads>()) {
  for (int i = 0; i < std::max(count, 1); ++i) {
    auto loop = std::make_shared<internal::Loop>();
    loops_.push_back(loop);
    threads_->list.emplace_back([loop] {
      pthread_setname_np(pthread_self(), "io");
      loop->Run();
    });
  }
  // A loop knows its thread only once it runs; callers may ask InThread() right away.
  for (auto& loop : loops_) loop->RunAndWait([] {});
}

IoThreads::~IoThreads() {
  for (auto& loop : loops_) loop->Stop();
  for (auto& thread : threads_->list) thread.join();
}

base::Status IoThreads::status() const {
  for (const auto& loop : loops_) TRY(loop->status());
  return base::OkStatus();
}

const std::shared_ptr<internal::Loop>& IoThreads::Next() {
  return loops_[next_.fetch_add(1, std::memory_order_relaxed) % loops_.size()];
}

}  // namespace portcullis::net
