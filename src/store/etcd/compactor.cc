// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/compactor.h"

#include <string>
#include <utility>

#include "base/log.h"

namespace portcullis::store {
namespace {

constexpr std::string_view kKey = "compact_rev_key";

void LogFailure(const base::Status& status) {
  if (etcd::IsCompacted(status)) return;
  base::LogWarning("etcd could not be compacted", {{"error", status.message()}});
}

}  // namespace

void Compactor::Run(base::SteadyTime deadline) {
  etcd::TxnRequest request;
  request.compares.push_back({std::string(kKey), count_, etcd::Compare::Target::kVersion});
  etcd::Op put;
  put.kind = etcd::Op::Kind::kPut;
  put.key = kKey;
  put.value = std::to_string(revision_);
  request.success.push_back(std::move(put));
  etcd::Op get;
  get.kind = etcd::Op::Kind::kRange;
  get.key = kKey;
  request.failure.push_back(std::move(get));
  client_.Txn(std::move(request), deadline,
              [this, deadline](const base::Result<etcd::TxnResponse>& answer) {
                OnAnswer(answer, deadline);
              });
}

void Compactor::OnAnswer(const base::Result<etcd::TxnResponse>& answer, base::SteadyTime deadline) {
  if (!answer.ok()) return LogFailure(answer.status());
  const std::int64_t compacted = std::exchange(revision_, answer->revision);
  if (!answer->succeeded) {
    // Another server has done it; this one is next if that one does not come again.
    const bool found = !answer->responses.empty() && !answer->responses.front().kvs.empty();
    count_ = found ? answer->responses.front().kvs.front().version : 0;
    return;
  }
  ++count_;
  if (compacted == 0) return;
  client_.Compact(compacted, deadline, [](const base::Result<etcd::Client::Empty>& done) {
    if (!done.ok()) LogFailure(done.status());
  });
}

}  // namespace portcullis::store
