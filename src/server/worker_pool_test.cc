// SPDX-License-Identifier: Apache-2.0

#include "server/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace portcullis::server {
namespace {

// Holds jobs until it is opened.
class Gate {
 public:
  void Pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void AwaitWaiting(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= count; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

TEST(WorkerPoolTest, AJobDoesNotWaitForBlockedOnes) {
  Gate gate;
  WorkerPool pool(20);
  for (int i = 0; i < 10; ++i) pool.Post([&] { gate.Pass(); });
  gate.AwaitWaiting(10);
  Gate done;
  pool.Post([&] { done.Open(); });
  done.Pass();
  EXPECT_GE(pool.threads(), 11U);
  gate.Open();
}

TEST(WorkerPoolTest, QueuesBeyondTheLimitAndFinishesAllBeforeItEnds) {
  std::atomic<int> ran{0};
  Gate gate;
  {
    WorkerPool pool(2);
    for (int i = 0; i < 50; ++i) {
      pool.Post([&] {
        gate.Pass();
        ++ran;
      });
    }
    gate.AwaitWaiting(2);
    EXPECT_EQ(pool.threads(), 2U);
    gate.Open();
  }
  EXPECT_EQ(ran, 50);
}

TEST(WorkerPoolTest, ThreadsThatNobodyNeedsEnd) {
  WorkerPool pool(10, std::chrono::milliseconds(1));
  Gate gate;
  for (int i = 0; i < 5; ++i) pool.Post([&] { gate.Pass(); });
  gate.AwaitWaiting(5);
  gate.Open();
  while (pool.threads() > 0) std::this_thread::yield();
  // And come back.
  Gate again;
  pool.Post([&] { again.Open(); });
  again.Pass();
}

}  // namespace
}  // namespace portcullis::server
