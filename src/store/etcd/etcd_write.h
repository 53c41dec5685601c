// SPDX-License-Identifier: Apache-2.0

// One change on its way into etcd. Owned by the callback that it waits for.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "store/cache/judge.h"
#include "store/etcd/value.h"
#include "store/store.h"

namespace portcullis::store {

struct EtcdWrite {
  Change change;
  Done done;
  base::SteadyTime deadline;
  std::string key;
  base::SteadyTime sent_at;  // the last transaction
  Place place;               // by which it was judged last
  // The cache has been as new as any revision that the change may name.
  bool is_fresh = false;
  // A transaction has been sent whose outcome is not known, and the error it ended with.
  bool may_be_applied = false;
  base::Status error;
};

// Whether `stored` is what the change would have stored, one that may have been applied.
inline bool IsOutcomeOf(const EtcdWrite& write, const Object* stored) {
  if (stored == nullptr || write.change.kind == Change::Kind::kDelete) return false;
  const std::string digits = std::to_string(stored->revision());
  Encoded encoded{std::string(stored->bytes()), stored->revision_at()};
  encoded.bytes.erase(encoded.revision_at, digits.size());
  return ToEtcdValue(encoded) == ToEtcdValue(write.change.object);
}

}  // namespace portcullis::store
