// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/etcd_master_leases.h"

#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "store/etcd/errors.h"

namespace portcullis::store {
namespace {

constexpr std::chrono::seconds kTimeout{5};

template <typename T>
base::Result<T> Await(const std::function<void(etcd::Client::Done<T>)>& call) {
  const auto promise = std::make_shared<std::promise<base::Result<T>>>();
  call([promise](base::Result<T> answer) { promise->set_value(std::move(answer)); });
  base::Result<T> answer = promise->get_future().get();
  if (!answer.ok()) return StoreError(answer.status());
  return answer;
}

}  // namespace

EtcdMasterLeases::EtcdMasterLeases(etcd::Client& client, const base::Clock& clock,
                                   std::string_view prefix)
    : client_(client), clock_(clock), folder_(base::StrCat(prefix, "/masterleases/")) {}

base::Result<etcd::TxnResponse> EtcdMasterLeases::Carry(etcd::TxnRequest request) {
  return Await<etcd::TxnResponse>([&](etcd::Client::Done<etcd::TxnResponse> done) {
    client_.Txn(std::move(request), clock_.Steady() + kTimeout, std::move(done));
  });
}

base::Status EtcdMasterLeases::Renew(std::string_view ip, std::chrono::seconds ttl) {
  const auto lease =
      TRY(Await<etcd::LeaseGrantResponse>([&](etcd::Client::Done<etcd::LeaseGrantResponse> done) {
        client_.LeaseGrant(ttl.count(), clock_.Steady() + kTimeout, std::move(done));
      }));
  etcd::Op op;
  op.kind = etcd::Op::Kind::kPut;
  op.key = base::StrCat(folder_, ip);
  op.value = base::StrCat(R"({"kind":"Endpoints","apiVersion":"v1","metadata":{"generation":)",
                          std::to_string(++generation_), R"(},"subsets":[{"addresses":[{"ip":")",
                          ip, "\"}]}]}\n");
  op.lease = lease.id;
  etcd::TxnRequest request;
  request.success.push_back(std::move(op));
  return Carry(std::move(request)).status();
}

base::Status EtcdMasterLeases::Remove(std::string_view ip) {
  etcd::Op op;
  op.kind = etcd::Op::Kind::kDelete;
  op.key = base::StrCat(folder_, ip);
  etcd::TxnRequest request;
  request.compares.push_back({op.key, 0});  // there is none
  request.failure.push_back(std::move(op));
  if (!TRY(Carry(std::move(request))).succeeded) return base::OkStatus();
  return base::NotFound(base::StrCat("key not found: ", folder_, ip));
}

base::Result<std::vector<std::string>> EtcdMasterLeases::List() {
  etcd::RangeRequest request;
  request.key = folder_;
  request.range_end = etcd::PrefixEnd(folder_);
  request.keys_only = true;
  const auto answer =
      TRY(Await<etcd::RangeResponse>([&](etcd::Client::Done<etcd::RangeResponse> done) {
        client_.Range(std::move(request), clock_.Steady() + kTimeout, std::move(done));
      }));
  std::vector<std::string> ips;
  for (const etcd::KeyValue& found : answer.kvs) ips.push_back(found.key.substr(folder_.size()));
  return ips;
}

}  // namespace portcullis::store
