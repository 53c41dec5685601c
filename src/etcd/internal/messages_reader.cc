// SPDX-License-Identifier: Apache-2.0

// The answers.

#include <utility>

#include "base/protobuf_reader.h"
#include "base/strings.h"
#include "etcd/internal/messages.h"

namespace portcullis::etcd::internal {
namespace {

using base::protobuf::kBytes;
using base::protobuf::kVarint;
using base::protobuf::Part;
using base::protobuf::Wire;

// A field that is about to be read.
class Field {
 public:
  Field(Wire& wire, const Part& part) : wire_(wire), part_(part) {}
  std::uint32_t number() const { return part_.number; }

  base::Status Skip() { return wire_.Skip(part_.wire_type); }
  base::Status Bytes(std::string_view name, std::string_view& value) {
    TRY(base::protobuf::ReadContent(wire_, kBytes, name, part_));
    value = part_.bytes;
    return base::OkStatus();
  }
  base::Status Text(std::string_view name, std::string& value) {
    std::string_view bytes;
    TRY(Bytes(name, bytes));
    value = bytes;
    return base::OkStatus();
  }
  template <typename T>
  base::Status Integer(std::string_view name, T& value) {
    TRY(base::protobuf::ReadContent(wire_, kVarint, name, part_));
    value = static_cast<T>(part_.scalar);
    return base::OkStatus();
  }
  base::Status Flag(std::string_view name, bool& value) {
    TRY(base::protobuf::ReadContent(wire_, kVarint, name, part_));
    value = part_.scalar != 0;
    return base::OkStatus();
  }

