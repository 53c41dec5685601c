// SPDX-License-Identifier: Apache-2.0

// Compactor drops what etcd keeps of the past: every interval the revision of one interval ago. It
// speaks kube-apiserver's protocol (its etcd3 storage, compact.go), so that of several
// servers, also of real kube-apiservers, one does it at a time: the version of the key
// "compact_rev_key" counts compactions, and only the server that knows the count may raise it.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "etcd/client.h"

namespace portcullis::store {

// Used by one thread at a time, but its calls are answered on the client's loop: an interval is
// longer than the deadline of a call.
class Compactor {
 public:
  // `client` outlives it; it is destroyed when no call is under way.
  explicit Compactor(etcd::Client& client) : client_(client) {}

  // Begins one round; errors are logged.
  void Run(base::SteadyTime deadline);

 private:
  void OnAnswer(const base::Result<etcd::TxnResponse>& answer, base::SteadyTime deadline);

  etcd::Client& client_;
  std::int64_t count_ = 0;     // as this server knows it
  std::int64_t revision_ = 0;  // of the last round
};

}  // namespace portcullis::store
