// SPDX-License-Identifier: Apache-2.0

// The store keeps the API objects: their encoded bytes by key, one revision counter for all, a
// watch.
//
// Reads come from memory and never wait for the disk. A write is durable before any reader, watcher
// or caller sees it. Behaves as etcd does under kube-apiserver: the revision is a global int64 that
// starts at 1 and grows by one with each write, also across restarts; the objects of a collection
// are ordered by the bytes of "namespace/name".
//
//   auto store = store::OpenMemory();                                  //
//   store/memory/memory_store.h store::ObjectPtr made = TRY(store->Create({"", "configmaps",
//   "default", "a"}, encoded)); store::ObjectPtr found = store->Get({"", "configmaps", "default",
//   "a"});   // null if absent
//
// Errors carry Kubernetes' reasons and texts: kAlreadyExists, kNotFound, kConflict, kExpired; and
// kInternalError if the disk failed (nothing was written then, the store goes on).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/object.h"

namespace portcullis::store {

// Arguments that name things; views, valid for the call. `ns` is "" for cluster-scoped objects.
struct Collection {
  std::string_view group;
  std::string_view resource;
  bool operator==(const Collection&) const = default;
};
struct Key {
  std::string_view group;
  std::string_view resource;
  std::string_view ns;
  std::string_view name;
  Collection collection() const { return {group, resource}; }
};

// The bytes of an object to be stored (JSON in the storage version). The store inserts the decimal
// text of the new revision at byte `revision_at`, i.e. between the quotes of
// `"resourceVersion":""`.
struct Encoded {
  std::string bytes;
  std::size_t revision_at = 0;
};

// One version of an object.
struct Version {
  Key key;
  std::int64_t revision = 0;
};

// What must hold of the stored object for a write to happen; empty members demand nothing.
struct Preconditions {
  std::optional<std::int64_t> revision;
  std::string_view uid;
};

// A create, an update or a delete as a value, for Store::Submit.
struct Change {
  enum class Kind : std::uint8_t { kCreate, kUpdate, kDelete };
  Kind kind = Kind::kCreate;
  Key key;                      // what it views lives until the change is answered
  Encoded object;               // of creates and updates
  Preconditions preconditions;  // of updates and deletes; the same holds for its view
  // Of a store that other servers write to: the change happens only if this is still
  // EtcdStore::rules_revision() when it does; else it ends with kExpired.
  std::optional<std::int64_t> rules_revision;
};
using Done = std::function<void(base::Result<ObjectPtr>)>;

struct ListRequest {
  Collection collection;
  std::string_view ns;        // "" lists all namespaces (and cluster-scoped objects)
  std::size_t limit = 0;      // 0: everything
  std::string_view after;     // continue behind this Object::position(); "" starts
  std::int64_t revision = 0;  // the state at this revision; 0 is the newest
};

// One page of a list: a consistent snapshot at `revision`, in the order of positions.
struct Page {
  std::vector<ObjectPtr> objects;
  std::int64_t revision = 0;
  std::size_t remaining = 0;  // how many more follow behind the last one
};

// Read access, all that plugins get. Thread-safe.
class Reader {
 public:
  virtual ~Reader() = default;

