// SPDX-License-Identifier: Apache-2.0

// Reads that fail if what they are about cannot be read (Reader::WhyUnreadable()), for all that must not take a
// former state for the newest one, or a missing object for one that is gone. Stateless.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/store.h"

namespace portcullis::store {

// Reader::Get(); an error if that object cannot be read.
base::Result<ObjectPtr> GetReadable(const Reader& reader, const Key& key);

// Reader::List(); an error if one of these objects cannot be read.
base::Result<std::vector<ObjectPtr>> ListReadable(const Reader& reader,
                                                  const Collection& collection,
                                                  std::string_view ns = {});

// As the precondition of a deletion, the revision of an object that cannot be read: it is removed, unseen, and
// without an event.
inline constexpr std::int64_t kUnreadableRevision = -1;

}  // namespace portcullis::store
