// SPDX-License-Identifier: Apache-2.0

// Cache is the part of a store that readers see: every collection in memory, its recent history,
// watches, observers and the revision. A store that derives from it makes changes durable in its
// own way and then calls Publish().
//
// Thread-safe. Publish(), Advance() and Replace() come from one thread at a time; everything else from any thread.
// Destroyed after all watches and subscriptions.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "store/cache/collection_state.h"
#include "store/cache/fan_out.h"
#include "store/cache/judge.h"
#include "store/options.h"
#include "store/store.h"

namespace portcullis::store {

// An object whose stored value cannot be read: no configured key decrypts it, or it is no object of
// a known kind. It stays where it is stored.
struct UnreadableObject {
  std::shared_ptr<const CollectionName> collection;
  std::string ns;
  std::string name;
  std::int64_t revision = 0;
  std::string error;                      // that of the transformer or the decoder
  std::string_view failed = "transform";  // or "decode"
  Key key() const { return {collection->group, collection->resource, ns, name}; }
};

// What a store begins with.
struct Content {
  std::int64_t revision = 1;
  std::vector<ObjectPtr> objects;
  std::vector<UnreadableObject> unreadable;
};

class Cache : public Store {
 public:
  ObjectPtr Get(const Key& key) const final;
  std::vector<ObjectPtr> List(const Collection& collection, std::string_view ns = {}) const final;
  base::Result<Page> ListPage(const ListRequest& request) const final;
  std::size_t Count(const Collection& collection) const final;
  base::Status WhyUnreadable(const Key& key) const final;
  base::Status WhyUnreadable(const Collection& collection, std::string_view ns) const final;
  // See store/at_rest.h.
  virtual bool IsStale(const Object&) const { return false; }
  virtual base::Status Backup(const std::string& path);
  std::int64_t revision() const final { return revision_.load(std::memory_order_acquire); }

  base::Result<ObjectPtr> Create(const Key& key, Encoded object) final;
  base::Result<ObjectPtr> Update(const Key& key, Encoded object,
                                 const Preconditions& preconditions) final;
  base::Result<ObjectPtr> Delete(const Key& key, const Preconditions& preconditions) final;

  base::Result<std::unique_ptr<Watch>> StartWatch(const WatchRequest& request,
                                                  std::function<void()> ready) final;
  std::unique_ptr<Subscription> Subscribe(std::vector<Collection> collections, Observer& observer,
                                          const std::function<void()>& start) final;
  std::uint64_t CountEvents(const Collection& collection) const;  // see store/event_count.h
  void ShrinkHistory();                                           // see store/shrink.h
  void ForgetDocuments();                                         // likewise

 protected:
  Cache(Content content, const Options& options);

  // Makes one change; returns when it is durable and visible, or has failed.
  virtual base::Result<ObjectPtr> Wait(Change change) = 0;
  // Makes the events visible, which are in order of revision, and tells observers, then watches. By then
  // the objects of `readable` can be read again. Without events nothing else is done.
  void Publish(const std::vector<EventPtr>& events, std::span<const Key> readable = {})
      PC_EXCLUDES(publish_mutex_, state_mutex_, unreadable_mutex_);
  // Nothing of the store has changed up to this revision.
  void Advance(std::int64_t revision) PC_EXCLUDES(state_mutex_);
  // Takes over a state of which it is not known how it came about: observers get the difference,
  // and watches that have not been here yet end with kExpired. Objects that are still the same keep
  // their identity.
  void Replace(Content content) PC_EXCLUDES(publish_mutex_, state_mutex_);
  // In the place of an object that cannot be read, of its revision; null if it can be read.
  ObjectPtr StubOf(const Key& key) const PC_EXCLUDES(unreadable_mutex_);
  // From now on the object is unreadable: to be called before its revision is visible. Get() still has
  // the former state, if there was one.
  void NoteUnreadable(UnreadableObject object) PC_EXCLUDES(unreadable_mutex_);
  // It is not any more: to be called when its new state is visible (or by Publish(), see there).
  void NoteReadable(const Key& key) PC_EXCLUDES(unreadable_mutex_);
  bool HasUnreadable() const { return unreadable_count_ != 0; }
  // What a change of `key` is judged by now.
  Place PlaceOf(const Key& key) PC_EXCLUDES(state_mutex_);

 private:
  class WatchCursor;
  class Observation;
  struct Name {
    std::string group, resource;
  };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(const Collection& c) const;
    std::size_t operator()(const Name& n) const { return (*this)(Collection{n.group, n.resource}); }
  };
  struct NameEqual {
    using is_transparent = void;
    bool operator()(const Name& a, const Name& b) const {
      return a.group == b.group && a.resource == b.resource;
    }
    bool operator()(const Collection& a, const Name& b) const {
      return a.group == b.group && a.resource == b.resource;
    }
    bool operator()(const Name& a, const Collection& b) const { return (*this)(b, a); }
  };

  // Compresses old versions.
  using StaleVersions = std::vector<std::pair<CollectionState*, CollectionState::Stale>>;
  void Pack(const StaleVersions& versions, std::vector<EventPtr>& garbage)
      PC_REQUIRES(publish_mutex_) PC_EXCLUDES(state_mutex_);

  // Tells each observer of the events that it has asked for.
  void Tell(const std::vector<EventPtr>& events) PC_REQUIRES(publish_mutex_);

  void SetUnreadable(std::vector<UnreadableObject> objects) PC_EXCLUDES(unreadable_mutex_);
  std::vector<EventPtr> DifferenceTo(const Content& content) const PC_EXCLUDES(state_mutex_);
  // Remembers the newest revision every interval, from which on lists are given an interval later.
  void Compact() PC_REQUIRES(state_mutex_);
  CollectionState* Find(const Collection& name) const PC_REQUIRES_SHARED(state_mutex_);
  CollectionState& FindOrAdd(const Collection& name) PC_EXCLUDES(state_mutex_);

  const Options options_;
  // By storage key. How many: requests need no lock while there are none.
  mutable base::Mutex unreadable_mutex_;
  std::map<std::string, UnreadableObject, std::less<>> unreadable_ PC_GUARDED_BY(unreadable_mutex_);
  std::atomic<std::size_t> unreadable_count_{0};
  // What is known of the past of collections that are not there yet.
  std::int64_t first_revision_ PC_GUARDED_BY(state_mutex_);
  std::atomic<std::int64_t> revision_;
  std::int64_t compacted_ PC_GUARDED_BY(state_mutex_) = 0;
  std::int64_t next_compacted_ PC_GUARDED_BY(state_mutex_);
  base::SteadyTime compaction_ PC_GUARDED_BY(state_mutex_);  // the next
  mutable base::SharedMutex state_mutex_;
  std::unordered_map<Name, std::unique_ptr<CollectionState>, NameHash, NameEqual> collections_
      PC_GUARDED_BY(state_mutex_);

  // Held while events are published, from the change of the state until observers have run.
  base::Mutex publish_mutex_;
  std::vector<Observation*> observers_ PC_GUARDED_BY(publish_mutex_);
  // Those that do not want all collections, by what they want.
  std::unordered_map<Name, std::vector<Observation*>, NameHash, NameEqual> observers_of_
      PC_GUARDED_BY(publish_mutex_);

  FanOut fan_out_;  // last: its thread must end first
};

}  // namespace portcullis::store
