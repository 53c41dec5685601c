// SPDX-License-Identifier: Apache-2.0

// etcd::Client talks to an etcd cluster (v3 API, 3.4 and later) over gRPC: one HTTP/2 connection at a
// time to one of the given endpoints, all calls and watches side by side on it.
//
// Behaviour follows etcd's Go client as kube-apiserver sets it up: dial timeout 20 s, messages sent of
// at most 2 MiB, watches that require a leader and go on after a lost connection, reads repeated on
// another member. What differs: a member that answers nothing is left after about 11 s, not 40 s, and a
// call (but a serializable read) that meets a member without a leader goes to the next one.
//
// Thread-safe. All callbacks run on the client's own thread ("the loop"), once for each call, never
// inside the call that asked for it. They must not block: everything else waits for them. A caller
// may hold any lock while it calls the client.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace portcullis::etcd {

// --- Errors
//
// A Status with gRPC's message and, as its reason, the name of gRPC's code: Unavailable
// "etcdserver: request timed out". Errors found on this side are worded as Go's client words them:
// DeadlineExceeded "context deadline exceeded", Canceled "context canceled", Unavailable
// "connection error: desc = …".

// https://grpc.io/docs/guides/status-codes/
enum class Code : std::uint8_t {
  kOk = 0,
  kCanceled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};
std::string_view CodeText(Code code);  // "DeadlineExceeded"

// The code of an error of this module; kUnknown for every other error.
Code CodeOf(const base::Status& status);
bool IsUnavailable(const base::Status& status);
// The request has been sent, and nothing tells whether etcd has applied it or still will. Never true
// for a read. False means that it has not been applied.
bool IsUnknownOutcome(const base::Status& status);
// "etcdserver: mvcc: required revision has been compacted"
bool IsCompacted(const base::Status& status);
bool IsLeaseNotFound(const base::Status& status);

// --- Messages: etcd's, in the fields that are used here

struct KeyValue {
  std::string key;
  std::string value;
  std::int64_t create_revision = 0;
  std::int64_t mod_revision = 0;
  std::int64_t version = 0;
  std::int64_t lease = 0;
  bool operator==(const KeyValue&) const = default;
};

// `range_end` of every request: "" for the one key, PrefixEnd(key) for a prefix, "\0" for all from
// the key on.
std::string PrefixEnd(std::string_view prefix);

struct RangeRequest {
  std::string key;
  std::string range_end;
  std::int64_t limit = 0;     // 0: none
  std::int64_t revision = 0;  // 0: the newest
  bool serializable = false;  // answered by the member from what it has, which may be old
  bool keys_only = false;
  bool count_only = false;
};

struct RangeResponse {
  std::int64_t revision = 0;  // of the whole store when it answered
  std::vector<KeyValue> kvs;  // by key
  bool more = false;          // `limit` has cut it off
  std::int64_t count = 0;     // all keys in the range, without regard to the limit
};

// Holds if the key's property equals `number`. Of an absent key all are 0.
struct Compare {
  enum class Target : std::uint8_t { kVersion = 0, kCreateRevision = 1, kModRevision = 2 };
  std::string key;
  std::int64_t number = 0;
  Target target = Target::kModRevision;
};

struct Op {
  enum class Kind : std::uint8_t { kRange, kPut, kDelete };
  Kind kind = Kind::kRange;
  std::string key;
  std::string range_end;   // not of a put
  std::string value;       // of a put
  std::int64_t lease = 0;  // of a put
  bool prev_kv = false;    // of a put or delete: the answer has what was there before
};

// If all compares hold, `success` is carried out, else `failure`: as one change with one revision.
struct TxnRequest {
  std::vector<Compare> compares;
  std::vector<Op> success;
  std::vector<Op> failure;
};

struct OpResponse {
  Op::Kind kind = Op::Kind::kRange;
  std::vector<KeyValue> kvs;  // of a range; of a put or delete with prev_kv: what was there
  std::int64_t count = 0;     // of a range: see RangeResponse; of a delete: how many
  bool more = false;
};

struct TxnResponse {
  std::int64_t revision = 0;  // of the change, if there was one; else of the store
  bool succeeded = false;
  std::vector<OpResponse> responses;  // one for each Op that was carried out
};

struct LeaseGrantResponse {
  std::int64_t id = 0;
  std::int64_t ttl = 0;  // seconds
};

struct StatusResponse {
  std::int64_t revision = 0;
  std::uint64_t member = 0;
  std::uint64_t leader = 0;  // 0: it knows none
  std::string version;       // "3.5.21"
  std::int64_t db_size = 0;
  std::int64_t db_size_in_use = 0;
  bool is_learner = false;
  std::vector<std::string> errors;
};

struct Member {
  std::uint64_t id = 0;
  std::string name;
  std::vector<std::string> peer_urls;
  std::vector<std::string> client_urls;
  bool is_learner = false;
};

struct WatchRequest {
  std::string key;
  std::string range_end;
  std::int64_t start_revision = 0;  // the first that is wanted; 0: what comes after the creation
  bool prev_kv = false;
  bool progress_notify = true;  // now and then (etcd: ten minutes), if there are no events
  bool fragment = true;         // large answers come in pieces; the receiver gets them whole
};

