// SPDX-License-Identifier: Apache-2.0

#include "server/worker_pool.h"

#include <pthread.h>

#include <new>
#include <system_error>
#include <utility>

#include "base/futex.h"

namespace portcullis::server {

WorkerPool::WorkerPool(std::size_t max_threads, std::chrono::milliseconds idle_limit)
    : max_threads_(max_threads), idle_limit_(idle_limit) {}

WorkerPool::~WorkerPool() {
  std::unordered_set<WorkerPtr> workers;
  std::vector<WorkerPtr> idle;
  std::vector<std::thread> ended;
  {
    base::MutexLock lock(mutex_);
    stopping_ = true;
    workers.swap(workers_);
    idle.swap(idle_);
    ended.swap(ended_);
  }
  for (const WorkerPtr& worker : idle) Call(*worker, nullptr);
  for (const WorkerPtr& worker : workers) worker->thread.join();
  for (std::thread& thread : ended) thread.join();
}

void WorkerPool::Post(Job job) {
  WorkerPtr worker;
  {
    base::MutexLock lock(mutex_);
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
  }
  Call(*worker, std::move(job));
}

std::size_t WorkerPool::threads() const {
  base::MutexLock lock(mutex_);
  return workers_.size();
}

void WorkerPool::Start(Job job) {
  for (std::thread& thread : ended_) thread.join();
  ended_.clear();
  auto worker = std::make_shared<Worker>();
  // Workers that become idle, and idle ones that end, must find room.
  idle_.reserve(workers_.size() + 1);
  ended_.reserve(workers_.size() + 1);
  workers_.insert(worker);
  worker->job = std::move(job);
  if (StartThread(worker)) return;
  // The system has no room for another thread: the job waits for one of those there are.
  workers_.erase(worker);
  queue_.push_back(std::move(worker->job));
}

bool WorkerPool::StartThread(const WorkerPtr& worker) {
  try {
    // The thread takes the mutex before it may end, so its own handle is in place by then.
    worker->thread = std::thread([this, worker] { Run(worker); });
    return true;
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void WorkerPool::Call(Worker& worker, Job job) {
  worker.job = std::move(job);
  worker.called.store(1, std::memory_order_release);
  base::FutexWake(worker.called);
}

void WorkerPool::Run(const WorkerPtr& worker) {
  pthread_setname_np(pthread_self(), "worker");
  do {
    worker->job();
    worker->job = nullptr;
  } while (Next(worker));
}

bool WorkerPool::Next(const WorkerPtr& worker) {
  {
    base::MutexLock lock(mutex_);
    if (!queue_.empty()) {
      worker->job = std::move(queue_.front());
      queue_.pop_front();
      return true;
    }
    if (stopping_) return false;
    worker->called.store(0, std::memory_order_relaxed);
    idle_.push_back(worker);
  }
  if (!base::FutexWait(worker->called, 0, idle_limit_)) {
    if (Retire(worker)) return false;
    base::FutexWait(worker->called, 0);  // somebody is about to call
  }
  return worker->job != nullptr;
}

// Takes an idle worker out of the pool. False: it is idle no more.
bool WorkerPool::Retire(const WorkerPtr& worker) {
  base::MutexLock lock(mutex_);
  if (std::erase(idle_, worker) == 0) return false;
  ended_.push_back(std::move(worker->thread));
  workers_.erase(worker);
  return true;
}

}  // namespace portcullis::server
