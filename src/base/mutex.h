// SPDX-License-Identifier: Apache-2.0

// Mutex with annotations that clang's -Wthread-safety checks and GCC ignores.
//
//   base::Mutex mutex_;
//   int count_ PC_GUARDED_BY(mutex_) = 0;
//   { base::MutexLock lock(mutex_); ++count_; }
#pragma once

#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#if defined(__clang__)
#define PC_ATTRIBUTE(x) __attribute__((x))
#else
#define PC_ATTRIBUTE(x)
#endif
#define PC_CAPABILITY(x) PC_ATTRIBUTE(capability(x))
#define PC_SCOPED_CAPABILITY PC_ATTRIBUTE(scoped_lockable)
#define PC_GUARDED_BY(x) PC_ATTRIBUTE(guarded_by(x))
#define PC_REQUIRES(...) PC_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define PC_REQUIRES_SHARED(...) PC_ATTRIBUTE(requires_shared_capability(__VA_ARGS__))
#define PC_EXCLUDES(...) PC_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define PC_ACQUIRE(...) PC_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define PC_ACQUIRE_SHARED(...) PC_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define PC_RELEASE(...) PC_ATTRIBUTE(release_capability(__VA_ARGS__))
#define PC_RELEASE_SHARED(...) PC_ATTRIBUTE(release_shared_capability(__VA_ARGS__))
#define PC_RELEASE_GENERIC(...) PC_ATTRIBUTE(release_generic_capability(__VA_ARGS__))
#define PC_NO_THREAD_SAFETY_ANALYSIS PC_ATTRIBUTE(no_thread_safety_analysis)

namespace portcullis::base {

class PC_CAPABILITY("mutex") Mutex {
 public:
  void lock() PC_ACQUIRE() { mutex_.lock(); }
  void unlock() PC_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class PC_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) PC_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() PC_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Readers share, a writer is alone.
class PC_CAPABILITY("mutex") SharedMutex {
 public:
  void lock() PC_ACQUIRE() { mutex_.lock(); }
  void unlock() PC_RELEASE() { mutex_.unlock(); }
  void lock_shared() PC_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() PC_RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

class PC_SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) PC_ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~ReaderLock() PC_RELEASE_GENERIC() { mutex_.unlock_shared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class PC_SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) PC_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~WriterLock() PC_RELEASE() { mutex_.unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

// Waits on a Mutex that the caller holds.
class CondVar {
 public:
  void Wait(Mutex& mutex) PC_REQUIRES(mutex) { cv_.wait(mutex); }
  // False if the time has come without a notification.
  template <typename TimePoint>
  bool WaitUntil(Mutex& mutex, TimePoint deadline) PC_REQUIRES(mutex) {
    return cv_.wait_until(mutex, deadline) == std::cv_status::no_timeout;
  }
  void NotifyOne() { cv_.notify_one(); }
  void NotifyAll() { cv_.notify_all(); }

 private:
  std::condition_variable_any cv_;
};

}  // namespace portcullis::base
