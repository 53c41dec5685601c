// SPDX-License-Identifier: Apache-2.0

// MirroredCollection keeps one collection of a store in step with that of a running cluster: list, then
// watch, from the beginning again when the watch has been left behind (k8s.io/client-go/tools/cache,
// Reflector). The cluster's objects are taken in as they are, without managedFields; the resourceVersion is
// the store's own.
//
// Collections that are too large for that (pods) are not followed: single objects are fetched when a request
// needs them, and are kept for a while.
//
// One thread of its own if it follows. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "api/catalog/catalog.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "engine/world.h"
#include "json/value.h"
#include "kubeconfig/client.h"
#include "net/client.h"
#include "store/store.h"

namespace portcullis::webhook_server {

// Where the objects come from and go to; shared by the collections of a mirror, which it outlives.
struct MirrorEnds {
  const engine::World& world;
  const kubeconfig::Client& client;
  const kubeconfig::Client& quick;  // gives up soon: while a request waits
  // Objects that files have: "group/resource/namespace/name". Theirs count.
  const std::set<std::string>& kept;
};

std::string KeyText(const store::Key& key);

class MirroredCollection {
 public:
  enum class Mode : std::uint8_t { kFollows, kFetches };
  // `changed` is called on its thread when objects have been taken in.
  MirroredCollection(const MirrorEnds& ends, api::GroupResource resource, Mode mode,
                     std::function<void()> changed);
  ~MirroredCollection();  // ends the thread

  const api::GroupResource& resource() const { return resource_; }
  // Whether the store has once had what the cluster had.
  bool is_synced() const { return synced_.load(std::memory_order_acquire); }
  // Why it has not yet; "" for no reason known.
  std::string problem() const;

  // Takes in one object, or those of a namespace if `name` is empty, as they are now: for requests about what
  // the watch has not brought yet. Not on an I/O thread.
  void Fetch(std::string_view ns, std::string_view name);

 private:
  using ResourceInfo = api::catalog::ResourceInfo;

  void Run();
  base::Status List(std::string& version);
  base::Status ListAll(const ResourceInfo& info, std::string& version);
  base::Status Watch(std::string& version);
  // What arrives of a watch, handed from I/O threads to the thread of the collection.
  struct Arrivals;
  bool Next(Arrivals& arrivals, std::string& text);
  base::Status TakeEvent(std::string_view line, std::string& version);
  std::vector<const ResourceInfo*> Versions(const api::catalog::Catalog& catalog) const;
  // What the cluster serves, or the first of Versions(); null: the kind is not known.
  const ResourceInfo* Served(const api::catalog::Catalog& catalog) const;

  base::Status Put(json::Arena& arena, const ResourceInfo& info, json::Value object)
      PC_REQUIRES(write_mutex_);
  void Remove(std::string_view ns, std::string_view name) PC_REQUIRES(write_mutex_);
  // Those of the namespace ("": all) that are not among `seen`.
  using Positions = std::set<std::string, std::less<>>;
  void RemoveOthers(const Positions& seen, std::string_view ns) PC_REQUIRES(write_mutex_);
  base::Status PutFetched(json::Arena& arena, const ResourceInfo& info, json::Value object)
      PC_REQUIRES(write_mutex_);
  base::Status FetchInto(const ResourceInfo& info, std::string_view ns, std::string_view name);
  void ForgetOld() PC_REQUIRES(write_mutex_);
  bool Pause(base::Duration duration);  // false: it is to end
  bool is_ending() const { return ending_.load(std::memory_order_acquire); }
  void SetProblem(const base::Status& status);

  const MirrorEnds ends_;
  const api::GroupResource resource_;
  const Mode mode_;
  const std::function<void()> changed_;
  std::atomic<bool> synced_{false};
  std::atomic<bool> ending_{false};

  mutable base::Mutex mutex_;
  base::CondVar wake_;
  std::string problem_ PC_GUARDED_BY(mutex_);
  std::string version_ PC_GUARDED_BY(mutex_);  // of the API, that the cluster serves
  std::shared_ptr<net::PendingCall> call_ PC_GUARDED_BY(mutex_);

  base::Mutex write_mutex_;  // writes to the store come from two threads
  // What the cluster has: "namespace/name" (or "name") and its resourceVersion there.
  std::map<std::string, std::string, std::less<>> known_ PC_GUARDED_BY(write_mutex_);
  // The resourceVersion that the list and the watch have come to; 0: none.
  std::int64_t watched_ PC_GUARDED_BY(write_mutex_) = 0;
  // Of kFetches: when each was fetched last.
  std::map<std::string, base::SteadyTime, std::less<>> fetched_ PC_GUARDED_BY(write_mutex_);

  std::thread thread_;  // last: uses everything above
};

}  // namespace portcullis::webhook_server
