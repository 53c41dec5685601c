// SPDX-License-Identifier: Apache-2.0

#include "store/cache/cache.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "api/api_status.h"
#include "api/names.h"
#include "base/gotext.h"
#include "base/memory_reserve.h"
#include "base/strings.h"
#include "store/at_rest.h"
#include "store/event_count.h"
#include "store/shrink.h"
#include "store/storage_key.h"

namespace portcullis::store {
namespace {

std::string PositionOf(const Key& key) {
  return key.ns.empty() ? std::string(key.name) : base::StrCat(key.ns, "/", key.name);
}

base::Status TooOld(std::int64_t asked, std::int64_t oldest) {
  return api::ResourceExpiredStatus(base::StrCat(
      "too old resource version: ", std::to_string(asked), " (", std::to_string(oldest), ")"));
}

base::Status ListTooOld(bool continued) {
  if (!continued) {
    return api::ResourceExpiredStatus("The resourceVersion for the provided list is too old.");
  }
  return api::ResourceExpiredStatus(
      "The provided continue parameter is too old to display a consistent list result. You can "
      "start a new list without the continue parameter, or use the continue token in this "
      "response to retrieve the remainder of the results. Continuing with the provided token "
      "results in an inconsistent list - objects that were created, modified, or deleted between "
      "the time the first chunk was returned and now may show up in the list.");
}

base::Status TooLarge(std::int64_t asked, std::int64_t current) {
  auto status =
      api::TimeoutStatus(base::StrCat("Too large resource version: ", std::to_string(asked),
                                      ", current: ", std::to_string(current)),
                         1);
  base::StatusDetails details = status.details() ? *status.details() : base::StatusDetails();
  details.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  return status.WithDetails(std::move(details));
}

}  // namespace

std::size_t Cache::NameHash::operator()(const Collection& c) const {
  return api::HashNames(c.group, {}, c.resource);
}

// A watch: where it stands in the history of its collection.
class Cache::WatchCursor final : public Watch {
 public:
  WatchCursor(Cache& cache, const CollectionState& collection, std::string_view ns,
              std::int64_t after, std::function<void()> ready, std::uint64_t set_back)
      : cache_(cache),
        collection_(collection),
        ns_(ns),
        position_(after),
        set_back_(set_back),
        listener_(std::make_shared<Listener>(std::move(ready))) {
    cache_.fan_out_.Add(&collection_, ns_, listener_);
    listener_->Arm();
    // What has happened since `after` is announced at once; so is what happened while we came in.
    if (cache_.revision() > after) cache_.fan_out_.Wake(listener_);
  }
  ~WatchCursor() override { cache_.fan_out_.Remove(&collection_, ns_, *listener_); }

  base::Result<std::size_t> Poll(std::size_t max, std::vector<EventPtr>& out) override {
    std::size_t found = TRY(Look(max, out));
    if (found != 0) return found;
    // Armed before looking again, so that no change between the two is missed.
    listener_->Arm();
    return Look(max, out);
  }
  std::int64_t revision() const override { return position_; }

 private:
  base::Result<std::size_t> Look(std::size_t max, std::vector<EventPtr>& out) {
    base::ReaderLock lock(cache_.state_mutex_);
    const std::int64_t floor = collection_.Floor(ns_);
    if (position_ < floor || set_back_ != collection_.set_back()) return TooOld(position_, floor);
    std::size_t found = collection_.Events(ns_, position_, max, out);
    if (found < max) position_ = std::max(position_, cache_.revision());
    return found;
  }

  Cache& cache_;
  const CollectionState& collection_;
  const std::string ns_;
  std::int64_t position_;
  const std::uint64_t set_back_;  // the collection's, when it began
  const std::shared_ptr<Listener> listener_;
};

class Cache::Observation final : public Subscription {
 public:
  Observation(Cache& cache, Observer& observer, bool wants_all)
      : cache_(cache), observer_(observer), wants_all_(wants_all) {}
  ~Observation() override {
    base::MutexLock lock(cache_.publish_mutex_);
    std::erase(cache_.observers_, this);
    for (auto at = cache_.observers_of_.begin(); at != cache_.observers_of_.end();) {
      std::erase(at->second, this);
      at = at->second.empty() ? cache_.observers_of_.erase(at) : std::next(at);
    }
  }

  // An event of a collection that was asked for, to be told by Tell().
  void Note(const EventPtr& event) { noted_.push_back(event); }
  void Tell(const std::vector<EventPtr>& events) {
    if (wants_all_) return observer_.OnCommit(events);
    if (noted_.empty()) return;
    observer_.OnCommit(std::exchange(noted_, {}));
  }

