// SPDX-License-Identifier: Apache-2.0

// The store of servers that share their state: objects in etcd (3.4 or later), in kube-apiserver's
// layout, so that a kube-apiserver can open what this server has written and the reverse
// (docs/etcd.md, docs/internals/store.md).
//
// Readers see the Cache, which one watch over the whole prefix, and the answers to this store's own
// writes where nothing is between, keep up to date; every event is seen
// in order of revisions, so a list of anything is a state that has been. A write is one
// transaction that compares the revision of the stored object; it is answered when etcd has
// committed it and the cache has it, observers included. A change that is refused by what the cache
// holds may be answered before Submit() returns. Freshen() makes a reader see what other
// servers have acknowledged.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "etcd/client.h"
#include "store/cache/cache.h"
#include "store/etcd/etcd_observer.h"
#include "store/etcd/value.h"
#include "store/master_leases.h"
#include "store/options.h"
#include "store/range_allocation.h"
#include "store/storage_key.h"
#include "store/store.h"

namespace portcullis::store {

class EtcdStore : public Cache {
 public:
  // Calls `done` once, on a thread of the store: with OK when readers see every write that any
  // server had acknowledged when this was called, observers included; or with the error that a
  // request ends with that must not be answered from what may be old. `done` must return at once.
  virtual void Freshen(base::SteadyTime deadline, std::function<void(base::Status)> done) = 0;
  // The revision of the last write of a rule (rules.h) that readers see. A request that begins
  // without Freshen() reads it first, and names it in the change that it comes to. Nothing, if a
  // server that does not tell (a kube-apiserver) has written a rule since this store was opened, or if
  // the last one was deleted in a full etcd.
  virtual std::optional<std::int64_t> rules_revision() const = 0;
  // Keys for encryption have changed: if an object could not be read, everything is read anew, and
  // watches end as after a gap. Returns at once.
  virtual void ReadUnreadable() = 0;
  // Whether etcd answers within `patience`; blocks so long.
  virtual base::Status Probe(base::Duration patience) const = 0;
  // Which servers live; the store's.
  virtual MasterLeases& master_leases() = 0;
  // Which node ports are taken; the store's.
  virtual RangeAllocation& node_ports() = 0;

 protected:
  using Cache::Cache;
};

struct EtcdOptions {
  const base::Clock* clock = nullptr;  // REQUIRES: the machine's time; outlives the store
  etcd::ClientOptions client;
  std::string prefix{kStoragePrefix};  // begins with "/" and does not end with one
  // How long a write waits for etcd, and how long the start does.
  base::Duration request_timeout = std::chrono::seconds(60);
  std::chrono::seconds event_ttl{3600};  // Events live so long; 0: for ever
  std::int64_t lease_reuse_seconds = 60;
  base::Duration compaction_interval = std::chrono::minutes(5);  // 0: this server does not compact
  // May be empty: then values are JSON as this server writes it.
  ValueDecoder decoder;
  ValueVersioner versioner;          // may be empty
  EtcdObserver* observer = nullptr;  // may be null
};

// Reads everything below the prefix and begins to watch. Errors: no etcd, or one that refuses. An object
// that cannot be read is logged and left alone; so is one that becomes so later, of which observers, and
// readers that do not ask WhyUnreadable(), go on with the last state.
base::Result<std::unique_ptr<EtcdStore>> OpenEtcd(const EtcdOptions& etcd, const Options& options);
// The same with a client that is there (tests).
base::Result<std::unique_ptr<EtcdStore>> OpenEtcd(std::unique_ptr<etcd::Client> client,
                                                  const EtcdOptions& etcd, const Options& options);

}  // namespace portcullis::store
