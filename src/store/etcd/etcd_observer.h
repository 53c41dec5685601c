// SPDX-License-Identifier: Apache-2.0

// Hears what a store does with etcd, for metrics. Called by several threads at once, on the loop of etcd's
// client among them: it must be quick. Outlives the store.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "store/store.h"

namespace portcullis::store {

class EtcdObserver {
 public:
  virtual ~EtcdObserver() = default;
  // `operation` as kube-apiserver names it: "create", "update", "delete". Not `ok`: etcd has not
  // answered, or with an error.
  virtual void OnRequest(std::string_view operation, const Collection& collection, bool ok,
                         base::Duration elapsed) = 0;
  virtual void OnEvent(const Collection& collection) = 0;
  virtual void OnDecodeError(const Collection& collection) = 0;
  // etcd has told that there are no more events up to its present revision.
  virtual void OnBookmark() = 0;
  // Bytes of the database of the member that is connected, now and then; -1: it does not answer.
  virtual void OnDatabaseSize(std::int64_t bytes) = 0;
};

}  // namespace portcullis::store
