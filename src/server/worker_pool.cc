#include "server/worker_pool.h"

#include <utility>

namespace portcullis::server {

WorkerPool::WorkerPool(std::size_t max_threads) : max_threads_(max_threads) {}

WorkerPool::~WorkerPool() {
  std::vector<std::thread> threads;
  {
    base::MutexLock lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
    wake_.NotifyAll();
  }
  for (std::thread& thread : threads) thread.join();
}

void WorkerPool::Post(Job job) {
  base::MutexLock lock(mutex_);
  jobs_.push_back(std::move(job));
  if (idle_ >= jobs_.size()) {
    wake_.NotifyOne();
  } else if (threads_.size() < max_threads_ && !stopping_) {
    threads_.emplace_back([this] { Run(); });
  }
}

std::size_t WorkerPool::threads() const {
  base::MutexLock lock(mutex_);
  return threads_.size();
}

void WorkerPool::Run() {
  for (;;) {
    Job job;
    {
      base::MutexLock lock(mutex_);
      ++idle_;
      while (jobs_.empty() && !stopping_) wake_.Wait(mutex_);
      --idle_;
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace portcullis::server
