// SPDX-License-Identifier: Apache-2.0

// The messages of etcd's v3 API on the wire, in the fields that client.h has. Field numbers:
// api/etcdserverpb/rpc.proto and api/mvccpb/kv.proto of etcd. Unknown fields are skipped.
//
// Encode… return a message with gRPC's head, ready to be sent. Decode… refuse what is no message of
// that kind, in the words of Go's decoders. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "etcd/client.h"

namespace portcullis::etcd::internal {

std::string EncodeRange(const RangeRequest& request);
std::string EncodeTxn(const TxnRequest& request);
std::string EncodeCompaction(std::int64_t revision);
std::string EncodeLeaseGrant(std::int64_t ttl_seconds);
std::string EncodeLeaseId(std::int64_t id);  // LeaseRevokeRequest, LeaseKeepAliveRequest
std::string EncodeEmpty();                   // StatusRequest
std::string EncodeMemberList();
std::string EncodeWatchCreate(const WatchRequest& request);
std::string EncodeWatchProgress();

// One answer on a watch.
struct WatchResponse {
  std::int64_t revision = 0;
  std::int64_t watch_id = 0;
  bool created = false;
  bool canceled = false;
  bool fragment = false;  // more of the same follows
  std::int64_t compact_revision = 0;
  std::string cancel_reason;
  std::vector<WatchEvent> events;
};

base::Result<RangeResponse> DecodeRange(std::string_view bytes);
base::Result<TxnResponse> DecodeTxn(std::string_view bytes);
base::Result<LeaseGrantResponse> DecodeLeaseGrant(std::string_view bytes);
base::Result<LeaseGrantResponse> DecodeLeaseKeepAlive(std::string_view bytes);
base::Result<StatusResponse> DecodeStatus(std::string_view bytes);
base::Result<std::vector<Member>> DecodeMemberList(std::string_view bytes);
// CompactionResponse, LeaseRevokeResponse: that it is a message is all there is to say.
base::Status DecodeHeaderOnly(std::string_view bytes);
base::Result<WatchResponse> DecodeWatch(std::string_view bytes);

}  // namespace portcullis::etcd::internal
