// SPDX-License-Identifier: Apache-2.0

#include "plugins/event_rate_limit/token_buckets.h"

#include <algorithm>
#include <chrono>

namespace portcullis::plugins::event_rate_limit {
namespace {

constexpr std::size_t kDefaultBuckets = 4096;

}  // namespace

TokenBuckets::TokenBuckets(const EventLimit& limit)
    : per_second_(static_cast<double>(limit.qps)),
      capacity_(static_cast<double>(limit.burst)),
      max_buckets_(limit.cache_size > 0 ? static_cast<std::size_t>(limit.cache_size)
                                        : kDefaultBuckets) {}

bool TokenBuckets::Take(const std::string& key, base::SteadyTime now) {
  Bucket& bucket = Find(key, now);
  const std::chrono::duration<double> passed = now - bucket.filled_at;
  bucket.tokens = std::min(capacity_, bucket.tokens + passed.count() * per_second_);
  bucket.filled_at = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

TokenBuckets::Bucket& TokenBuckets::Find(const std::string& key, base::SteadyTime now) {
  auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return by_use_.front();
  }
  if (by_use_.size() >= max_buckets_) {
    by_key_.erase(by_use_.back().key);
    by_use_.pop_back();
  }
  by_use_.push_front({key, capacity_, now});
  by_key_.emplace(by_use_.front().key, by_use_.begin());
  return by_use_.front();
}

}  // namespace portcullis::plugins::event_rate_limit
