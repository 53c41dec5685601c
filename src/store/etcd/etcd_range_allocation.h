// SPDX-License-Identifier: Apache-2.0

// EtcdRangeAllocation keeps the node ports where kube-apiserver does, and as it does: a
// RangeAllocation of core/v1 at "<prefix>/ranges/servicenodeports", with one bit for each port. Like
// the master leases, kube-apiserver never encrypts it, whatever the encryption configuration says.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "etcd/client.h"
#include "store/range_allocation.h"

namespace portcullis::store {

class EtcdRangeAllocation final : public RangeAllocation {
 public:
  // `client` and `clock` outlive it.
  EtcdRangeAllocation(etcd::Client& client, const base::Clock& clock, std::string_view prefix);

  base::Status Change(const Edit& edit) override;

 private:
  base::Result<State> Read(std::string_view value) const;
  // Whether it was stored; not if the value has changed since `revision`.
  base::Result<bool> Store(const State& state, std::int64_t revision);

  etcd::Client& client_;
  const base::Clock& clock_;
  const std::string key_;
};

// The value of the key, as JSON or protobuf of kube-apiserver. Errors: what is wrong with it.
base::Result<RangeAllocation::State> ParseRangeAllocation(std::string_view value);
// As JSON.
std::string RangeAllocationText(const RangeAllocation::State& state);

}  // namespace portcullis::store
