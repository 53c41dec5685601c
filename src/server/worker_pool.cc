#include "server/worker_pool.h"

#include <pthread.h>

#include <utility>

namespace portcullis::server {

WorkerPool::WorkerPool(std::size_t max_threads, std::chrono::milliseconds idle_limit)
    : max_threads_(max_threads), idle_limit_(idle_limit) {}

WorkerPool::~WorkerPool() {
  std::unordered_set<WorkerPtr> workers;
  std::vector<std::thread> ended;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    workers.swap(workers_);
    ended.swap(ended_);
    for (const WorkerPtr& worker : idle_) worker->wake.notify_one();
    idle_.clear();
  }
  for (const WorkerPtr& worker : workers) worker->thread.join();
  for (std::thread& thread : ended) thread.join();
}

void WorkerPool::Post(Job job) {
  WorkerPtr worker;
  {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      if (workers_.size() < max_threads_ && !stopping_) {
        Start(std::move(job));
      } else {
        queue_.push_back(std::move(job));
      }
      return;
    }
    worker = std::move(idle_.back());
    idle_.pop_back();
    worker->job = std::move(job);
  }
  worker->wake.notify_one();
}

std::size_t WorkerPool::threads() const {
  const std::lock_guard lock(mutex_);
  return workers_.size();
}

void WorkerPool::Start(Job job) {
  for (std::thread& thread : ended_) thread.join();
  ended_.clear();
  auto worker = std::make_shared<Worker>();
  worker->job = std::move(job);
  workers_.insert(worker);
  // The thread takes the mutex first, so it finds its own handle in place.
  worker->thread = std::thread([this, worker] { Run(worker); });
}

void WorkerPool::Run(const WorkerPtr& worker) {
  pthread_setname_np(pthread_self(), "worker");
  std::unique_lock lock(mutex_);
  do {
    Job job = std::exchange(worker->job, nullptr);
    lock.unlock();
    job();
    job = nullptr;  // outside the lock
    lock.lock();
  } while (Next(worker, lock));
}

bool WorkerPool::Next(const WorkerPtr& worker, std::unique_lock<std::mutex>& lock) {
  if (!queue_.empty()) {
    worker->job = std::move(queue_.front());
    queue_.pop_front();
    return true;
  }
  if (stopping_) return false;
  idle_.push_back(worker);
  const auto called = [&] { return worker->job != nullptr || stopping_; };
  if (worker->wake.wait_for(lock, idle_limit_, called)) return worker->job != nullptr;
  std::erase(idle_, worker);
  ended_.push_back(std::move(worker->thread));
  workers_.erase(worker);
  return false;
}

}  // namespace portcullis::server
