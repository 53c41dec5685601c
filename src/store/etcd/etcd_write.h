// SPDX-License-Identifier: Apache-2.0

// One change on its way into etcd. Owned by the callback that it waits for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "etcd/client.h"
#include "store/cache/judge.h"
#include "store/store.h"

namespace portcullis::store {

struct EtcdWrite {
  Change change;
  Done done;
  base::SteadyTime deadline;
  std::string key;
  base::SteadyTime sent_at;  // the last transaction
  std::int64_t known = 0;    // the revision that was reached then
  Place place;               // by which it was judged last
  // The cache has been as new as any revision that the change may name.
  bool is_fresh = false;
  bool is_etcd_full = false;  // the deletion has been refused for that
  // A transaction has been sent whose outcome is not known, and the error it ended with.
  bool may_be_applied = false;
  base::Status error;
};

// Whether `stored` is what the change would have stored, one that may have been applied.
bool IsOutcomeOf(const EtcdWrite& write, const Object* stored);

// Whether etcd has refused it because it is full, and may not if no key is put: of a deletion. It is then
// sent so the next time.
bool CanDoWithoutPut(EtcdWrite& write, const base::Status& error);
// As kube-apiserver's metrics name it.
std::string_view NameOf(Change::Kind kind);
// Whether the object is an Event, which expires.
bool IsEvent(const Key& key);
// Does `op`, which writes or deletes the object, if what the change was judged by is still so.
etcd::TxnRequest TransactionOf(const EtcdWrite& write, etcd::Op op, const std::string& rules_key);

}  // namespace portcullis::store