 private:
  Cache& cache_;
  Observer& observer_;
  const bool wants_all_;
  std::vector<EventPtr> noted_;
};

Cache::Cache(Content content, const Options& options)
    : options_(options),
      first_revision_(content.revision),
      revision_(content.revision),
      next_compacted_(content.revision),
      compaction_(options.clock->Steady() + options.compaction_interval),
      fan_out_(*options.clock) {
  base::WriterLock lock(state_mutex_);
  for (ObjectPtr& object : content.objects) {
    const Collection name{object->group(), object->resource()};
    auto it = collections_.find(name);
    if (it == collections_.end()) {
      auto state = std::make_unique<CollectionState>(name, content.revision);
      it = collections_.emplace(Name{object->group(), object->resource()}, std::move(state)).first;
    }
    it->second->Load(std::move(object));
  }
  SetUnreadable(std::move(content.unreadable));
}

CollectionState* Cache::Find(const Collection& name) const {
  auto it = collections_.find(name);
  return it == collections_.end() ? nullptr : it->second.get();
}

CollectionState& Cache::FindOrAdd(const Collection& name) {
  {
    base::ReaderLock lock(state_mutex_);
    if (CollectionState* found = Find(name)) return *found;
  }
  base::WriterLock lock(state_mutex_);
  auto& state = collections_[Name{std::string(name.group), std::string(name.resource)}];
  if (state == nullptr) state = std::make_unique<CollectionState>(name, first_revision_);
  return *state;
}

ObjectPtr Cache::Get(const Key& key) const {
  const std::string position = PositionOf(key);
  base::ReaderLock lock(state_mutex_);
  const CollectionState* state = Find(key.collection());
  return state == nullptr ? nullptr : state->Find(position);
}

Place Cache::PlaceOf(const Key& key) {
  const CollectionState& state = FindOrAdd(key.collection());
  const std::string position = PositionOf(key);
  base::ReaderLock lock(state_mutex_);
  return {state.name(), state.Find(position), WhyUnreadable(key)};
}

base::Status Cache::WhyUnreadable(const Key& key) const {
  if (unreadable_count_ == 0) return base::OkStatus();
  const base::MutexLock lock(unreadable_mutex_);
  const auto it = unreadable_.find(StorageKey(key));
  return it == unreadable_.end() ? base::OkStatus() : base::InternalError(it->second.error);
}

base::Status Cache::WhyUnreadable(const Collection& collection, std::string_view ns) const {
  if (unreadable_count_ == 0) return base::OkStatus();
  const std::string folder = StorageKey({collection.group, collection.resource, ns, ""});
  const base::MutexLock lock(unreadable_mutex_);
  const auto first = unreadable_.lower_bound(folder);
  if (first == unreadable_.end() || !first->first.starts_with(folder)) return base::OkStatus();
  const auto& [key, object] = *first;
  return base::InternalError(
      base::StrCat("unable to ", object.failed, " key ", base::GoQuote(key), ": ", object.error));
}

ObjectPtr Cache::StubOf(const Key& key) const {
  const base::MutexLock lock(unreadable_mutex_);
  const auto it = unreadable_.find(StorageKey(key));
  if (it == unreadable_.end()) return nullptr;
  return Object::Make(it->second.collection, key.ns, key.name, it->second.revision,
                      R"({"metadata":{"resourceVersion":")", R"("}})");
}

void Cache::NoteUnreadable(UnreadableObject object) {
  std::string key = StorageKey(object.key());
  const base::MutexLock lock(unreadable_mutex_);
  unreadable_.insert_or_assign(std::move(key), std::move(object));
  unreadable_count_ = unreadable_.size();
}

void Cache::SetUnreadable(std::vector<UnreadableObject> objects) {
  const base::MutexLock lock(unreadable_mutex_);
  unreadable_.clear();
  for (UnreadableObject& object : objects) {
    std::string key = StorageKey(object.key());
    unreadable_.insert_or_assign(std::move(key), std::move(object));
  }
  unreadable_count_ = unreadable_.size();
}

void Cache::NoteReadable(const Key& key) {
  if (unreadable_count_ == 0) return;
  const base::MutexLock lock(unreadable_mutex_);
  unreadable_.erase(StorageKey(key));
  unreadable_count_ = unreadable_.size();
}

std::vector<ObjectPtr> Cache::List(const Collection& collection, std::string_view ns) const {
  base::ReaderLock lock(state_mutex_);
  const CollectionState* state = Find(collection);
  return state == nullptr ? std::vector<ObjectPtr>() : state->All(ns);
}

base::Result<Page> Cache::ListPage(const ListRequest& request) const {
  TRY(WhyUnreadable(request.collection, request.ns));
  Page page;
  base::ReaderLock lock(state_mutex_);
  const std::int64_t current = revision();
  if (request.revision > current) return TooLarge(request.revision, current);
  page.revision = request.revision == 0 ? current : request.revision;
  const CollectionState* state = Find(request.collection);
  const std::int64_t floor = state == nullptr ? first_revision_ : state->Floor(request.ns);
  if (page.revision < std::max(floor, compacted_)) return ListTooOld(!request.after.empty());
  if (state == nullptr) return page;
  if (page.revision == current) {
    state->Newest(request, page);
  } else {
    state->AsOf(request, page);
  }
  return page;
}

std::size_t Cache::Count(const Collection& collection) const {
  base::ReaderLock lock(state_mutex_);
  const CollectionState* state = Find(collection);
  return state == nullptr ? 0 : state->size();
}

base::Result<ObjectPtr> Cache::Create(const Key& key, Encoded object) {
  return Wait({Change::Kind::kCreate, key, std::move(object), {}});
}

base::Result<ObjectPtr> Cache::Update(const Key& key, Encoded object,
                                      const Preconditions& preconditions) {
  return Wait({Change::Kind::kUpdate, key, std::move(object), preconditions});
}

base::Result<ObjectPtr> Cache::Delete(const Key& key, const Preconditions& preconditions) {
  return Wait({Change::Kind::kDelete, key, {}, preconditions});
}

void Cache::Compact() {
  const base::SteadyTime now = options_.clock->Steady();
  if (now < compaction_ || options_.compaction_interval == base::Duration::zero()) return;
  compacted_ = std::exchange(next_compacted_, revision());
  compaction_ = now + options_.compaction_interval;
}

void Cache::Publish(const std::vector<EventPtr>& events, std::span<const Key> readable) {
  const base::NeedsMemory needs;  // observers are told once
  std::vector<EventPtr> garbage;
  std::vector<FanOut::Change> changes;
  StaleVersions stale;
  base::MutexLock publishing(publish_mutex_);
  {
    base::WriterLock lock(state_mutex_);
    // Under the lock that Get() waits for: who finds an object readable gets its new state.
    for (const Key& key : readable) NoteReadable(key);
    if (events.empty()) return;
    Compact();
    for (const EventPtr& event : events) {
      CollectionState* state = Find({event->object->group(), event->object->resource()});
      changes.emplace_back(state, event->object->ns());
      state->Apply(event, options_, garbage);
      for (auto& version : state->TakeStale(options_)) stale.emplace_back(state, version);
    }
    revision_.store(events.back()->revision, std::memory_order_release);
  }
  Tell(events);
  Pack(stale, garbage);
  if (!fan_out_.idle()) fan_out_.Announce(changes);
}

void Cache::Advance(std::int64_t revision) {
  base::WriterLock lock(state_mutex_);
  revision_.store(std::max(revision, revision_.load()), std::memory_order_release);
}

std::vector<EventPtr> Cache::DifferenceTo(const Content& content) const {
  std::vector<EventPtr> events;
  std::unordered_set<const Object*> kept;
  base::ReaderLock lock(state_mutex_);
  for (const ObjectPtr& object : content.objects) {
    const CollectionState* state = Find({object->group(), object->resource()});
    const ObjectPtr previous = state == nullptr ? nullptr : state->Find(object->position());
    if (previous != nullptr) kept.insert(previous.get());
    // Two objects may have one revision if etcd has been set back to an older state.
    if (previous != nullptr && previous->revision() == object->revision() &&
        previous->bytes() == object->bytes()) {
      continue;
    }
    const EventType type = previous == nullptr ? EventType::kAdded : EventType::kModified;
    events.push_back(
        std::make_shared<const Event>(Event{type, object->revision(), object, previous}));
  }
  for (const auto& [name, state] : collections_) {
    for (const ObjectPtr& object : state->All("")) {
      if (kept.contains(object.get())) continue;
      events.push_back(std::make_shared<const Event>(Event{
          EventType::kDeleted, content.revision, object->WithRevision(content.revision), object}));
    }
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const EventPtr& a, const EventPtr& b) { return a->revision < b->revision; });
  return events;
}

