// SPDX-License-Identifier: Apache-2.0

#include "net/internal/loop.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <ctime>
#include <mutex>

#include "base/allocation_failure.h"
#include "base/file.h"
#include "base/strings.h"
#include "net/internal/stream.h"

namespace portcullis::net::internal {
namespace {

constexpr std::uint64_t kWakeupToken = ~std::uint64_t{0};
constexpr int kEventsPerWait = 128;
constexpr int kLookAgain = 10;  // milliseconds
constexpr std::uint32_t kHangups = EPOLLRDHUP | EPOLLET;
constexpr std::uint32_t kAllEvents = EPOLLIN | EPOLLOUT | kHangups;

thread_local Loop* own_loop = nullptr;  // whose thread this is

}  // namespace

Loop::Loop() : clock_(base::SystemClock()) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) errno_ = errno;
  wakeup_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wakeup_ < 0) errno_ = errno;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = kWakeupToken;
  if (wakeup_ >= 0 && epoll_ctl(epoll_, EPOLL_CTL_ADD, wakeup_, &event) != 0) {
    errno_ = errno;
    close(wakeup_);
    wakeup_ = -1;
  }
}

Loop::~Loop() {
  if (wakeup_ >= 0) close(wakeup_);
  if (epoll_ >= 0) close(epoll_);
}

base::Status Loop::status() const {
  if (epoll_ >= 0 && wakeup_ >= 0) return base::OkStatus();
  return base::ConfigError(
      base::StrCat("cannot wait for sockets: ", epoll_ < 0 ? "epoll_create1" : "eventfd", ": ",
                   base::ErrnoText(errno_)));
}

int Loop::Wait(std::span<epoll_event> events, int timeout) const {
  if (epoll_ >= 0 && wakeup_ >= 0) {
    return epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout);
  }
  // Nothing can wake this thread, so it looks now and then.
  poll(nullptr, 0, timeout < 0 ? kLookAgain : std::min(timeout, kLookAgain));
  return 0;
}

void Loop::Run() {
  std::unique_lock turn(turn_);
  own_thread_ = std::this_thread::get_id();
  own_loop = this;
  thread_ = own_thread_;
  std::array<epoll_event, kEventsPerWait> events{};
  while (!stopping_) {
    int timeout = RunTimers();
    if (!deferred_.empty()) {
      RunDeferred();
      timeout = 0;  // it may have set timers that are due before those that RunTimers() has seen
    }
    // In this order: a task posted after the look finds the loop asleep and wakes it.
    sleeping_ = true;
    if (HasTasks()) timeout = 0;
    turn.unlock();
    const int count = Wait(events, timeout);
    turn.lock();
    sleeping_ = false;
    for (int i = 0; i < count; ++i) {
      const auto& event = events[static_cast<std::size_t>(i)];
      if (event.data.u64 != kWakeupToken) Dispatch(event.data.u64, event.events);
    }
    RunTasks();
    RunDeferred();
  }
  ended_ = true;
  deferred_.clear();
  std::vector<std::unique_ptr<Task>> dropped;
  {
    base::MutexLock lock(mutex_);
    dropped.swap(tasks_);
  }
  timers_.clear();
}

void Loop::Stop() {
  {
    base::MutexLock lock(mutex_);
    stopped_ = true;
  }
  stopping_ = true;
  WakeUp();
}

