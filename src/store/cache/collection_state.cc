// SPDX-License-Identifier: Apache-2.0

#include "store/cache/collection_state.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace portcullis::store {
namespace {

// Positions of a namespace are those that begin with "<ns>/".
struct Range {
  explicit Range(std::string_view ns) {
    if (ns.empty()) return;
    begin.append(ns).push_back('/');
  }
  bool Contains(std::string_view position) const {
    return begin.empty() || position.substr(0, begin.size()) == begin;
  }
  std::string begin;
};

// Bytes that only the history keeps alive because of this event.
std::size_t Weight(const Event& event) {
  std::size_t weight = sizeof(Event);
  if (event.previous != nullptr) weight += event.previous->bytes().size();
  if (event.type == EventType::kDeleted) weight += event.object->bytes().size();
  return weight;
}

void Take(const ListRequest& request, const ObjectPtr& object, Page& page) {
  if (request.limit != 0 && page.objects.size() == request.limit) {
    ++page.remaining;
  } else {
    page.objects.push_back(object);
  }
}

constexpr std::size_t kMostNamespaceFloors = 10'000;

}  // namespace

CollectionState::CollectionState(const Collection& name, std::int64_t floor)
    : name_(std::make_shared<const CollectionName>(
          CollectionName{std::string(name.group), std::string(name.resource)})),
      first_floor_(floor),
      floor_(floor) {}

ObjectPtr CollectionState::Find(std::string_view position) const {
  const ObjectPtr* found = objects_.Find(position);
  return found == nullptr ? nullptr : *found;
}

void CollectionState::Load(ObjectPtr object) { objects_.Insert(std::move(object)); }

void CollectionState::Apply(EventPtr event, const Options& options,
                            std::vector<EventPtr>& garbage) {
  ++applied_;
  switch (event->type) {
    case EventType::kAdded:
      objects_.Insert(event->object);
      break;
    case EventType::kModified:
      *objects_.Find(event->object->position()) = event->object;
      break;
    case EventType::kDeleted:
      objects_.Take(event->object->position());
      break;
  }
  const std::size_t weight = Weight(*event);
  if (weight >= options.large_bytes) large_.push_back(event->revision);
  history_bytes_ += weight;
  history_.push_back({.event = std::move(event), .weight = weight});
  Trim(options, garbage);
}

CollectionState::Entry* CollectionState::EntryOf(std::int64_t revision, std::string_view position) {
  for (std::size_t at = FirstBehind(revision - 1);
       at < history_.size() && history_[at].event->revision == revision; ++at) {
    if (history_[at].event->object->position() == position) return &history_[at];
  }
  return nullptr;
}

std::vector<CollectionState::Stale> CollectionState::TakeStale(const Options& options) {
  std::vector<Stale> stale;
  if (history_.size() <= options.fresh_events) return stale;
  const Entry& newest = history_[history_.size() - options.fresh_events - 1];
  while (!large_.empty() && large_.front() <= newest.event->revision) {
    const std::int64_t revision = large_.front();
    while (!large_.empty() && large_.front() == revision) large_.pop_front();
    for (std::size_t at = FirstBehind(revision - 1);
         at < history_.size() && history_[at].event->revision == revision; ++at) {
      const Event& event = *history_[at].event;
      if (event.previous != nullptr && event.previous->bytes().size() >= options.large_bytes) {
        stale.push_back({event.previous, revision});
      }
      if (event.type == EventType::kDeleted &&
          event.object->bytes().size() >= options.large_bytes) {
        stale.push_back({event.object, revision});
      }
    }
  }
  return stale;
}

void CollectionState::Replace(const Stale& stale, const std::shared_ptr<const PackedObject>& packed,
                              std::vector<EventPtr>& garbage) {
  if (packed == nullptr) return;
  const ObjectPtr& version = stale.version;
  if (Entry* maker = EntryOf(version->revision(), version->position());
      maker != nullptr && maker->event->object == version) {
    const Event& event = *maker->event;
    Event husk{event.type, event.revision, packed->husk(), event.previous};
    maker->object = packed;
    garbage.push_back(std::exchange(maker->event, std::make_shared<const Event>(std::move(husk))));
  }
  Entry* const entry = EntryOf(stale.replaced_at, version->position());
  if (entry == nullptr) return;
  if (entry->event->previous == version) {
    const Event& event = *entry->event;
    Event husk{event.type, event.revision, event.object, packed->husk()};
    entry->previous = packed;
    garbage.push_back(std::exchange(entry->event, std::make_shared<const Event>(std::move(husk))));
  }
  const std::size_t saved = version->bytes().size() - packed->size();
  entry->weight -= saved;
  history_bytes_ -= saved;
}

EventPtr CollectionState::Whole(const Entry& entry) {
  if (entry.object == nullptr && entry.previous == nullptr) return entry.event;
  const Event& event = *entry.event;
  return std::make_shared<const Event>(
      Event{event.type, event.revision,
            entry.object == nullptr ? event.object : entry.object->Restore(), Previous(entry)});
}

ObjectPtr CollectionState::Previous(const Entry& entry) {
  return entry.previous == nullptr ? entry.event->previous : entry.previous->Restore();
}

bool CollectionState::IsHeldByOthers(const ObjectPtr& object) {
  long ours = 1;
  // A newest version stands in the event that made it, and in no other.
  const Entry* maker = EntryOf(object->revision(), object->position());
  if (maker != nullptr && maker->event->object == object) {
    if (maker->event.use_count() > 1) return true;
    ++ours;
  }
  // No new reference can be made now. Letting go of one more comes after all that others have done
  // with theirs.
  const ObjectPtr one_more = object;  // NOLINT(performance-unnecessary-copy-initialization)
  return one_more.use_count() > ours + 1;
}

