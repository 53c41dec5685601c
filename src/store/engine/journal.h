// SPDX-License-Identifier: Apache-2.0

// Journal is where the engine makes its writes durable before it shows them. Called by one thread
// at a time (the one that leads the commit).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "store/store.h"

namespace portcullis::store {

class Journal {
 public:
  virtual ~Journal() = default;
  // All of the events, in order of revision, or none. Returns when they would survive a power cut.
  // If one event cannot be written while others could, `culprit` becomes its index.
  virtual base::Status Commit(std::span<const EventPtr> events,
                              std::optional<std::size_t>& culprit) = 0;
};

// A journal that forgets.
class NullJournal final : public Journal {
 public:
  base::Status Commit(std::span<const EventPtr>, std::optional<std::size_t>&) override {
    return base::OkStatus();
  }
};

}  // namespace portcullis::store
