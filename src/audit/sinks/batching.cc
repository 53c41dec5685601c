// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <deque>
#include <iterator>
#include <thread>
#include <utility>

#include "audit/sink.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/mutex.h"

namespace portcullis::audit {
namespace {

base::SteadyTime Now() { return base::SystemClock().Steady(); }

// Events wait in a bounded queue for a thread that writes them in batches.
class Batching final : public Sink {
 public:
  Batching(std::unique_ptr<Sink> behind, const BatchOptions& options)
      : behind_(std::move(behind)), options_(options), thread_([this] { Run(); }) {}
  ~Batching() override {
    {
      base::MutexLock lock(mutex_);
      stopping_ = true;
    }
    changed_.NotifyAll();
    thread_.join();
  }

  base::Status Write(std::string event) override {
    base::MutexLock lock(mutex_);
    if (queue_.size() >= options_.buffer_size) {
      return {base::Reason::kServiceUnavailable, "audit buffer queue blocked"};
    }
    queue_.push_back(std::move(event));
    if (queue_.size() == 1 || queue_.size() >= options_.max_batch) changed_.NotifyAll();
    return base::OkStatus();
  }

  void Flush() override {
    base::MutexLock lock(mutex_);
    const std::uint64_t wanted = written_ + in_work_ + queue_.size();
    flush_ = true;
    changed_.NotifyAll();
    while (written_ < wanted) changed_.Wait(mutex_);
  }

 private:
  void Run() {
    const base::NeedsMemory needs;
    for (;;) {
      std::vector<std::string> batch;
      {
        base::MutexLock lock(mutex_);
        while (queue_.empty() && !stopping_) {
          flush_ = false;
          changed_.Wait(mutex_);
        }
        if (queue_.empty()) return;
        Gather();
        Throttle();
        const auto end = queue_.begin() +
                         static_cast<std::ptrdiff_t>(std::min(queue_.size(), options_.max_batch));
        batch.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
        queue_.erase(queue_.begin(), end);
        in_work_ = batch.size();
      }
      WriteAll(std::move(batch));
    }
  }

  // Waits until the batch is full or has waited long enough.
  void Gather() PC_REQUIRES(mutex_) {
    const auto deadline = Now() + options_.max_wait;
    while (queue_.size() < options_.max_batch && !stopping_ && !flush_) {
      if (!changed_.WaitUntil(mutex_, deadline)) return;
    }
  }

  // Waits until the next batch may go: a bucket of `burst` tokens that is filled again with time.
  void Throttle() PC_REQUIRES(mutex_) {
    if (options_.batches_per_second <= 0) return;
    const auto token = std::chrono::duration_cast<base::Duration>(
        std::chrono::duration<double>(1 / options_.batches_per_second));
    const auto next = full_at_ - (options_.burst - 1) * token;
    while (!stopping_ && changed_.WaitUntil(mutex_, next)) {
    }
    full_at_ = std::max(full_at_, Now()) + token;
  }

  void WriteAll(std::vector<std::string> batch) {
    const std::size_t count = batch.size();
    for (std::string& event : batch) {
      const base::Status written = behind_->Write(std::move(event));
      if (!written.ok()) {
        base::LogError("audit event is lost", {{"error", written.message()}});
      }
    }
    behind_->Flush();
    {
      base::MutexLock lock(mutex_);
      written_ += count;
      in_work_ = 0;
    }
    changed_.NotifyAll();
  }

  const std::unique_ptr<Sink> behind_;
  const BatchOptions options_;
  base::Mutex mutex_;
  base::CondVar changed_;
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
  bool flush_ PC_GUARDED_BY(mutex_) = false;
  base::SteadyTime full_at_ PC_GUARDED_BY(mutex_);  // when the bucket of Throttle() is full again
  std::uint64_t written_ PC_GUARDED_BY(mutex_) = 0;
  std::size_t in_work_ PC_GUARDED_BY(mutex_) = 0;
  std::deque<std::string> queue_ PC_GUARDED_BY(mutex_);
  std::thread thread_;  // last: uses everything above
};

class Forgiving final : public Sink {
 public:
  explicit Forgiving(std::unique_ptr<Sink> behind) : behind_(std::move(behind)) {}
  base::Status Write(std::string event) override {
    const base::Status written = behind_->Write(std::move(event));
    if (!written.ok()) base::LogError("audit event lost", {{"error", written.message()}});
    return base::OkStatus();
  }
  void Flush() override { behind_->Flush(); }

 private:
  const std::unique_ptr<Sink> behind_;
};

class Tee final : public Sink {
 public:
  explicit Tee(std::vector<std::unique_ptr<Sink>> sinks) : sinks_(std::move(sinks)) {}
  base::Status Write(std::string event) override {
    base::Status first;
    for (const auto& sink : sinks_) {
      base::Status written = sink->Write(event);
      if (first.ok()) first = std::move(written);
    }
    return first;
  }
  void Flush() override {
    for (const auto& sink : sinks_) sink->Flush();
  }

 private:
  const std::vector<std::unique_ptr<Sink>> sinks_;
};

}  // namespace

std::unique_ptr<Sink> MakeBatching(std::unique_ptr<Sink> behind, const BatchOptions& options) {
  return std::make_unique<Batching>(std::move(behind), options);
}

std::unique_ptr<Sink> MakeForgiving(std::unique_ptr<Sink> behind) {
  return std::make_unique<Forgiving>(std::move(behind));
}

std::unique_ptr<Sink> MakeTee(std::vector<std::unique_ptr<Sink>> sinks) {
  return std::make_unique<Tee>(std::move(sinks));
}

}  // namespace portcullis::audit
