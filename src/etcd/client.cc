// SPDX-License-Identifier: Apache-2.0

#include "etcd/client.h"

#include <utility>

#include "base/strings.h"
#include "etcd/internal/call.h"
#include "etcd/internal/core.h"
#include "etcd/internal/messages.h"
#include "etcd/internal/tls_files.h"
#include "etcd/internal/watch_stream.h"

namespace portcullis::etcd {
namespace {

using internal::CallSpec;
using internal::Core;

class WatchHandle final : public Watch {
 public:
  WatchHandle(const net::IoLoop& loop, std::shared_ptr<internal::WatchStream> stream)
      : loop_(loop), stream_(std::move(stream)) {
    loop_.Post([kept = stream_] { kept->Begin(); });
  }
  ~WatchHandle() override {
    loop_.RunAndWait([this] { stream_->End(); });
  }
  void RequestProgress() override {
    loop_.Post([kept = stream_] { kept->RequestProgress(); });
  }

 private:
  const net::IoLoop loop_;
  const std::shared_ptr<internal::WatchStream> stream_;
};

base::Result<Client::Empty> DecodeEmpty(std::string_view bytes) {
  TRY(internal::DecodeHeaderOnly(bytes));
  return Client::Empty{};
}

// What etcd answers to the keep-alive of a lease that it does not have: that nothing is left of it.
base::Result<LeaseGrantResponse> IfAlive(base::Result<LeaseGrantResponse> lease) {
  if (!lease.ok() || lease->ttl > 0) return lease;
  return internal::Error(Code::kNotFound, "etcdserver: requested lease not found");
}

class ClientOnCore final : public Client {
 public:
  ClientOnCore(ClientOptions options, std::vector<internal::Endpoint> endpoints)
      : threads_(std::make_unique<net::IoThreads>(1)),
        core_(std::make_unique<Core>(std::move(options), std::move(endpoints), *threads_)) {
    core_->loop().Post([core = core_.get()] { core->Open(); });
  }
  ~ClientOnCore() override {
    core_->loop().RunAndWait([this] { core_->Close(); });
    threads_.reset();
  }
  void Cancel() override {
    core_->loop().RunAndWait([this] { core_->Cancel(); });
  }
  base::Status status() const { return threads_->status(); }

  void Range(RangeRequest request, base::SteadyTime deadline, Done<RangeResponse> done) override {
    Submit({.path = "/etcdserverpb.KV/Range",
            .message = internal::EncodeRange(request),
            .deadline = deadline,
            .repeatable = true,
            .require_leader = !request.serializable,
            .endpoint = {}},
           internal::DecodeRange, std::move(done));
  }
  void Txn(TxnRequest request, base::SteadyTime deadline, Done<TxnResponse> done) override {
    Submit(Write("/etcdserverpb.KV/Txn", internal::EncodeTxn(request), deadline),
           internal::DecodeTxn, std::move(done));
  }
  void Compact(std::int64_t revision, base::SteadyTime deadline, Done<Empty> done) override {
    Submit(Write("/etcdserverpb.KV/Compact", internal::EncodeCompaction(revision), deadline),
           DecodeEmpty, std::move(done));
  }
  void LeaseGrant(std::int64_t ttl_seconds, base::SteadyTime deadline,
                  Done<LeaseGrantResponse> done) override {
    Submit(
        Write("/etcdserverpb.Lease/LeaseGrant", internal::EncodeLeaseGrant(ttl_seconds), deadline),
        internal::DecodeLeaseGrant, std::move(done));
  }
  void LeaseRevoke(std::int64_t id, base::SteadyTime deadline, Done<Empty> done) override {
    Submit(Write("/etcdserverpb.Lease/LeaseRevoke", internal::EncodeLeaseId(id), deadline),
           DecodeEmpty, std::move(done));
  }
  void LeaseKeepAlive(std::int64_t id, base::SteadyTime deadline,
                      Done<LeaseGrantResponse> done) override {
    CallSpec spec =
        Write("/etcdserverpb.Lease/LeaseKeepAlive", internal::EncodeLeaseId(id), deadline);
    spec.repeatable = true;
    Submit<LeaseGrantResponse>(
        std::move(spec), internal::DecodeLeaseKeepAlive,
        [done = std::move(done)](auto lease) { done(IfAlive(std::move(lease))); });
  }
  void Status(std::string endpoint, base::SteadyTime deadline, Done<StatusResponse> done) override {
    Submit({.path = "/etcdserverpb.Maintenance/Status",
            .message = internal::EncodeEmpty(),
            .deadline = deadline,
            .repeatable = true,
            .require_leader = false,
            .endpoint = std::move(endpoint)},
           internal::DecodeStatus, std::move(done));
  }
  void MemberList(base::SteadyTime deadline, Done<std::vector<Member>> done) override {
    Submit({.path = "/etcdserverpb.Cluster/MemberList",
            .message = internal::EncodeMemberList(),
            .deadline = deadline,
            .repeatable = true,
            .require_leader = true,
            .endpoint = {}},
           internal::DecodeMemberList, std::move(done));
  }

  std::unique_ptr<Watch> StartWatch(WatchRequest request, WatchReceiver& receiver) override {
    return std::make_unique<WatchHandle>(core_->loop(), std::make_shared<internal::WatchStream>(
                                                            *core_, std::move(request), receiver));
  }

  ClientCounters counters() const override { return core_->counters(); }

 private:
  static CallSpec Write(std::string_view path, std::string message, base::SteadyTime deadline) {
    return {.path = path,
            .message = std::move(message),
            .deadline = deadline,
            .repeatable = false,
            .require_leader = true,
            .endpoint = {}};
  }
  template <typename T, typename Decoder>
  void Submit(CallSpec spec, Decoder decode, Done<T> done) {
    core_->Submit(std::make_unique<internal::CallOf<T, Decoder>>(core_->options(), std::move(spec),
                                                                 decode, std::move(done)));
  }

  std::unique_ptr<net::IoThreads> threads_;
  const std::unique_ptr<Core> core_;
};

}  // namespace

base::Result<std::unique_ptr<Client>> Client::Make(ClientOptions options) {
  if (options.endpoints.empty()) return base::ConfigError("there is no etcd endpoint");
  std::vector<internal::Endpoint> endpoints;
  bool tls = false;
  for (const std::string& text : options.endpoints) {
    endpoints.push_back(TRY(internal::ParseEndpoint(text, internal::HasTlsFiles(options))));
    tls = tls || endpoints.back().tls;
  }
  if (tls) TRY(internal::LoadTls(options));
  auto client = std::make_unique<ClientOnCore>(std::move(options), std::move(endpoints));
  TRY(client->status());
  return std::unique_ptr<Client>(std::move(client));
}

}  // namespace portcullis::etcd
