// SPDX-License-Identifier: Apache-2.0

// FieldsCache: FieldsV1 of new objects by their shape. Which fields an object has is the same for all that one
// client makes of one template (the Pods of a Deployment, Events, Leases), and takes much longer to tell and to
// write than to see that it is the same. Its values come with the text they are written as.
//
// The shape is all that FieldsOfNew() looks at: names of members, which containers are empty, what may be a key
// of a list element, and how the object differs from an empty one. It is compared whole, so that the
// result is always that of FieldsOfNew(). Bounded: kSlots shapes, each of at most kLargestShape bytes; a shape
// takes the place of another one when it is seen the second time in a row. Beside them, in as many places: the sets of
// FieldsV1 that were read, by their text; and an empty object of each kind.
//
// Thread-safe. Owned by the engine; nothing has to be invalidated, as built-in schemas live as long as it does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "api/patch/typed.h"
#include "api/schema/schema.h"
#include "base/mutex.h"
#include "json/value.h"

namespace portcullis::api::patch {

class FieldsCache {
 public:
  static constexpr std::size_t kSlots = 64;
  static constexpr std::size_t kLargestShape = 16 * 1024;

  // What the function of this name returns. `schema` is built-in and outlives the cache, `object` has been
  // decoded by it, `empty` is what {} is decoded to; `not_owned.stripped` is the same set in all calls.
  // The result lives as long as `arena`.
  std::optional<json::Value> FieldsOfNew(json::Arena& arena, const schema::Schema& schema,
                                         json::Value empty, json::Value object, json::Value sent,
                                         const NotOwned& not_owned);

  // The set of FieldsV1 of an object of that kind, provided that the set is written in the same way and has nothing to
  // reconcile; null if that is not known. `schema` is built-in and outlives the cache.
  std::shared_ptr<const FieldSet> SetOf(const schema::Schema& schema, json::Value fields);

  // What {} is decoded to by the schema of a built-in kind, which outlives the cache: made once for each. Lives as long
  // as the cache.
  json::Value EmptyOf(const schema::Schema& schema);

 private:
  struct Entry;
  struct KnownSet;
  template <typename T>
  struct Slot {
    std::uint32_t seen = 0;  // the hash of the last one that was not found
    std::shared_ptr<const T> entry;
  };

  base::Mutex mutex_;
  std::array<Slot<Entry>, kSlots> slots_ PC_GUARDED_BY(mutex_);
  std::array<Slot<KnownSet>, kSlots> sets_ PC_GUARDED_BY(mutex_);
  json::Arena empty_arena_ PC_GUARDED_BY(mutex_);
  std::unordered_map<const schema::Schema*, json::Value> empty_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::api::patch
