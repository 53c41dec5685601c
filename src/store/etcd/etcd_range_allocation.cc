// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/etcd_range_allocation.h"

#include <algorithm>
#include <utility>

#include "base/protobuf_reader.h"
#include "base/strings.h"
#include "etcd/await.h"
#include "json/reader.h"
#include "json/value.h"
#include "json/writer.h"
#include "store/encryption/transformer.h"
#include "store/etcd/errors.h"

namespace portcullis::store {
namespace {

constexpr std::chrono::seconds kTxnTimeout{5};
constexpr std::string_view kProtobuf("k8s\0", 4);
constexpr std::uint32_t kBytesOnWire = 2;

// kube-apiserver writes the bits as one large number, in big-endian order, without leading zeros.
std::vector<bool> BitsOf(std::string_view number) {
  std::vector<bool> bits(number.size() * 8);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const auto byte = static_cast<unsigned char>(number[number.size() - 1 - i / 8]);
    bits[i] = (byte >> (i % 8) & 1U) != 0;
  }
  return bits;
}

std::string NumberOf(const std::vector<bool>& bits) {
  std::string number((bits.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < bits.size(); ++i) {
    char& byte = number[number.size() - 1 - i / 8];
    if (bits[i]) byte = static_cast<char>(static_cast<unsigned char>(byte) | 1U << (i % 8));
  }
  return number.substr(std::min(number.find_first_not_of('\0'), number.size()));
}

// The field of a message that holds bytes; "" if there is none.
base::Result<std::string_view> FieldOf(std::string_view message, std::uint32_t number) {
  base::protobuf::Wire wire(message);
  std::string_view found;
  while (!wire.done()) {
    base::protobuf::Part part;
    TRY(base::protobuf::ReadTag(wire, "RangeAllocation", part));
    if (part.number != number || part.wire_type != kBytesOnWire) {
      TRY(wire.Skip(part.wire_type));
      continue;
    }
    TRY(wire.Bytes(found));
  }
  return found;
}

}  // namespace

base::Result<RangeAllocation::State> ParseRangeAllocation(std::string_view value) {
  RangeAllocation::State state;
  if (value.starts_with(kProtobuf)) {
    // runtime.Unknown, which holds the object in its second field.
    const std::string_view object = TRY(FieldOf(value.substr(kProtobuf.size()), 2));
    state.range = TRY(FieldOf(object, 2));
    state.taken = BitsOf(TRY(FieldOf(object, 3)));
    return state;
  }
  json::Arena arena;
  const json::Value object = TRY(json::Parse(arena, value, {.borrow_text = true}));
  const auto bytes = base::Base64Decode(object["data"].AsString());
  if (!object.is_object() || !bytes) return base::BadRequest("it is no RangeAllocation");
  state.range = object["range"].AsString();
  state.taken = BitsOf(*bytes);
  return state;
}

std::string RangeAllocationText(const RangeAllocation::State& state) {
  return base::StrCat(R"({"kind":"RangeAllocation","apiVersion":"v1","metadata":{},"range":")",
                      state.range, R"(","data":")", base::Base64Encode(NumberOf(state.taken)),
                      "\"}\n");
}

EtcdRangeAllocation::EtcdRangeAllocation(etcd::Client& client, const base::Clock& clock,
                                         std::string_view prefix)
    : client_(client), clock_(clock), key_(base::StrCat(prefix, "/ranges/servicenodeports")) {}

base::Status EtcdRangeAllocation::Change(const Edit& edit) {
  const base::SteadyTime end = clock_.Steady() + kTxnTimeout;
  while (clock_.Steady() < end) {
    etcd::RangeRequest request;
    request.key = key_;
    const auto answer = etcd::Await<etcd::RangeResponse>([&](auto done) {
      client_.Range(std::move(request), clock_.Steady() + kTxnTimeout, std::move(done));
    });
    if (!answer.ok()) return StoreError(answer.status());
    State state;
    std::int64_t revision = 0;
    if (!answer->kvs.empty()) {
      const etcd::KeyValue& found = answer->kvs.front();
      state = TRY(Read(found.value));
      revision = found.mod_revision;
    }
    TRY(edit(state));
    // A full etcd takes no put.
    if (revision != 0 && RangeAllocationText(state) == answer->kvs.front().value) {
      return base::OkStatus();
    }
    if (TRY(Store(state, revision))) return base::OkStatus();
  }
  return base::InternalError(base::StrCat(key_, ": other servers change it all the time"));
}

base::Result<RangeAllocation::State> EtcdRangeAllocation::Read(std::string_view value) const {
  base::Status status = CheckPlain(value);
  if (status.ok()) {
    auto parsed = ParseRangeAllocation(value);
    if (parsed.ok()) return parsed;
    status = parsed.status();
  }
  return base::InternalError(base::StrCat(key_, ": ", status.message()));
}

base::Result<bool> EtcdRangeAllocation::Store(const State& state, std::int64_t revision) {
  etcd::Op op;
  op.kind = etcd::Op::Kind::kPut;
  op.key = key_;
  op.value = RangeAllocationText(state);
  etcd::TxnRequest request;
  request.compares.push_back({key_, revision});
  request.success.push_back(std::move(op));
  const auto answer = etcd::Await<etcd::TxnResponse>([&](auto done) {
    client_.Txn(std::move(request), clock_.Steady() + kTxnTimeout, std::move(done));
  });
  if (!answer.ok()) return StoreError(answer.status());
  return answer->succeeded;
}

}  // namespace portcullis::store
