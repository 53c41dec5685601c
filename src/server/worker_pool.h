// WorkerPool runs requests: threads that take jobs from a queue. It starts with a few threads and
// adds one whenever a job would have to wait for a blocked one, up to the limit; how many jobs may
// be under way at all is the caller's business (filters/inflight.h).
//
// Thread-safe. The destructor finishes what is queued and joins the threads.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace portcullis::server {

class WorkerPool {
 public:
  using Job = std::function<void()>;

  explicit WorkerPool(std::size_t max_threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void Post(Job job);
  std::size_t threads() const;

 private:
  void Run();

  const std::size_t max_threads_;
  mutable base::Mutex mutex_;
  base::CondVar wake_;
  std::deque<Job> jobs_ PC_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ PC_GUARDED_BY(mutex_);
  std::size_t idle_ PC_GUARDED_BY(mutex_) = 0;
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
};

}  // namespace portcullis::server
