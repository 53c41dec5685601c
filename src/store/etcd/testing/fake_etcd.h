// SPDX-License-Identifier: Apache-2.0

// FakeEtcd keeps keys in memory as etcd does: revisions, transactions, history, compaction, leases
// that expire when a test says so. Clients of it are etcd::Client; a test can make them lose
// requests and answers. Thread-safe. Destroyed after its clients.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "etcd/client.h"

namespace portcullis::store::testing {

class FakeClient;

class FakeEtcd {
 private:
  struct Change {
    std::int64_t revision = 0;
    etcd::WatchEvent event;
  };
  struct Data {
    std::int64_t revision = 1;
    std::map<std::string, etcd::KeyValue> keys;
    std::vector<Change> history;
  };

 public:
  std::unique_ptr<etcd::Client> MakeClient();

  std::int64_t revision() const PC_EXCLUDES(mutex_);
  // As another client would do it; returns the revision.
  std::int64_t Put(const std::string& key, const std::string& value, std::int64_t lease = 0)
      PC_EXCLUDES(mutex_);
  void Remove(const std::string& key) PC_EXCLUDES(mutex_);
  std::string ValueOf(const std::string& key) const PC_EXCLUDES(mutex_);  // "" if there is none
  std::int64_t LeaseOf(const std::string& key) const PC_EXCLUDES(mutex_);
  // Deletes the keys of a lease, at one revision.
  void Expire(std::int64_t lease) PC_EXCLUDES(mutex_);
  void CompactTo(std::int64_t revision) PC_EXCLUDES(mutex_);
  // A copy of its data, and putting it in place of what is there; watches stay as they are.
  Data Copy() const PC_EXCLUDES(mutex_);
  void SetBack(Data data) PC_EXCLUDES(mutex_);
  // Tells watches that they are connected again.
  void Reconnect() PC_EXCLUDES(mutex_);
  // Whether watches that are there hear nothing.
  void SetSilent(bool silent) { silent_ = silent; }
  // The next requests for progress get no answer, as while a watch has not caught up.
  void LeaveUnanswered(int count) { unanswered_ = count; }
  // Whether reads wait.
  void HoldRanges(bool hold) PC_EXCLUDES(mutex_);
  // Ends all watches: they cannot go on from where they are.
  void CancelWatches() PC_EXCLUDES(mutex_);
  // The version that members tell.
  void set_version(std::string version) PC_EXCLUDES(mutex_);

  // Clients may read and watch what is below `prefix` alone, and not ask for the status: a user without the role root.
  void GrantOnly(std::string prefix) PC_EXCLUDES(mutex_);

  // Whether it takes no transactions that put anything.
  void SetFull(bool full) { full_ = full; }
  // The next transactions are carried out, but their clients do not learn it.
  void LoseAnswers(int count) { lost_answers_ = count; }
  // The next transactions do not arrive, which their clients do not learn either.
  void LoseRequests(int count) { lost_requests_ = count; }
  // Runs before the next transaction, as if another client had been faster.
  void BeforeNextTxn(std::function<void()> action) PC_EXCLUDES(mutex_);
  int ranges() const { return ranges_; }

 private:
  friend class FakeClient;

  base::Result<etcd::RangeResponse> Range(const etcd::RangeRequest& request) PC_EXCLUDES(mutex_);
  base::Status Allows(const std::string& key, const std::string& range_end) PC_EXCLUDES(mutex_);
  base::Result<etcd::TxnResponse> Txn(const etcd::TxnRequest& request) PC_EXCLUDES(mutex_);
  void Apply(const etcd::Op& op, std::int64_t revision) PC_REQUIRES(mutex_);
  bool Holds(const etcd::Compare& compare) const PC_REQUIRES(mutex_);
  void Tell() PC_REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  std::int64_t revision_ PC_GUARDED_BY(mutex_) = 1;
  std::int64_t compacted_ PC_GUARDED_BY(mutex_) = 0;
  std::int64_t next_lease_ PC_GUARDED_BY(mutex_) = 100;
  std::string version_ PC_GUARDED_BY(mutex_) = "3.5.30";
  std::string granted_ PC_GUARDED_BY(mutex_);  // "": everything
  std::map<std::string, etcd::KeyValue> keys_ PC_GUARDED_BY(mutex_);
  std::vector<Change> history_ PC_GUARDED_BY(mutex_);
  std::set<FakeClient*> clients_ PC_GUARDED_BY(mutex_);
  std::function<void()> before_txn_ PC_GUARDED_BY(mutex_);
  std::atomic<int> lost_answers_{0};
  std::atomic<int> lost_requests_{0};
  std::atomic<int> unanswered_{0};
  std::atomic<bool> holds_ranges_{false};
  std::atomic<int> ranges_{0};
  std::atomic<bool> silent_{false};
  std::atomic<bool> full_{false};
};

}  // namespace portcullis::store::testing