bool CollectionState::ForgetDocuments(std::size_t max, std::string& after) {
  std::size_t seen = 0;
  const ObjectPtr* last = nullptr;
  objects_.VisitFrom(after, !after.empty(), [&](const ObjectPtr& object) {
    last = &object;
    if (object->has_derived() && !IsHeldByOthers(object)) object->ForgetDerived();
    return ++seen < max;
  });
  if (last != nullptr) after = std::string((*last)->position());
  return seen == max;
}

void CollectionState::ForgetHistory(std::int64_t floor, std::int64_t newest,
                                    std::vector<EventPtr>& garbage) {
  if (floor < newest) ++set_back_;
  for (Entry& entry : history_) garbage.push_back(std::move(entry.event));
  history_.clear();
  large_.clear();
  history_bytes_ = 0;
  first_floor_ = floor;
  floor_ = floor;
  floor_of_namespace_.clear();
}

void CollectionState::HalveHistory(std::size_t keep, std::vector<EventPtr>& garbage) {
  Options smaller;
  smaller.history_events = std::max(keep, history_.size() / 2);
  smaller.history_bytes = std::numeric_limits<std::size_t>::max();
  Trim(smaller, garbage);
}

void CollectionState::Trim(const Options& options, std::vector<EventPtr>& garbage) {
  while (history_.size() > options.history_events || history_bytes_ > options.history_bytes) {
    const Event& oldest = *history_.front().event;
    history_bytes_ -= history_.front().weight;
    floor_ = oldest.revision;
    if (auto ns = oldest.object->ns(); !ns.empty()) {
      auto it = floor_of_namespace_.find(ns);
      if (it == floor_of_namespace_.end()) {
        floor_of_namespace_.emplace(std::string(ns), floor_);
      } else {
        it->second = floor_;
      }
    }
    garbage.push_back(std::move(history_.front().event));
    history_.pop_front();
  }
  // One floor for all of them, so that namespaces that come and go leave nothing behind: a watch of a
  // namespace then goes as far back as one of all.
  if (floor_of_namespace_.size() > kMostNamespaceFloors) {
    first_floor_ = floor_;
    floor_of_namespace_.clear();
  }
}

std::vector<ObjectPtr> CollectionState::All(std::string_view ns) const {
  const Range range(ns);
  std::vector<ObjectPtr> all;
  if (ns.empty()) all.reserve(objects_.size());
  objects_.VisitFrom(range.begin, false, [&](const ObjectPtr& object) {
    if (!range.Contains(object->position())) return false;
    all.push_back(object);
    return true;
  });
  return all;
}

void CollectionState::Newest(const ListRequest& request, Page& page) const {
  const Range range(request.ns);
  const bool goes_on = request.after > range.begin;
  objects_.VisitFrom(goes_on ? request.after : std::string_view(range.begin), goes_on,
                     [&](const ObjectPtr& object) {
                       if (!range.Contains(object->position())) return false;
                       Take(request, object, page);
                       return true;
                     });
}

void CollectionState::AsOf(const ListRequest& request, Page& page) const {
  // The first event behind the revision tells for its object how it was then (null: not there);
  // every object without one is as it is now. The two ordered sequences are merged.
  const Range range(request.ns);
  std::map<std::string_view, const Entry*> then;
  for (std::size_t i = FirstBehind(request.revision); i < history_.size(); ++i) {
    const std::string_view position = history_[i].event->object->position();
    if (range.Contains(position) && position > request.after) {
      then.try_emplace(position, &history_[i]);
    }
  }
  ListRequest newest = request;
  newest.limit = 0;
  Page now;
  Newest(newest, now);
  auto changed = then.begin();
  auto take_changed = [&] {
    if (changed->second->event->previous != nullptr) {
      Take(request, Previous(*changed->second), page);
    }
    ++changed;
  };
  for (const ObjectPtr& object : now.objects) {
    while (changed != then.end() && changed->first < object->position()) take_changed();
    if (changed != then.end() && changed->first == object->position()) {
      take_changed();
    } else {
      Take(request, object, page);
    }
  }
  while (changed != then.end()) take_changed();
}

std::int64_t CollectionState::Floor(std::string_view ns) const {
  if (ns.empty()) return floor_;
  auto it = floor_of_namespace_.find(ns);
  return it == floor_of_namespace_.end() ? first_floor_ : it->second;
}

std::size_t CollectionState::FirstBehind(std::int64_t revision) const {
  auto it = std::upper_bound(history_.begin(), history_.end(), revision,
                             [](std::int64_t r, const Entry& e) { return r < e.event->revision; });
  return static_cast<std::size_t>(it - history_.begin());
}

std::size_t CollectionState::Events(std::string_view ns, std::int64_t& after, std::size_t max,
                                    std::vector<EventPtr>& out) const {
  std::size_t found = 0;
  for (std::size_t i = FirstBehind(after); i < history_.size(); ++i) {
    const Event& event = *history_[i].event;
    if (found >= max && event.revision != after) break;
    after = event.revision;
    if (!ns.empty() && event.object->ns() != ns) continue;
    out.push_back(Whole(history_[i]));
    ++found;
  }
  return found;
}

}  // namespace portcullis::store