struct WatchEvent {
  bool deleted = false;
  KeyValue kv;  // of a deletion: the key and the revision of the deletion only
  std::optional<KeyValue> previous;
};

// Called on the loop. Must outlive the Watch.
class WatchReceiver {
 public:
  virtual ~WatchReceiver() = default;
  // Events in order of their revisions, all those of one revision in one call. Without events:
  // progress, all events up to `revision` have been delivered (but see RequestProgress).
  virtual void OnEvents(std::int64_t revision, std::vector<WatchEvent> events) = 0;
  // The watch is over, and nothing else is called: etcd has cancelled it. `compact_revision` is not 0
  // if what it was to begin with has been compacted: the oldest revision that is still there.
  virtual void OnEnd(base::Status why, std::int64_t compact_revision) = 0;
  // It is in place at etcd, for the first time or again after OnInterrupted. `revision` is that of the
  // store at that moment; older events may be still to come.
  virtual void OnCreated(std::int64_t revision) { (void)revision; }
  // The connection is lost, or the member has no leader. The watch goes on by itself, from the
  // revision after the last event, as soon as a member answers.
  virtual void OnInterrupted(const base::Status& why) { (void)why; }
};

// Ends the watch when destroyed. After that nothing is called; unless it happens on the loop, the
// destructor waits for a call under way: no lock that the receiver wants may be held.
class Watch {
 public:
  virtual ~Watch() = default;
  // Thread-safe. An OnEvents follows with etcd's present revision, after all events up to it; after a
  // lost connection it may be missing. Members older than 3.4.31, and 3.5.0 to 3.5.12, may send it too
  // early (etcd's issue 15220); kube-apiserver does not use it with these.
  virtual void RequestProgress() = 0;
};

struct ClientOptions {
  // "https://host:port", "http://host:port", or "host:port" (TLS if a file below is set).
  std::vector<std::string> endpoints;
  // PEM files; read again for each connection. Without `ca_file`: the system's roots.
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;

  base::Duration dial_timeout = std::chrono::seconds(20);  // TLS included
  // If nothing comes while something is awaited, the member is pinged after the first, and left
  // after the second. A member may refuse more than a ping every 5 s.
  base::Duration ping_after = std::chrono::seconds(6);
  base::Duration ping_timeout = std::chrono::seconds(5);
  // Between attempts to connect, doubled each time all endpoints have failed.
  base::Duration backoff = std::chrono::milliseconds(50);
  base::Duration max_backoff = std::chrono::seconds(3);

  // A larger one fails: ResourceExhausted "trying to send message larger than max (N vs. M)".
  std::size_t max_request_bytes = 2 << 20;
  // ResourceExhausted "received message larger than max (N vs. M)".
  std::size_t max_response_bytes = std::size_t{1} << 30;
};

struct ClientCounters {
  std::uint64_t connections = 0;  // made, TLS included
  std::uint64_t calls = 0;        // sent, with repetitions
  std::uint64_t in_flight = 0;
};

class Client {
 public:
  template <typename T>
  using Done = std::function<void(base::Result<T>)>;
  struct Empty {};

  // Reads the files once to see that they are good; connects in the background. Errors name what is
  // wrong with an endpoint or a file.
  static base::Result<std::unique_ptr<Client>> Make(ClientOptions options);
  // Calls under way end with Canceled, on the loop, before this returns; so do those that their
  // callbacks begin. Watches must be gone. Not on the loop.
  virtual ~Client() = default;
  // The same without an end of the client: calls under way, and all that begin later, end with
  // Canceled, so that a thread that waits for one can be joined. Watches go on. Not on the loop.
  virtual void Cancel() = 0;

  // A call waits for a connection, and what is safe to repeat is repeated, until the deadline.
  virtual void Range(RangeRequest request, base::SteadyTime deadline, Done<RangeResponse> done) = 0;
  virtual void Txn(TxnRequest request, base::SteadyTime deadline, Done<TxnResponse> done) = 0;
  virtual void Compact(std::int64_t revision, base::SteadyTime deadline, Done<Empty> done) = 0;
  virtual void LeaseGrant(std::int64_t ttl_seconds, base::SteadyTime deadline,
                          Done<LeaseGrantResponse> done) = 0;
  virtual void LeaseRevoke(std::int64_t id, base::SteadyTime deadline, Done<Empty> done) = 0;
  // Once. The TTL that is left; an expired or unknown lease is IsLeaseNotFound.
  virtual void LeaseKeepAlive(std::int64_t id, base::SteadyTime deadline,
                              Done<LeaseGrantResponse> done) = 0;
  // Of the member that is connected, or of one of the endpoints, over a connection of its own.
  virtual void Status(std::string endpoint, base::SteadyTime deadline,
                      Done<StatusResponse> done) = 0;
  virtual void MemberList(base::SteadyTime deadline, Done<std::vector<Member>> done) = 0;

  // Never fails as such: it connects until it is destroyed. See WatchReceiver.
  virtual std::unique_ptr<Watch> StartWatch(WatchRequest request, WatchReceiver& receiver) = 0;

  virtual ClientCounters counters() const = 0;
};

}  // namespace portcullis::etcd
