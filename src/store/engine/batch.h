// SPDX-License-Identifier: Apache-2.0

// Batch judges queued writes against the state they will meet: what is stored, overlaid with what
// earlier writes of the same batch have done. Confined to the committing thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "store/cache/judge.h"
#include "store/store.h"

namespace portcullis::store {

// One queued change and, in the end, its outcome. The views point into the caller's arguments.
struct PendingWrite : Change {
  base::Result<ObjectPtr> result = ObjectPtr();
};

class Batch {
 public:
  // `lookup` gives the stored object and the name of its collection (made if need be).
  using Lookup = std::function<Place(const Key& key)>;
  Batch(std::int64_t revision, Lookup lookup) : revision_(revision), lookup_(std::move(lookup)) {}

  // Sets write.result, to what holds once the batch has been committed.
  void Add(PendingWrite& write);
  const std::vector<EventPtr>& events() const { return events_; }
  // The write that events()[index] is of.
  PendingWrite* writer(std::size_t index) const { return writers_[index]; }

 private:
  base::Result<ObjectPtr> Apply(PendingWrite& write);
  Place& Find(const Key& key);

  std::int64_t revision_;
  const Lookup lookup_;
  std::unordered_map<std::string, Place> places_;
  std::vector<EventPtr> events_;
  std::vector<PendingWrite*> writers_;  // of events_
};

}  // namespace portcullis::store
