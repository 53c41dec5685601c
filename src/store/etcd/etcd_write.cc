// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/etcd_write.h"

#include <utility>

#include "store/etcd/errors.h"
#include "store/etcd/rules.h"
#include "store/etcd/value.h"

namespace portcullis::store {

bool IsOutcomeOf(const EtcdWrite& write, const Object* stored) {
  if (stored == nullptr || write.change.kind == Change::Kind::kDelete) return false;
  const std::string digits = std::to_string(stored->revision());
  Encoded encoded{std::string(stored->bytes()), stored->revision_at()};
  encoded.bytes.erase(encoded.revision_at, digits.size());
  return ToEtcdValue(encoded) == ToEtcdValue(write.change.object);
}

bool CanDoWithoutPut(EtcdWrite& write, const base::Status& error) {
  if (write.change.kind != Change::Kind::kDelete || !IsFull(error)) return false;
  return !std::exchange(write.is_etcd_full, true);
}

std::string_view NameOf(Change::Kind kind) {
  if (kind == Change::Kind::kCreate) return "create";
  return kind == Change::Kind::kUpdate ? "update" : "delete";
}

bool IsEvent(const Key& key) {
  return key.resource == "events" && (key.group.empty() || key.group == "events.k8s.io");
}

etcd::TxnRequest TransactionOf(const EtcdWrite& write, etcd::Op op, const std::string& rules_key) {
  etcd::TxnRequest request;
  const Object* const stored = write.place.stored.get();
  request.compares.push_back({write.key, stored != nullptr ? stored->revision() : 0});
  request.success.push_back(std::move(op));
  if (write.change.rules_revision) {
    request.compares.push_back({rules_key, *write.change.rules_revision});
  }
  if (ChangesRules(write.change)) {
    etcd::Op turn;
    turn.kind = write.is_etcd_full ? etcd::Op::Kind::kDelete : etcd::Op::Kind::kPut;
    turn.key = rules_key;
    request.success.push_back(std::move(turn));
  }
  return request;
}

}  // namespace portcullis::store
