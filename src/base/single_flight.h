// SPDX-License-Identifier: Apache-2.0

// SingleFlight runs a piece of work once for all callers that want it at the same time
// (golang.org/x/sync/singleflight). The first of them runs it on its thread, the others wait for its
// result. Thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace portcullis::base {

template <typename T>
class SingleFlight {
 public:
  // No result if `deadline` has passed. `work` itself has none if it gave up (or could not allocate
  // memory): then one of those that wait runs its own.
  std::optional<T> Do(const std::string& key, SteadyTime deadline,
                      const std::function<std::optional<T>()>& work) {
    while (true) {
      const auto [flight, is_first] = Join(key);
      if (is_first) {
        const Landing landing{*this, key, *flight};
        return flight->result = work();
      }
      if (!Wait(*flight, deadline)) return std::nullopt;
      if (flight->result) return flight->result;
    }
  }

  // How many wait for the work of others.
  std::size_t waiting() const {
    MutexLock lock(mutex_);
    return waiting_;
  }

 private:
  struct Flight {
    bool is_over = false;  // guarded by the mutex; from then on the result stays as it is
    std::optional<T> result;
  };

  // The end of a flight, whatever ends it.
  struct Landing {
    SingleFlight& flights;
    const std::string& key;
    Flight& flight;
    ~Landing() {
      MutexLock lock(flights.mutex_);
      flight.is_over = true;
      flights.by_key_.erase(key);
      flights.over_.NotifyAll();
    }
  };

  std::pair<std::shared_ptr<Flight>, bool> Join(const std::string& key) {
    MutexLock lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      return {found->second, false};
    }
    return {by_key_.emplace(key, std::make_shared<Flight>()).first->second, true};
  }

  bool Wait(const Flight& flight, SteadyTime deadline) {
    MutexLock lock(mutex_);
    ++waiting_;
    while (!flight.is_over && over_.WaitUntil(mutex_, deadline)) {
    }
    --waiting_;
    return flight.is_over;
  }

  mutable Mutex mutex_;
  CondVar over_;
  std::map<std::string, std::shared_ptr<Flight>> by_key_ PC_GUARDED_BY(mutex_);
  std::size_t waiting_ PC_GUARDED_BY(mutex_) = 0;
};

}  // namespace portcullis::base