void Loop::WakeUp() {
  // Never read: being edge-triggered, every write is an event.
  const std::uint64_t one = 1;
  while (write(wakeup_, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

bool Loop::PostTask(std::unique_ptr<Task> task) {
  {
    base::MutexLock lock(mutex_);
    if (stopped_) return false;
    tasks_.push_back(std::move(task));
  }
  if (sleeping_ && sleeping_.exchange(false)) WakeUp();
  return true;
}

bool Loop::TakeTurn() {
  if (!turn_.try_lock()) return false;
  if (sleeping_ && !ended_) {
    thread_ = std::this_thread::get_id();
    return true;
  }
  turn_.unlock();
  return false;
}

void Loop::GiveTurnBack() {
  RunDeferred();
  thread_ = own_thread_;
  const bool earlier = !timers_.empty() && timers_.begin()->first.time < sleeps_until_;
  turn_.unlock();
  if (earlier) WakeUp();
}

bool Loop::HasTasks() {
  base::MutexLock lock(mutex_);
  return !tasks_.empty();
}

void Loop::RunTasks() {
  std::vector<std::unique_ptr<Task>> tasks;
  {
    base::MutexLock lock(mutex_);
    tasks.swap(tasks_);
  }
  for (auto& task : tasks) {
    base::UnlessMemoryRunsOut([&] { task->Run(); });
    task.reset();
  }
}

void Loop::RunDeferred() {
  while (!deferred_.empty()) {
    std::vector<std::function<void()>> tasks;
    tasks.swap(deferred_);
    for (auto& task : tasks) base::UnlessMemoryRunsOut(task);
  }
}

void Loop::RunAndWait(const std::function<void()>& task) {
  if (InThread()) return task();
  struct Gate {
    std::mutex mutex;
    std::condition_variable condition;
    bool done = false;
  };
  auto gate = std::make_shared<Gate>();
  // Opens the gate also when the task is dropped unrun.
  struct Opener {
    explicit Opener(std::shared_ptr<Gate> g) : gate(std::move(g)) {}
    Opener(Opener&&) = default;
    ~Opener() {
      if (!gate) return;
      const std::lock_guard<std::mutex> lock(gate->mutex);
      gate->done = true;
      gate->condition.notify_all();
    }
    std::shared_ptr<Gate> gate;
  };
  Post([&task, opener = Opener(gate)] { task(); });
  std::unique_lock<std::mutex> lock(gate->mutex);
  gate->condition.wait(lock, [&] { return gate->done; });
}

bool Loop::RunOnFiber(std::function<void()> work) {
  if (own_loop != this || base::Fiber::Current() != nullptr) {
    return Post([this, task = std::move(work)]() mutable { RunOnFiber(std::move(task)); });
  }
  if (!base::Fiber::Run(stacks_, std::move(work))) work();
  return true;
}

Loop* Loop::OfFiber() { return base::Fiber::MayHoldThread() ? nullptr : own_loop; }

std::uint64_t Loop::Take(Sink& sink) {
  std::uint32_t index = 0;
  if (free_slots_.empty()) {
    index = static_cast<std::uint32_t>(slots_.size());
    free_slots_.reserve(slots_.size() + 1);  // Remove() must find room
    slots_.emplace_back();
  } else {
    index = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[index].sink = &sink;
  return (std::uint64_t{slots_[index].generation} << 32U) | index;
}

void Loop::Release(std::uint64_t token) {
  const auto index = static_cast<std::uint32_t>(token);
  slots_[index].sink = nullptr;
  // Events of this batch that still carry the old token find another generation.
  slots_[index].generation = (slots_[index].generation + 1) & 0x7fffffffU;
  free_slots_.push_back(index);
}

int Loop::Register(int fd, std::uint64_t token) const {
  epoll_event event{};
  event.events = kAllEvents;
  event.data.u64 = token;
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

base::Result<std::uint64_t> Loop::TryAdd(int fd, Sink& sink) {
  const std::uint64_t token = Take(sink);
  if (const int error = Register(fd, token); error != 0) {
    Release(token);
    return base::ConfigError(base::StrCat("epoll_ctl: ", base::ErrnoText(error)));
  }
  return token;
}

std::uint64_t Loop::Add(int fd, Sink& sink) {
  const std::uint64_t token = Take(sink);
  if (Register(fd, token) != 0) {
    shutdown(fd, SHUT_RDWR);
    Defer([this, token] { Dispatch(token, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP); });
  }
  return token;
}

void Loop::Remove(std::uint64_t token, int fd) {
  const auto index = static_cast<std::uint32_t>(token);
  if (slots_[index].generation != static_cast<std::uint32_t>(token >> 32U)) return;
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  Release(token);
}

void Loop::Watch(std::uint64_t token, int fd, bool only_hangups) {
  epoll_event event{};
  event.events = only_hangups ? kHangups : kAllEvents;
  event.data.u64 = token;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void Loop::Dispatch(std::uint64_t token, std::uint32_t events) {
  const auto index = static_cast<std::uint32_t>(token);
  if (index >= slots_.size()) return;
  const Slot slot = slots_[index];
  if (slot.sink == nullptr || slot.generation != static_cast<std::uint32_t>(token >> 32U)) return;
  const Readiness readiness{.readable = (events & EPOLLIN) != 0,
                            .writable = (events & EPOLLOUT) != 0,
                            .hangup = (events & (EPOLLRDHUP | EPOLLHUP)) != 0,
                            .broken = (events & (EPOLLHUP | EPOLLERR)) != 0};
  base::UnlessMemoryRunsOut([&] { slot.sink->OnReady(readiness); });
}

Loop::TimerKey Loop::At(base::SteadyTime time, std::function<void()> fn) {
  const TimerKey key{time, next_timer_++};
  timers_.emplace(key, std::move(fn));
  return key;
}

void Loop::Cancel(const TimerKey& key) { timers_.erase(key); }

int Loop::RunTimers() {
  sleeps_until_ = base::SteadyTime::max();
  if (timers_.empty()) return -1;
  auto time = now();
  while (!timers_.empty() && timers_.begin()->first.time <= time) {
    auto node = timers_.extract(timers_.begin());
    base::UnlessMemoryRunsOut(node.mapped());
  }
  if (timers_.empty()) return -1;
  time = now();
  sleeps_until_ = timers_.begin()->first.time;
  const auto left = sleeps_until_ - time;
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<std::int64_t>(milliseconds, 0, 60'000));
}

const std::string& Loop::HttpDate() {
  const std::time_t second = std::chrono::system_clock::to_time_t(clock_.Now());
  if (second != date_second_) {
    std::tm parts{};
    gmtime_r(&second, &parts);
    std::array<char, 40> text{};
    const auto size = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    date_.assign(text.data(), size);
    date_second_ = second;
  }
  return date_;
}

}  // namespace portcullis::net::internal
