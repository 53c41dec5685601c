// WorkerPool runs requests, each on one thread from beginning to end. A job goes to the thread that
// became idle last (its stack and memory are still warm), to a new one if none is idle, and waits
// only if there are as many as may be; a thread that nobody needs for a while ends. How many jobs
// may be under way at all is the caller's business (dispatcher.h).
//
// Thread-safe. The destructor finishes what is queued and joins the threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

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
    std::condition_variable wake;
    Job job;  // what it does next
  };
  using WorkerPtr = std::shared_ptr<Worker>;

  void Start(Job job);  // REQUIRES: mutex_ is held
  void Run(const WorkerPtr& worker);
  // Waits for the next job; false: the thread ends. REQUIRES: `lock` is held.
  bool Next(const WorkerPtr& worker, std::unique_lock<std::mutex>& lock);

  const std::size_t max_threads_;
  const std::chrono::milliseconds idle_limit_;
  // A plain mutex, as each worker has a condition of its own to wait on; guards what follows.
  mutable std::mutex mutex_;
  std::deque<Job> queue_;  // while every thread that may be is busy
  std::unordered_set<WorkerPtr> workers_;
  std::vector<WorkerPtr> idle_;     // the last one became idle last
  std::vector<std::thread> ended_;  // to be joined
  bool stopping_ = false;
};

}  // namespace portcullis::server