void Cache::Replace(Content content) {
  std::vector<EventPtr> garbage;
  base::MutexLock publishing(publish_mutex_);
  const std::vector<EventPtr> events = DifferenceTo(content);
  for (const EventPtr& event : events) {
    FindOrAdd({event->object->group(), event->object->resource()});
  }
  {
    base::WriterLock lock(state_mutex_);
    SetUnreadable(std::move(content.unreadable));  // under this lock, as in Publish()
    for (const EventPtr& event : events) {
      Find({event->object->group(), event->object->resource()})->Apply(event, options_, garbage);
    }
    first_revision_ = content.revision;
    compacted_ = std::min(compacted_, content.revision);
    next_compacted_ = std::min(next_compacted_, content.revision);
    for (const auto& [name, state] : collections_) {
      state->ForgetHistory(content.revision, revision(), garbage);
    }
    revision_.store(content.revision, std::memory_order_release);
  }
  if (!events.empty()) Tell(events);
  fan_out_.AnnounceAll();
}

void Cache::Tell(const std::vector<EventPtr>& events) {
  for (const EventPtr& event : events) {
    const auto found =
        observers_of_.find(Collection{event->object->group(), event->object->resource()});
    if (found == observers_of_.end()) continue;
    for (Observation* observation : found->second) observation->Note(event);
  }
  for (Observation* observation : observers_) observation->Tell(events);
}