  // The newest stored version, or null.
  virtual ObjectPtr Get(const Key& key) const = 0;
  // All objects of a collection, of one namespace if `ns` is not empty; one consistent snapshot.
  virtual std::vector<ObjectPtr> List(const Collection& collection,
                                      std::string_view ns = {}) const = 0;
  // A page at the newest or an earlier revision. kExpired if the history no longer reaches back,
  // with kube-apiserver's text for continued lists if `after` is set.
  virtual base::Result<Page> ListPage(const ListRequest& request) const = 0;
  virtual std::size_t Count(const Collection& collection) const = 0;
  // Why a stored object cannot be read: no configured key decrypts its value, for instance. kInternalError with
  // kube-apiserver's text; OK if it can be, or there is none. Get() has a former state of such an object, or null,
  // and List() that or nothing: what must not take it for gone asks this first (store/readable.h).
  virtual base::Status WhyUnreadable(const Key& key) const = 0;
  // The same for the first such object of a collection, of one namespace if `ns` is not empty; what ListPage()
  // fails with. Costs nothing while all objects can be read.
  virtual base::Status WhyUnreadable(const Collection& collection, std::string_view ns) const = 0;
  // The revision of the newest write that readers can see.
  virtual std::int64_t revision() const = 0;
};

enum class EventType : std::uint8_t { kAdded, kModified, kDeleted };

// One write as watchers see it; shared by all of them. Immutable.
struct Event {
  EventType type = EventType::kAdded;
  std::int64_t revision = 0;
  // The object after the write; for kDeleted its last state, its resourceVersion being that of the
  // deletion.
  ObjectPtr object;
  // The object before the write: null for kAdded.
  ObjectPtr previous;
};
using EventPtr = std::shared_ptr<const Event>;

struct WatchRequest {
  Collection collection;
  std::string_view ns;     // "" watches all namespaces
  std::int64_t after = 0;  // events with a greater revision; 0 means from now on
};

// A position in the history of a collection that the owner moves forward by polling. It holds no
// queue: 10,000 idle ones cost a few hundred bytes each, and a slow one holds up no other but may
// fall out of the history. Used by one thread at a time.
class Watch {
 public:
  virtual ~Watch() = default;  // after this returns, `ready` is not called any more

  // Appends up to `max` events in order of revision; returns how many. 0 means: all seen, `ready`
  // will be called when there is more. kExpired: events in between have left the history, or the
  // store has read its state anew and cannot tell them; polling again gives the same.
  virtual base::Result<std::size_t> Poll(std::size_t max, std::vector<EventPtr>& out) = 0;
  // Everything up to this revision has been polled: what a bookmark may say.
  virtual std::int64_t revision() const = 0;
};

// Receives commits on the committing thread: the new state is visible to readers, but no writer
// of the batch has been acknowledged. What is derived from stored objects (RBAC rules, webhook
// configurations, policies, catalog) is therefore in force when the write returns. Must be quick
// and must not write to the store.
class Observer {
 public:
  virtual ~Observer() = default;
  // The events of one batch in the observed collections, in order of revision.
  virtual void OnCommit(std::span<const EventPtr> events) = 0;
};

// Ends the observation when destroyed; waits for a call in progress.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

// Thread-safe. Destroy after all watches and subscriptions.
class Store : public Reader {
 public:
  // Each waits until its write is durable and visible. The result is the object as stored, with its
  // new revision; for Delete the last state with the revision of the deletion.
  virtual base::Result<ObjectPtr> Create(const Key& key, Encoded object) = 0;
  virtual base::Result<ObjectPtr> Update(const Key& key, Encoded object,
                                         const Preconditions& preconditions) = 0;
  virtual base::Result<ObjectPtr> Delete(const Key& key, const Preconditions& preconditions) = 0;
  // The same without waiting. `done` is called once: when the write is durable and visible, on a
  // thread of the store; when it has failed, there or before Submit() returns, if what readers see
  // refuses it. It must return at once (post to a queue) and must not write to the store itself.
  virtual void Submit(Change change, Done done) = 0;
  // Deletes, in one batch, those versions that are still the newest of their objects, and leaves
  // the others alone. Returns why nothing could be stored.
  virtual base::Status DeleteVersions(std::span<const Version> versions) = 0;

  // `ready` is called from a thread of the store, once after each Poll() that returned 0 (and once
  // at the beginning if there is something to poll). It must return at once (post to a queue,
  // signal) and must not destroy the watch. kExpired: "too old resource version: 1 (5)".
  virtual base::Result<std::unique_ptr<Watch>> StartWatch(const WatchRequest& request,
                                                          std::function<void()> ready) = 0;

  // Calls `start` while no commit is under way, then observer.OnCommit for every later commit that
  // touches one of the collections (empty: any collection). The observer must outlive the result.
  virtual std::unique_ptr<Subscription> Subscribe(std::vector<Collection> collections,
                                                  Observer& observer,
                                                  const std::function<void()>& start) = 0;

  // OK, or why the last commit failed (disk full, I/O error); OK again after one that succeeded.
  virtual base::Status Health() const = 0;
};

}  // namespace portcullis::store
