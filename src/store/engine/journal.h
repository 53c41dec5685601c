// SPDX-License-Identifier: Apache-2.0

// Journal is where the engine makes its writes durable before it shows them. Called by one thread
// at a time (the one that leads the commit).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/store.h"

namespace portcullis::store {

// A copy of a journal on its way to a file of its own. What is committed between two steps becomes
// part of it. The file is removed unless Finish() has succeeded. Used as the journal is, also its
// destruction.
class JournalBackup {
 public:
  virtual ~JournalBackup() = default;
  // Copies a part, in a few milliseconds. True: that was the last one.
  virtual base::Result<bool> Step() = 0;
  // Brings the file to the disk.
  virtual base::Status Finish() = 0;
};

class Journal {
 public:
  virtual ~Journal() = default;
  // All of the events, in order of revision, or none. Returns when they would survive a power cut.
  // If one event cannot be written while others could, `culprit` becomes its index.
  virtual base::Status Commit(std::span<const EventPtr> events,
                              std::optional<std::size_t>& culprit) = 0;
  // See store/at_rest.h; from any thread.
  virtual bool IsStale(const Object&) const { return false; }
  // The beginning of store::Backup().
  virtual base::Result<std::unique_ptr<JournalBackup>> StartBackup(const std::string&) {
    return base::ConfigError("this store has no database of its own to copy");
  }
};

// A journal that forgets.
class NullJournal final : public Journal {
 public:
  base::Status Commit(std::span<const EventPtr>, std::optional<std::size_t>&) override {
    return base::OkStatus();
  }
};

}  // namespace portcullis::store