void Cache::Pack(const StaleVersions& versions, std::vector<EventPtr>& garbage) {
  for (const auto& [state, stale] : versions) {
    // Only the publisher changes what is stored, so nothing is missed between the two.
    const auto packed = PackedObject::Make(*stale.version);
    base::WriterLock lock(state_mutex_);
    state->Replace(stale, packed, garbage);
  }
}

base::Result<std::unique_ptr<Watch>> Cache::StartWatch(const WatchRequest& request,
                                                       std::function<void()> ready) {
  CollectionState& state = FindOrAdd(request.collection);
  std::int64_t after = request.after;
  std::uint64_t set_back = 0;
  {
    base::ReaderLock lock(state_mutex_);
    set_back = state.set_back();
    if (after == 0) after = revision();
    if (std::int64_t floor = state.Floor(request.ns); after < floor) return TooOld(after, floor);
  }
  return std::unique_ptr<Watch>(
      std::make_unique<WatchCursor>(*this, state, request.ns, after, std::move(ready), set_back));
}

std::unique_ptr<Subscription> Cache::Subscribe(std::vector<Collection> collections,
                                               Observer& observer,
                                               const std::function<void()>& start) {
  auto observation = std::make_unique<Observation>(*this, observer, collections.empty());
  base::MutexLock lock(publish_mutex_);
  if (start) start();
  observers_.push_back(observation.get());
  for (const Collection& c : collections) {
    auto& same = observers_of_[Name{std::string(c.group), std::string(c.resource)}];
    // One that names a collection twice is told once.
    if (same.empty() || same.back() != observation.get()) same.push_back(observation.get());
  }
  return observation;
}

base::Status Cache::Backup(const std::string&) {
  return base::ConfigError("this store has no database of its own to copy");
}

// Every store is a Cache.
bool IsStale(const Store& store, const Object& object) {
  return static_cast<const Cache&>(store).IsStale(object);
}

base::Status Backup(Store& store, const std::string& path) {
  return static_cast<Cache&>(store).Backup(path);
}

std::uint64_t CountEvents(const Store& store, const Collection& collection) {
  return static_cast<const Cache&>(store).CountEvents(collection);
}
void ShrinkHistory(Store& store) { static_cast<Cache&>(store).ShrinkHistory(); }

void ForgetDocuments(Store& store) { static_cast<Cache&>(store).ForgetDocuments(); }

void Cache::ForgetDocuments() {
  constexpr std::size_t kAtOnce = 4096;  // readers wait meanwhile: less than a millisecond
  std::vector<CollectionState*> states;  // there until the cache goes
  {
    base::ReaderLock lock(state_mutex_);
    for (const auto& [name, state] : collections_) states.push_back(state.get());
  }
  for (CollectionState* state : states) {
    std::string after;
    bool more = true;
    while (more) {
      base::WriterLock lock(state_mutex_);
      more = state->ForgetDocuments(kAtOnce, after);
    }
  }
}

std::uint64_t Cache::CountEvents(const Collection& collection) const {
  const base::ReaderLock lock(state_mutex_);
  const CollectionState* state = Find(collection);
  return state == nullptr ? 0 : state->applied();
}

void Cache::ShrinkHistory() {
  std::vector<EventPtr> garbage;  // destroyed outside the lock
  base::WriterLock lock(state_mutex_);
  for (const auto& [name, state] : collections_) {
    state->HalveHistory(options_.fresh_events, garbage);
  }
}

}  // namespace portcullis::store
