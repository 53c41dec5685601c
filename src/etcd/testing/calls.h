// SPDX-License-Identifier: Apache-2.0

// A Client whose calls wait for their answers, for tests; and a WatchReceiver that keeps what comes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "etcd/await.h"
#include "etcd/client.h"

namespace portcullis::etcd::testing {

inline base::SteadyTime Soon(base::Duration limit = std::chrono::seconds(20)) {
  return base::SystemClock().Steady() + limit;
}

inline base::Result<RangeResponse> Range(Client& client, RangeRequest request,
                                         base::SteadyTime deadline = Soon()) {
  return Await<RangeResponse>([&](Client::Done<RangeResponse> done) {
    client.Range(std::move(request), deadline, std::move(done));
  });
}

inline base::Result<TxnResponse> Txn(Client& client, TxnRequest request,
                                     base::SteadyTime deadline = Soon()) {
  return Await<TxnResponse>([&](Client::Done<TxnResponse> done) {
    client.Txn(std::move(request), deadline, std::move(done));
  });
}

inline Op PutOp(std::string key, std::string value, std::int64_t lease = 0) {
  return {.kind = Op::Kind::kPut,
          .key = std::move(key),
          .range_end = {},
          .value = std::move(value),
          .lease = lease};
}
inline Op DeleteOp(std::string key, std::string range_end = {}) {
  return {.kind = Op::Kind::kDelete,
          .key = std::move(key),
          .range_end = std::move(range_end),
          .value = {}};
}
inline Op RangeOp(std::string key) {
  return {.kind = Op::Kind::kRange, .key = std::move(key), .range_end = {}, .value = {}};
}

inline base::Result<TxnResponse> Put(Client& client, std::string key, std::string value,
                                     std::int64_t lease = 0) {
  return Txn(
      client,
      {.compares = {}, .success = {PutOp(std::move(key), std::move(value), lease)}, .failure = {}});
}

// Keeps all that comes; any thread may wait for more.
class Recorder final : public WatchReceiver {
 public:
  void OnEvents(std::int64_t revision, std::vector<WatchEvent> events) override {
    const std::lock_guard<std::mutex> lock(mutex);
    if (events.empty()) progress.push_back(revision);
    if (!events.empty()) ++batches;
    for (auto& event : events) all.push_back(std::move(event));
    condition.notify_all();
  }
  void OnEnd(base::Status why, std::int64_t compact) override {
    const std::lock_guard<std::mutex> lock(mutex);
    end = std::move(why);
    compact_revision = compact;
    condition.notify_all();
  }
  void OnCreated(std::int64_t revision) override {
    const std::lock_guard<std::mutex> lock(mutex);
    created.push_back(revision);
    condition.notify_all();
  }
  void OnInterrupted(const base::Status& why) override {
    const std::lock_guard<std::mutex> lock(mutex);
    interruptions.push_back(why);
    condition.notify_all();
  }
  // False after half a minute.
  template <typename Condition>
  bool WaitFor(Condition&& holds) {
    std::unique_lock<std::mutex> lock(mutex);
    return condition.wait_for(lock, std::chrono::seconds(30), holds);
  }
  bool WaitForEvents(std::size_t count) {
    return WaitFor([&] { return all.size() >= count; });
  }

  std::mutex mutex;
  std::condition_variable condition;
  std::vector<WatchEvent> all;
  std::size_t batches = 0;
  std::vector<std::int64_t> progress;
  std::vector<std::int64_t> created;
  std::vector<base::Status> interruptions;
  std::optional<base::Status> end;
  std::int64_t compact_revision = 0;
};

}  // namespace portcullis::etcd::testing
