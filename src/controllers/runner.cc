// SPDX-License-Identifier: Apache-2.0

#include "controllers/runner.h"

#include "base/memory_reserve.h"
#include "store/uninitialized.h"

namespace portcullis::controllers {

ControllerRunner::ControllerRunner(const ControllerInfo& info, const ControllerContext& context,
                                   store::Store& store)
    : info_(info), context_(context), controller_(info.create(context)), store_(store) {}

ControllerRunner::~ControllerRunner() { Stop(); }

void ControllerRunner::Start() {
  // An empty list of collections hears everything.
  subscription_ =
      store_.Subscribe({info_.hears.begin(), info_.hears.end()}, *this, [this] { AddExisting(); });
  thread_ = std::thread([this] { Run(); });
}

void ControllerRunner::AddExisting() {
  const auto add = [this](const store::Collection& collection) {
    for (const store::ObjectPtr& object : store_.List(collection)) {
      store::Event event;
      event.revision = object->revision();
      event.object = object;
      Tell(event);
    }
  };
  for (const store::Collection& collection : info_.hears) add(collection);
  if (!info_.hears.empty()) return;
  std::set<std::string> seen;
  const auto catalog = context_.catalog.Get();
  for (const auto* resource : catalog->resources()) {
    const api::GroupResource stored = resource->stored_as();
    if (seen.insert(stored.ToString()).second) add({stored.group, stored.resource});
  }
}

void ControllerRunner::BeginStop() {
  subscription_.reset();
  {
    base::MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
    reconciled_.NotifyAll();
  }
  controller_->Interrupt();
}

void ControllerRunner::Stop() {
  BeginStop();
  if (thread_.joinable()) thread_.join();
}

void ControllerRunner::Add(std::string key) {
  base::MutexLock lock(mutex_);
  Queue(std::move(key));
  wake_.NotifyAll();
}

void ControllerRunner::Queue(std::string key) {
  if (ready_.insert(key).second) queue_.push_back(std::move(key));
}

void ControllerRunner::QueueDue() {
  const base::SteadyTime now = context_.clock.Steady();
  while (!later_.empty() && later_.begin()->first <= now) {
    const std::string key = later_.begin()->second;
    Queue(key);
    SetDue(key, std::nullopt);
  }
}

void ControllerRunner::OnCommit(std::span<const store::EventPtr> events) {
  for (const store::EventPtr& event : events) Tell(*event);
}

void ControllerRunner::Tell(const store::Event& event) {
  const bool hidden = context_.initializers && !info_.sees_uninitialized &&
                      event.type != store::EventType::kDeleted &&
                      store::IsUninitialized(*event.object);
  if (hidden) return;
  controller_->OnEvent(event, [this](std::string key) { Add(std::move(key)); });
}

void ControllerRunner::Await(const std::string& key, base::SteadyTime deadline) {
  base::MutexLock lock(mutex_);
  while (!stopping_ && (ready_.contains(key) || current_ == key)) {
    if (!reconciled_.WaitUntil(mutex_, deadline)) return;
  }
}

void ControllerRunner::SetDue(const std::string& key, std::optional<base::Duration> wait) {
  if (auto found = due_.find(key); found != due_.end()) {
    later_.erase({found->second, key});
    due_.erase(found);
  }
  if (!wait) return;
  const base::SteadyTime at = context_.clock.Steady() + *wait;
  later_.emplace(at, key);
  due_.emplace(key, at);
}

void ControllerRunner::Run() {
  const base::NeedsMemory needs;
  while (true) {
    std::string key;
    {
      base::MutexLock lock(mutex_);
      QueueDue();
      while (!stopping_ && queue_.empty()) {
        if (later_.empty()) {
          wake_.Wait(mutex_);
        } else {
          wake_.WaitUntil(mutex_, later_.begin()->first);
        }
        QueueDue();
      }
      if (stopping_) return;
      key = std::move(queue_.front());
      queue_.pop_front();
      ready_.erase(key);
      current_ = key;
    }
    const std::optional<base::Duration> again = controller_->Reconcile(key);
    base::MutexLock lock(mutex_);
    SetDue(key, again);
    current_.reset();
    reconciled_.NotifyAll();
  }
}

}  // namespace portcullis::controllers
