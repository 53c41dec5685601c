// SPDX-License-Identifier: Apache-2.0

#include "flow_control/work_estimator.h"

#include <algorithm>

#include "base/strings.h"

namespace portcullis::flow_control {
namespace {

constexpr std::uint64_t kMinSeats = 1;
constexpr std::uint64_t kMaxListSeats = 100;
constexpr std::uint64_t kMaxWriteSeats = 10;
constexpr std::int64_t kBytesPerSeat = 100'000;
// A list that is answered from memory is written piece by piece.
constexpr std::int64_t kMaxFromMemory = 1'000'000;
constexpr std::uint64_t kWatchesPerSeat = 10;
constexpr base::Duration kEventTime = std::chrono::milliseconds(5);

// Averages are taken of so many objects, and anew after this time.
constexpr std::size_t kSampleSize = 64;
constexpr std::chrono::minutes kSampleAge{1};

std::uint64_t Bound(std::uint64_t max_seats, std::uint64_t limit) {
  return max_seats == 0 || max_seats > limit ? limit : max_seats;
}

std::uint64_t DivideUp(std::int64_t value, std::int64_t by) {
  return static_cast<std::uint64_t>((value + by - 1) / by);
}

// Whether kube-apiserver would ask etcd instead of its watch cache
// (k8s.io/apiserver/pkg/storage/cacher/delegator, ShouldDelegateListMeta).
bool ReadsStorage(const ListFacts& list) {
  if (list.resource_version_match == "NotOlderThan") return false;
  if (!list.resource_version_match.empty()) return true;
  if (!list.continue_token.empty()) return true;
  return list.limit > 0 && !list.resource_version.empty() && list.resource_version != "0";
}

}  // namespace

WorkEstimate WorkEstimator::ForList(const RequestFacts& facts, const ListFacts& list,
                                    std::uint64_t max_seats) const {
  max_seats = Bound(max_seats, kMaxListSeats);
  if (list.malformed) return {max_seats};
  const bool watch = facts.verb == "watch";
  const bool from_now = !list.resource_version.empty() && list.resource_version != "0";
  if (watch && from_now && !list.send_initial_events) return {kMinSeats};
  const store::Collection collection{facts.api_group, facts.resource};
  const auto count = static_cast<std::int64_t>(store_.Count(collection));
  const bool from_memory = watch || !ReadsStorage(list);
  const std::int64_t wanted = list.limit > 0 ? std::min(list.limit, count) : count;
  std::int64_t objects = wanted;
  if (!facts.name.empty()) {
    objects = 1;
  } else if (!from_memory && !(list.field_selector.empty() && list.label_selector.empty())) {
    objects = std::max(wanted, count / 2);
  }
  std::int64_t bytes = objects * AverageSize(collection, count);
  if (from_memory) bytes = std::min(bytes, kMaxFromMemory);
  return {std::clamp(DivideUp(bytes, kBytesPerSeat), kMinSeats, std::max(kMinSeats, max_seats))};
}

WorkEstimate WorkEstimator::ForWrite(int watches, std::uint64_t max_seats) {
  WorkEstimate work;
  const auto count = static_cast<std::uint64_t>(watches);
  if (count < kWatchesPerSeat) return work;
  const std::uint64_t seats = (count + kWatchesPerSeat - 1) / kWatchesPerSeat;
  const SeatSeconds total = SeatsTimesDuration(static_cast<double>(seats), kEventTime);
  work.final_seats = std::min(seats, Bound(max_seats, kMaxWriteSeats));
  work.additional_latency = DurationPerSeat(total, static_cast<double>(work.final_seats));
  return work;
}

std::int64_t WorkEstimator::AverageSize(const store::Collection& collection,
                                        std::int64_t count) const {
  if (count == 0) return 0;
  const base::SteadyTime now = clock_.Steady();
  const std::string key = base::StrCat(collection.resource, ".", collection.group);
  {
    const base::MutexLock lock(mutex_);
    const auto found = samples_.find(key);
    if (found != samples_.end() && now - found->second.taken < kSampleAge) {
      return found->second.size;
    }
  }
  store::ListRequest request;
  request.collection = collection;
  request.limit = kSampleSize;
  const auto page = store_.ListPage(request);
  std::int64_t bytes = 0;
  if (page.ok() && !page->objects.empty()) {
    for (const store::ObjectPtr& object : page->objects) {
      bytes += static_cast<std::int64_t>(object->bytes().size());
    }
    bytes /= static_cast<std::int64_t>(page->objects.size());
  }
  const base::MutexLock lock(mutex_);
  samples_[key] = {bytes, now};
  return bytes;
}

}  // namespace portcullis::flow_control
