// SPDX-License-Identifier: Apache-2.0

// CollectionState is one collection in memory: its objects in order, and its recent history.
// Not synchronized: the engine guards it with its state mutex.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/sorted_blocks.h"
#include "store/cache/packed_object.h"
#include "store/options.h"
#include "store/store.h"

namespace portcullis::store {

class CollectionState {
 public:
  // `floor`: the history knows nothing up to this revision.
  CollectionState(const Collection& name, std::int64_t floor);

  const std::shared_ptr<const CollectionName>& name() const { return name_; }
  std::size_t size() const { return objects_.size(); }
  // Writes that have become visible since the start.
  std::uint64_t applied() const { return applied_; }

  ObjectPtr Find(std::string_view position) const;
  // Puts an object in place at start-up, without history.
  void Load(ObjectPtr object);
  // Makes a committed write visible. What the history drops for it is moved to `garbage`, to be
  // destroyed outside the lock.
  void Apply(EventPtr event, const Options& options, std::vector<EventPtr>& garbage);

  // A large version that only the history holds and that watchers have had their time to see.
  struct Stale {
    ObjectPtr version;
    std::int64_t replaced_at = 0;  // the revision of the write that replaced or deleted it
  };
  // The caller compresses them and tells what each has become (null: it stays as it is).
  std::vector<Stale> TakeStale(const Options& options);
  void Replace(const Stale& stale, const std::shared_ptr<const PackedObject>& packed,
               std::vector<EventPtr>& garbage);

  // Drops the history: nothing is known of what was up to `floor`. If that is behind `newest`, the revision
  // of the store until now, it has been set back.
  void ForgetHistory(std::int64_t floor, std::int64_t newest, std::vector<EventPtr>& garbage);
  // How often it has been set back to an older state: a revision from before says nothing then.
  std::uint64_t set_back() const { return set_back_; }
  // Drops the older half of the history, but for the newest `keep` events.
  void HalveHistory(std::size_t keep, std::vector<EventPtr>& garbage);

  // Drops the documents of up to `max` objects behind `after`, a position, which is moved on; those
  // of objects that others hold stay. False: there are no more objects.
  bool ForgetDocuments(std::size_t max, std::string& after);

  std::vector<ObjectPtr> All(std::string_view ns) const;
  // Up to `limit` objects behind `after`; sets `remaining`.
  void Newest(const ListRequest& request, Page& page) const;
  // The same as it was at request.revision. REQUIRES: Floor(request.ns) <= request.revision.
  void AsOf(const ListRequest& request, Page& page) const;

  // Events behind this revision are all there (for that namespace, or for all if empty).
  std::int64_t Floor(std::string_view ns) const;
  // Appends up to `max` events of `ns` behind `after`, and the others of the last one's revision, and
  // moves `after` to the last one looked at.
  std::size_t Events(std::string_view ns, std::int64_t& after, std::size_t max,
                     std::vector<EventPtr>& out) const;

 private:
  struct PositionOf {
    std::string_view operator()(const ObjectPtr& object) const { return object->position(); }
  };

  // An event and what it costs. Objects that have been compressed stand in it as husks.
  struct Entry {
    EventPtr event;
    std::shared_ptr<const PackedObject> object;
    std::shared_ptr<const PackedObject> previous;
    std::size_t weight = 0;
  };
  // The event of this revision and object; null if it has left the history. Several objects have
  // one revision if a lease of etcd has expired with which they were written.
  Entry* EntryOf(std::int64_t revision, std::string_view position);
  static EventPtr Whole(const Entry& entry);
  static ObjectPtr Previous(const Entry& entry);

  bool IsHeldByOthers(const ObjectPtr& object);
  std::size_t FirstBehind(std::int64_t revision) const;
  void Trim(const Options& options, std::vector<EventPtr>& garbage);

  std::shared_ptr<const CollectionName> name_;
  base::SortedBlocks<ObjectPtr, PositionOf> objects_;
  std::deque<Entry> history_;
  // Revisions of events whose previous version is large.
  std::deque<std::int64_t> large_;
  std::size_t history_bytes_ = 0;
  std::uint64_t applied_ = 0;
  std::uint64_t set_back_ = 0;
  std::int64_t first_floor_;
  std::int64_t floor_;
  std::map<std::string, std::int64_t, std::less<>> floor_of_namespace_;
};

}  // namespace portcullis::store