 private:
  Wire& wire_;
  Part part_;
};

// Calls `on_field` (Field, returns Status) for each field of a message; it must read the field.
template <typename OnField>
base::Status ReadMessage(std::string_view bytes, std::string_view message, OnField&& on_field) {
  Wire wire(bytes);
  while (!wire.done()) {
    Part part;
    TRY(base::protobuf::ReadTag(wire, message, part));
    TRY(on_field(Field(wire, part)));
  }
  return base::OkStatus();
}

// A field that is a message itself, read by `read` (std::string_view, returns Status).
template <typename Read>
base::Status ReadNested(Field field, std::string_view name, Read&& read) {
  std::string_view bytes;
  TRY(field.Bytes(name, bytes));
  return read(bytes);
}

// The revision of a ResponseHeader; `member` may be null.
base::Status ReadHeader(Field header, std::int64_t& revision, std::uint64_t* member = nullptr) {
  return ReadNested(header, "Header", [&](std::string_view bytes) {
    return ReadMessage(bytes, "ResponseHeader", [&](Field field) {
      if (field.number() == 2 && member != nullptr) return field.Integer("MemberId", *member);
      if (field.number() == 3) return field.Integer("Revision", revision);
      return field.Skip();
    });
  });
}

base::Status ReadKeyValue(std::string_view bytes, KeyValue& kv) {
  return ReadMessage(bytes, "KeyValue", [&](Field field) {
    switch (field.number()) {
      case 1:
        return field.Text("Key", kv.key);
      case 2:
        return field.Integer("CreateRevision", kv.create_revision);
      case 3:
        return field.Integer("ModRevision", kv.mod_revision);
      case 4:
        return field.Integer("Version", kv.version);
      case 5:
        return field.Text("Value", kv.value);
      case 6:
        return field.Integer("Lease", kv.lease);
      default:
        return field.Skip();
    }
  });
}

base::Status AddKeyValue(Field field, std::string_view name, std::vector<KeyValue>& kvs) {
  return ReadNested(
      field, name, [&](std::string_view bytes) { return ReadKeyValue(bytes, kvs.emplace_back()); });
}

base::Status ReadRange(std::string_view bytes, RangeResponse& response) {
  return ReadMessage(bytes, "RangeResponse", [&](Field field) {
    switch (field.number()) {
      case 1:
        return ReadHeader(field, response.revision);
      case 2:
        return AddKeyValue(field, "Kvs", response.kvs);
      case 3:
        return field.Flag("More", response.more);
      case 4:
        return field.Integer("Count", response.count);
      default:
        return field.Skip();
    }
  });
}

base::Status ReadPut(std::string_view bytes, OpResponse& response) {
  return ReadMessage(bytes, "PutResponse", [&](Field field) {
    if (field.number() == 2) return AddKeyValue(field, "PrevKv", response.kvs);
    return field.Skip();
  });
}

base::Status ReadDelete(std::string_view bytes, OpResponse& response) {
  return ReadMessage(bytes, "DeleteRangeResponse", [&](Field field) {
    if (field.number() == 2) return field.Integer("Deleted", response.count);
    if (field.number() == 3) return AddKeyValue(field, "PrevKvs", response.kvs);
    return field.Skip();
  });
}

base::Status ReadOp(std::string_view bytes, OpResponse& response) {
  return ReadMessage(bytes, "ResponseOp", [&](Field field) {
    switch (field.number()) {
      case 1:
        return ReadNested(field, "ResponseRange", [&](std::string_view inner) -> base::Status {
          RangeResponse range;
          TRY(ReadRange(inner, range));
          response = {.kind = Op::Kind::kRange,
                      .kvs = std::move(range.kvs),
                      .count = range.count,
                      .more = range.more};
          return base::OkStatus();
        });
      case 2:
        return ReadNested(field, "ResponsePut", [&](std::string_view inner) {
          response = {.kind = Op::Kind::kPut, .kvs = {}};
          return ReadPut(inner, response);
        });
      case 3:
        return ReadNested(field, "ResponseDeleteRange", [&](std::string_view inner) {
          response = {.kind = Op::Kind::kDelete, .kvs = {}};
          return ReadDelete(inner, response);
        });
      default:
        return field.Skip();
    }
  });
}

base::Status ReadEvent(std::string_view bytes, WatchEvent& event) {
  return ReadMessage(bytes, "Event", [&](Field field) {
    switch (field.number()) {
      case 1:
        return field.Flag("Type", event.deleted);
      case 2:
        return ReadNested(field, "Kv",
                          [&](std::string_view inner) { return ReadKeyValue(inner, event.kv); });
      case 3:
        return ReadNested(field, "PrevKv", [&](std::string_view inner) {
          return ReadKeyValue(inner, event.previous.emplace());
        });
      default:
        return field.Skip();
    }
  });
}

base::Status ReadMember(std::string_view bytes, Member& member) {
  return ReadMessage(bytes, "Member", [&](Field field) {
    switch (field.number()) {
      case 1:
        return field.Integer("ID", member.id);
      case 2:
        return field.Text("Name", member.name);
      case 3:
        return field.Text("PeerURLs", member.peer_urls.emplace_back());
      case 4:
        return field.Text("ClientURLs", member.client_urls.emplace_back());
      case 5:
        return field.Flag("IsLearner", member.is_learner);
      default:
        return field.Skip();
    }
  });
}

}  // namespace

base::Result<RangeResponse> DecodeRange(std::string_view bytes) {
  RangeResponse response;
  TRY(ReadRange(bytes, response));
  return response;
}

base::Result<TxnResponse> DecodeTxn(std::string_view bytes) {
  TxnResponse response;
  TRY(ReadMessage(bytes, "TxnResponse", [&](Field field) {
    switch (field.number()) {
      case 1:
        return ReadHeader(field, response.revision);
      case 2:
        return field.Flag("Succeeded", response.succeeded);
      case 3:
        return ReadNested(field, "Responses", [&](std::string_view inner) {
          return ReadOp(inner, response.responses.emplace_back());
        });
      default:
        return field.Skip();
    }
  }));
  return response;
}

base::Result<LeaseGrantResponse> DecodeLeaseGrant(std::string_view bytes) {
  LeaseGrantResponse response;
  TRY(ReadMessage(bytes, "LeaseGrantResponse", [&](Field field) {
    if (field.number() == 2) return field.Integer("ID", response.id);
    if (field.number() == 3) return field.Integer("TTL", response.ttl);
    return field.Skip();
  }));
  return response;
}

base::Result<LeaseGrantResponse> DecodeLeaseKeepAlive(std::string_view bytes) {
  return DecodeLeaseGrant(bytes);  // the same fields in the same places
}

base::Result<StatusResponse> DecodeStatus(std::string_view bytes) {
  StatusResponse response;
  TRY(ReadMessage(bytes, "StatusResponse", [&](Field field) {
    switch (field.number()) {
      case 1:
        return ReadHeader(field, response.revision, &response.member);
      case 2:
        return field.Text("Version", response.version);
      case 3:
        return field.Integer("DbSize", response.db_size);
      case 4:
        return field.Integer("Leader", response.leader);
      case 8:
        return field.Text("Errors", response.errors.emplace_back());
      case 9:
        return field.Integer("DbSizeInUse", response.db_size_in_use);
      case 10:
        return field.Flag("IsLearner", response.is_learner);
      default:
        return field.Skip();
    }
  }));
  return response;
}

base::Result<std::vector<Member>> DecodeMemberList(std::string_view bytes) {
  std::vector<Member> members;
  TRY(ReadMessage(bytes, "MemberListResponse", [&](Field field) {
    if (field.number() != 2) return field.Skip();
    return ReadNested(field, "Members", [&](std::string_view inner) {
      return ReadMember(inner, members.emplace_back());
    });
  }));
  return members;
}

base::Status DecodeHeaderOnly(std::string_view bytes) {
  return ReadMessage(bytes, "ResponseHeader", [](Field field) { return field.Skip(); });
}

base::Result<WatchResponse> DecodeWatch(std::string_view bytes) {
  WatchResponse response;
  TRY(ReadMessage(bytes, "WatchResponse", [&](Field field) {
    switch (field.number()) {
      case 1:
        return ReadHeader(field, response.revision);
      case 2:
        return field.Integer("WatchId", response.watch_id);
      case 3:
        return field.Flag("Created", response.created);
      case 4:
        return field.Flag("Canceled", response.canceled);
      case 5:
        return field.Integer("CompactRevision", response.compact_revision);
      case 6:
        return field.Text("CancelReason", response.cancel_reason);
      case 7:
        return field.Flag("Fragment", response.fragment);
      case 11:
        return ReadNested(field, "Events", [&](std::string_view inner) {
          return ReadEvent(inner, response.events.emplace_back());
        });
      default:
        return field.Skip();
    }
  }));
  return response;
}

}  // namespace portcullis::etcd::internal
