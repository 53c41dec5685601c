// SPDX-License-Identifier: Apache-2.0

// One token bucket per key, of which the least recently used is forgotten when there are too many.
#pragma once

#include <list>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "plugins/event_rate_limit/event_rate_limit_config.h"

namespace portcullis::plugins::event_rate_limit {

// Confined to one thread at a time.
class TokenBuckets {
 public:
  explicit TokenBuckets(const EventLimit& limit);

  // Takes a token from the bucket of `key`, which starts full; false if it is empty.
  bool Take(const std::string& key, base::SteadyTime now);

 private:
  struct Bucket {
    std::string key;
    double tokens = 0;
    base::SteadyTime filled_at;
  };
  Bucket& Find(const std::string& key, base::SteadyTime now);

  double per_second_;
  double capacity_;
  std::size_t max_buckets_;
  std::list<Bucket> by_use_;                                        // most recently used first
  std::map<std::string_view, std::list<Bucket>::iterator> by_key_;  // keys live in the list
};

}  // namespace portcullis::plugins::event_rate_limit
