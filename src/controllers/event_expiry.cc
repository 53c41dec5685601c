// SPDX-License-Identifier: Apache-2.0

#include "controllers/event_expiry.h"

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "base/memory_reserve.h"

namespace portcullis::controllers {
namespace {

constexpr store::Collection kEvents{"", "events"};
// One batch of deletions holds up other writes, so it is small.
constexpr std::size_t kBatch = 100;
constexpr base::Duration kShortestPause = std::chrono::milliseconds(100);
constexpr base::Duration kLongestPause = std::chrono::seconds(10);

}  // namespace

EventExpiry::EventExpiry(store::Store& store, const base::Clock& clock, base::Duration ttl)
    : store_(store), clock_(clock), ttl_(ttl) {}

EventExpiry::~EventExpiry() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void EventExpiry::Watch() {
  subscription_ = store_.Subscribe({kEvents}, *this, [this] {
    const base::MutexLock lock(mutex_);
    for (const store::ObjectPtr& object : store_.List(kEvents)) Note(*object);
  });
}

void EventExpiry::Start() {
  Watch();
  thread_ = std::thread([this] { Run(); });
}

void EventExpiry::OnCommit(std::span<const store::EventPtr> events) {
  const base::MutexLock lock(mutex_);
  for (const store::EventPtr& event : events) {
    if (event->type != store::EventType::kDeleted) {
      Note(*event->object);
      continue;
    }
    const auto place = places_.find(std::string(event->object->position()));
    if (place == places_.end()) continue;
    items_.erase(place->second);
    places_.erase(place);
  }
}

void EventExpiry::Note(const store::Object& object) {
  const base::SteadyTime expires = clock_.Steady() + ttl_;
  const auto [place, is_new] = places_.try_emplace(std::string(object.position()), items_.end());
  if (is_new) {
    place->second = items_.insert(
        items_.end(),
        {expires, object.revision(), std::string(object.ns()), std::string(object.name())});
    return;
  }
  Item& item = *place->second;
  item.expires = expires;
  item.revision = object.revision();
  items_.splice(items_.end(), items_, place->second);
}

std::vector<EventExpiry::Item> EventExpiry::Expired() {
  const base::SteadyTime now = clock_.Steady();
  std::vector<Item> out;
  const base::MutexLock lock(mutex_);
  for (const Item& item : items_) {
    if (item.expires > now || out.size() == kBatch || stopping_) break;
    out.push_back(item);
  }
  return out;
}

void EventExpiry::Sweep() {
  for (;;) {
    const std::vector<Item> expired = Expired();
    if (expired.empty()) return;
    std::vector<store::Version> versions;
    for (const Item& item : expired) {
      versions.push_back({{kEvents.group, kEvents.resource, item.ns, item.name}, item.revision});
    }
    // OnCommit() forgets what is deleted.
    const base::Status deleted = store_.DeleteVersions(versions);
    if (deleted.ok()) continue;
    base::LogWarning("Events that have expired cannot be deleted", {{"error", deleted.message()}});
    return;
  }
}

void EventExpiry::Run() {
  const base::NeedsMemory needs;
  const base::Duration pause = std::clamp(ttl_ / 20, kShortestPause, kLongestPause);
  for (;;) {
    {
      const base::MutexLock lock(mutex_);
      const base::SteadyTime next = clock_.Steady() + pause;
      while (!stopping_ && wake_.WaitUntil(mutex_, next)) {
      }
      if (stopping_) return;
    }
    Sweep();
  }
}

}  // namespace portcullis::controllers
