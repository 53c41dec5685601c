// SPDX-License-Identifier: Apache-2.0

// Engine is the store in memory with a Journal behind it; the memory and the embedded store are
// this with different journals.
//
// A write joins a queue; the first one to find no other at work becomes the leader, commits
// everything queued as one batch, publishes it, hands the lead to the first writer that came
// meanwhile, and wakes the writers of its batch. While one batch waits for the disk the next one
// gathers, so the number of disk syncs per second stays the same however many writers there are,
// and a lone writer pays for no thread switch. Writers that do not wait (Submit) are led by a
// thread of the engine's own. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "store/engine/collection_state.h"
#include "store/engine/fan_out.h"
#include "store/engine/journal.h"
#include "store/options.h"
#include "store/store.h"

namespace portcullis::store {

struct PendingWrite;

class Engine final : public Store {
 public:
  Engine(std::unique_ptr<Journal> journal, Content content, const Options& options);
  ~Engine() override;

  ObjectPtr Get(const Key& key) const override;
  std::vector<ObjectPtr> List(const Collection& collection, std::string_view ns) const override;
  base::Result<Page> ListPage(const ListRequest& request) const override;
  std::size_t Count(const Collection& collection) const override;
  std::int64_t revision() const override { return revision_.load(std::memory_order_acquire); }

  base::Result<ObjectPtr> Create(const Key& key, Encoded object) override;
  base::Result<ObjectPtr> Update(const Key& key, Encoded object,
                                 const Preconditions& preconditions) override;
  base::Result<ObjectPtr> Delete(const Key& key, const Preconditions& preconditions) override;
  void Submit(Change change, Done done) override;
  base::Status DeleteVersions(std::span<const Version> versions) override;

  base::Result<std::unique_ptr<Watch>> StartWatch(const WatchRequest& request,
                                                  std::function<void()> ready) override;
  std::unique_ptr<Subscription> Subscribe(std::vector<Collection> collections, Observer& observer,
                                          const std::function<void()>& start) override;
  base::Status Health() const override;
  void ShrinkHistory();    // see store/shrink.h
  void ForgetDocuments();  // likewise

 private:
  struct Write;
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

  base::Result<ObjectPtr> Wait(Change change) PC_EXCLUDES(queue_mutex_);
  // Waits until the writes, of which there is at least one, have been committed as part of one
  // batch, by this or another thread.
  void Await(std::span<Write> writes) PC_EXCLUDES(queue_mutex_);
  void Await(Write& write) PC_EXCLUDES(queue_mutex_);
  // Commits what is queued; `own` is among it.
  void Lead(Write& own) PC_EXCLUDES(queue_mutex_, state_mutex_);
  std::vector<Write*> TakeQueue() PC_EXCLUDES(queue_mutex_);
  // The thread that leads when the first in the queue does not wait.
  base::Status StartCommitter() PC_REQUIRES(queue_mutex_);
  void WakeCommitter(int signal);
  void RunCommitter() PC_EXCLUDES(queue_mutex_, state_mutex_);
  // Commits until the queue is empty.
  void LeadAll() PC_EXCLUDES(queue_mutex_, state_mutex_);
  // Tells the writer, who may destroy the write at once.
  static void Answer(Write& write);
  void Process(const std::vector<Write*>& writes);
  // Commits and publishes the writes as one batch. A write that cannot be stored fails alone and is
  // returned: what the others were judged by has not happened then.
  PendingWrite* CommitBatch(std::span<Write* const> writes);
  void Publish(const std::vector<EventPtr>& events) PC_EXCLUDES(state_mutex_);
  // Compresses old versions; the leader's.
  using StaleVersions = std::vector<std::pair<CollectionState*, CollectionState::Stale>>;
  void Pack(const StaleVersions& versions, std::vector<EventPtr>& garbage)
      PC_EXCLUDES(state_mutex_);
  void NotifyObservers(const std::vector<EventPtr>& events) PC_EXCLUDES(observers_mutex_);

  CollectionState* Find(const Collection& name) const PC_REQUIRES_SHARED(state_mutex_);
  CollectionState& FindOrAdd(const Collection& name) PC_EXCLUDES(state_mutex_);

  const Options options_;
  const std::unique_ptr<Journal> journal_;  // used by the leader only

  base::Mutex queue_mutex_;
  std::vector<Write*> queue_ PC_GUARDED_BY(queue_mutex_);
  bool has_leader_ PC_GUARDED_BY(queue_mutex_) = false;
  std::thread committer_ PC_GUARDED_BY(queue_mutex_);
  std::atomic<int> committer_signal_{0};

  std::int64_t first_revision_ = 0;  // constant after construction
  std::atomic<std::int64_t> revision_;
  mutable base::SharedMutex state_mutex_;
  std::unordered_map<Name, std::unique_ptr<CollectionState>, NameHash, NameEqual> collections_
      PC_GUARDED_BY(state_mutex_);

  base::Mutex observers_mutex_;
  std::vector<Observation*> observers_ PC_GUARDED_BY(observers_mutex_);

  mutable base::Mutex health_mutex_;
  base::Status health_ PC_GUARDED_BY(health_mutex_);

  FanOut fan_out_;  // last: its thread must end first
};

}  // namespace portcullis::store
