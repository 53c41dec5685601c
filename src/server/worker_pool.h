// SPDX-License-Identifier: Apache-2.0

// WorkerPool runs requests, each on one thread from beginning to end. A job goes to the thread that
// became idle last (its stack and memory are still warm), to a new one if none is idle, and waits
// only if there are as many as may be; a thread that has no job for a while ends. How many jobs
// may be under way at all is the caller's business (dispatcher.h).
//
// Thread-safe. The destructor finishes what is queued and joins the threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"

namespace portcullis::server {

class WorkerPool {
 public:
  using Job = std::function<void()>;
  static constexpr std::chrono::milliseconds kIdleLimit{30'000};

  explicit WorkerPool(std::size_t max_threads, std::chrono::milliseconds idle_limit = kIdleLimit);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void Post(Job job);
  std::size_t threads() const;

 private:
  struct Worker {
    std::thread thread;
    // What it does next, null: end. Of an idle one, it belongs to who took it off `idle_`.
    Job job;
    std::atomic<int> called{0};
  };
  using WorkerPtr = std::shared_ptr<Worker>;

  void Start(Job job) PC_REQUIRES(mutex_);
  bool StartThread(const WorkerPtr& worker) PC_REQUIRES(mutex_);
  void Run(const WorkerPtr& worker);
  bool Next(const WorkerPtr& worker);  // waits for the next job; false: the thread ends
  bool Retire(const WorkerPtr& worker);
  static void Call(Worker& worker, Job job);

  const std::size_t max_threads_;
  const std::chrono::milliseconds idle_limit_;
  mutable base::Mutex mutex_;
  std::deque<Job> queue_ PC_GUARDED_BY(mutex_);  // while every thread that may be is busy
  std::unordered_set<WorkerPtr> workers_ PC_GUARDED_BY(mutex_);
  std::vector<WorkerPtr> idle_ PC_GUARDED_BY(mutex_);     // the last one became idle last
  std::vector<std::thread> ended_ PC_GUARDED_BY(mutex_);  // to be joined
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
};

}  // namespace portcullis::server
