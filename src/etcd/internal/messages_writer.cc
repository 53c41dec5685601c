// SPDX-License-Identifier: Apache-2.0

// The requests. Written from their ends to their starts: see base/protobuf_writer.h.

#include "base/protobuf_writer.h"
#include "etcd/internal/grpc.h"
#include "etcd/internal/messages.h"

namespace portcullis::etcd::internal {
namespace {

// What tags, lengths and numbers of one message or part take at most.
constexpr std::size_t kRoom = 96;

class Writer {
 public:
  explicit Writer(std::size_t room) : out_(room + kFrameHead) {}

  // Fields with their default value are left out, as Go's encoders do.
  void Text(std::uint32_t number, std::string_view text) {
    if (!text.empty()) out_.Text(number, text);
  }
  void Integer(std::uint32_t number, std::int64_t value) {
    if (value != 0) out_.Integer(number, value);
  }
  void Number(std::uint32_t number, std::int64_t value) { out_.Integer(number, value); }
  std::size_t end() const { return out_.size(); }
  void Close(std::uint32_t number, std::size_t end) { out_.Close(number, end); }

  // With gRPC's head.
  std::string Finish() {
    const std::size_t size = out_.size();
    char head[kFrameHead] = {};
    for (std::size_t i = 1; i < kFrameHead; ++i) head[i] = static_cast<char>(size >> (8 * (4 - i)));
    out_.Bytes({head, kFrameHead});
    return std::string(out_.view());
  }

 private:
  base::protobuf::ReverseBytes out_;
};

void WriteRange(Writer& out, const RangeRequest& request) {
  out.Integer(9, request.count_only ? 1 : 0);
  out.Integer(8, request.keys_only ? 1 : 0);
  out.Integer(7, request.serializable ? 1 : 0);
  out.Integer(4, request.revision);
  out.Integer(3, request.limit);
  out.Text(2, request.range_end);
  out.Text(1, request.key);
}

// A RequestOp: which kind it is, is the number of its only field.
void WriteOp(Writer& out, std::uint32_t number, const Op& op) {
  const std::size_t end = out.end();
  switch (op.kind) {
    case Op::Kind::kRange:
      out.Text(2, op.range_end);
      out.Text(1, op.key);
      out.Close(1, end);
      break;
    case Op::Kind::kPut:
      out.Integer(4, op.prev_kv ? 1 : 0);
      out.Integer(3, op.lease);
      out.Text(2, op.value);
      out.Text(1, op.key);
      out.Close(2, end);
      break;
    case Op::Kind::kDelete:
      out.Integer(3, op.prev_kv ? 1 : 0);
      out.Text(2, op.range_end);
      out.Text(1, op.key);
      out.Close(3, end);
      break;
  }
  out.Close(number, end);
}

void WriteOps(Writer& out, std::uint32_t number, const std::vector<Op>& ops) {
  for (std::size_t i = ops.size(); i > 0; --i) WriteOp(out, number, ops[i - 1]);
}

void WriteCompare(Writer& out, const Compare& compare) {
  const std::size_t end = out.end();
  // version = 4, create_revision = 5, mod_revision = 6. The number is one of a oneof: written also if
  // it is 0. The result is EQUAL, which is 0.
  const auto target = static_cast<std::uint32_t>(compare.target);
  out.Number(4 + target, compare.number);
  out.Text(3, compare.key);
  out.Integer(2, target);
  out.Close(1, end);
}

std::size_t SizeOf(const std::vector<Op>& ops) {
  std::size_t size = 0;
  for (const Op& op : ops) size += op.key.size() + op.range_end.size() + op.value.size() + kRoom;
  return size;
}

}  // namespace

std::string EncodeRange(const RangeRequest& request) {
  Writer out(request.key.size() + request.range_end.size() + kRoom);
  WriteRange(out, request);
  return out.Finish();
}

std::string EncodeTxn(const TxnRequest& request) {
  std::size_t size = SizeOf(request.success) + SizeOf(request.failure);
  for (const Compare& compare : request.compares) size += compare.key.size() + kRoom;
  Writer out(size + kRoom);
  WriteOps(out, 3, request.failure);
  WriteOps(out, 2, request.success);
  for (std::size_t i = request.compares.size(); i > 0; --i) {
    WriteCompare(out, request.compares[i - 1]);
  }
  return out.Finish();
}

std::string EncodeCompaction(std::int64_t revision) {
  Writer out(kRoom);
  out.Integer(1, revision);
  return out.Finish();
}

std::string EncodeLeaseGrant(std::int64_t ttl_seconds) {
  Writer out(kRoom);
  out.Integer(1, ttl_seconds);
  return out.Finish();
}

std::string EncodeLeaseId(std::int64_t id) {
  Writer out(kRoom);
  out.Integer(1, id);
  return out.Finish();
}

std::string EncodeEmpty() { return Writer(0).Finish(); }

std::string EncodeMemberList() {
  Writer out(kRoom);
  out.Integer(1, 1);  // linearizable
  return out.Finish();
}

std::string EncodeWatchCreate(const WatchRequest& request) {
  Writer out(request.key.size() + request.range_end.size() + kRoom);
  const std::size_t end = out.end();
  out.Integer(8, request.fragment ? 1 : 0);
  out.Integer(6, request.prev_kv ? 1 : 0);
  out.Integer(4, request.progress_notify ? 1 : 0);
  out.Integer(3, request.start_revision);
  out.Text(2, request.range_end);
  out.Text(1, request.key);
  out.Close(1, end);
  return out.Finish();
}

std::string EncodeWatchProgress() {
  Writer out(kRoom);
  out.Close(3, out.end());
  return out.Finish();
}

}  // namespace portcullis::etcd::internal
