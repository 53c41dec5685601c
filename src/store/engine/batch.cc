// SPDX-License-Identifier: Apache-2.0

#include "store/engine/batch.h"

#include <utility>

#include "base/strings.h"

namespace portcullis::store {

Place& Batch::Find(const Key& key) {
  std::string full = base::StrCat(key.group, "/", key.resource, "/", key.ns, "/", key.name);
  auto it = places_.find(full);
  if (it == places_.end()) it = places_.emplace(std::move(full), lookup_(key)).first;
  return it->second;
}

void Batch::Add(PendingWrite& write) { write.result = Apply(write); }

base::Result<ObjectPtr> Batch::Apply(PendingWrite& write) {
  Place& place = Find(write.key);
  if (place.unreadable.ok()) {
    TRY(Judge(write, place.stored.get()));
  } else {
    TRY(JudgeUnreadable(write, place.unreadable));
    place.unreadable = base::OkStatus();
  }
  EventPtr event = MakeEvent(write, place, ++revision_);
  place.stored = event->type == EventType::kDeleted ? nullptr : event->object;
  ObjectPtr object = event->object;
  events_.push_back(std::move(event));
  writers_.push_back(&write);
  return object;
}

}  // namespace portcullis::store
