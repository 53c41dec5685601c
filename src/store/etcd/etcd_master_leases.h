// SPDX-License-Identifier: Apache-2.0

// EtcdMasterLeases keeps them where kube-apiserver does: "<prefix>/masterleases/<ip>", with an etcd
// lease. The value is an Endpoints of that one address, which kube-apiserver never encrypts (its
// identity transformer refuses an encrypted one, whatever the encryption configuration says). The
// key alone is read: it names the address, too.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "etcd/client.h"
#include "store/master_leases.h"

namespace portcullis::store {

class EtcdMasterLeases final : public MasterLeases {
 public:
  // `client` and `clock` outlive it.
  EtcdMasterLeases(etcd::Client& client, const base::Clock& clock, std::string_view prefix);

  base::Status Renew(std::string_view ip, std::chrono::seconds ttl) override;
  base::Status Remove(std::string_view ip) override;
  base::Result<std::vector<std::string>> List() override;

 private:
  base::Result<etcd::TxnResponse> Carry(etcd::TxnRequest request);

  etcd::Client& client_;
  const base::Clock& clock_;
  const std::string folder_;  // "/registry/masterleases/"
  std::atomic<std::int64_t> generation_{0};
};

}  // namespace portcullis::store
