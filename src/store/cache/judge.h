// SPDX-License-Identifier: Apache-2.0

// Whether a change may be made of what is stored, and the event that it makes. Every store judges
// with these, so that all of them refuse with kube-apiserver's texts. Stateless.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "store/storage_key.h"
#include "store/store.h"

namespace portcullis::store {

// What a change meets: the object that is stored (null: none) and the name of its collection.
struct Place {
  std::shared_ptr<const CollectionName> collection;
  ObjectPtr stored;
  base::Status unreadable;  // not OK: there is an object, and this is why it cannot be read
};

// OK, or why the change may not be made: kAlreadyExists, kNotFound, kConflict, or an object that
// is too large. `prefix` is that of registry keys, which stand in some of the texts.
base::Status Judge(const Change& change, const Object* stored,
                   std::string_view prefix = kStoragePrefix);

// The same if what is stored cannot be read, for the reason `unreadable`: nothing may be changed, but
// for a deletion that means such an object (kUnreadableRevision).
base::Status JudgeUnreadable(const Change& change, const base::Status& unreadable);

// The event of a change that Judge() allows, as the write of `revision`.
EventPtr MakeEvent(const Change& change, const Place& place, std::int64_t revision);

}  // namespace portcullis::store
