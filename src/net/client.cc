// SPDX-License-Identifier: Apache-2.0

#include "net/client.h"

#include <utility>

#include "base/allocation_failure.h"
#include "net/internal/client_call.h"
#include "net/internal/client_core.h"
#include "net/internal/fiber_calls.h"
#include "net/internal/gathering.h"
#include "net/internal/loop.h"
#include "net/internal/malformed.h"

namespace portcullis::net {
namespace {

class ReportedCall final : public internal::ClientCall {
 public:
  ReportedCall(SharedRequest client_request, base::SteadyTime call_deadline, HttpsClient::Done done)
      : ClientCall(std::move(client_request), call_deadline), done_(std::move(done)) {}
  ~ReportedCall() override {
    if (done_ == nullptr) return;
    base::UnlessMemoryRunsOut([this] {
      CallResult lost = internal::LostCall();
      internal::NameIfLost(lost);
      Deliver(std::move(lost));
    });
  }

 private:
  void Deliver(CallResult outcome) override {
    const HttpsClient::Done done = std::exchange(done_, nullptr);
    done(std::move(outcome));
  }

  HttpsClient::Done done_;
};

class Client final : public HttpsClient {
 public:
  Client(IoThreads& threads, const ClientOptions& options)
      : core_(std::make_shared<internal::ClientCore>(threads, options)) {}
  ~Client() override { core_->CloseAll(); }

  using HttpsClient::Call;
  CallResult Call(SharedRequest request, base::SteadyTime deadline) override {
    if (internal::Loop* const loop = internal::Loop::OfFiber()) {
      internal::FiberCalls calls(core_, *loop);
      return CallWith(calls, std::move(request), deadline);
    }
    internal::Gathering calls(core_);
    return CallWith(calls, std::move(request), deadline);
  }

  std::unique_ptr<CallSet> NewSet() override {
    if (internal::Loop* const loop = internal::Loop::OfFiber()) {
      return std::make_unique<internal::FiberCalls>(core_, *loop);
    }
    return std::make_unique<internal::Gathering>(core_);
  }

  std::shared_ptr<PendingCall> Begin(ClientRequest request, base::SteadyTime deadline,
                                     Done done) override {
    auto call = std::make_shared<ReportedCall>(
        std::make_shared<const ClientRequest>(std::move(request)), deadline, std::move(done));
    core_->Start(call, nullptr);
    return call;
  }

  void CloseIdle() override { core_->CloseIdle(); }
  void Stop() override { core_->CloseAll(); }
  ClientCounters counters() const override { return core_->counters(); }

 private:
  static CallResult CallWith(CallSet& calls, SharedRequest request, base::SteadyTime deadline) {
    calls.Start(0, std::move(request), deadline);
    return std::move(calls.Next()->result);
  }

  const std::shared_ptr<internal::ClientCore> core_;
};

}  // namespace

std::string_view PhaseName(CallPhase phase) {
  switch (phase) {
    case CallPhase::kNone:
      return "none";
    case CallPhase::kRequest:
      return "request";
    case CallPhase::kResolve:
      return "resolve";
    case CallPhase::kConnect:
      return "connect";
    case CallPhase::kHandshake:
      return "handshake";
    case CallPhase::kWrite:
      return "write";
    case CallPhase::kFirstByte:
      return "first byte";
    case CallPhase::kRead:
      return "read";
    case CallPhase::kDecode:
      return "decode";
  }
  return "none";
}

base::Result<std::shared_ptr<const internal::PreparedRequest>> Prepare(
    const ClientRequest& request) {
  if (const std::string malformed = internal::MalformedFieldText(request.headers);
      !malformed.empty()) {
    return base::BadRequest(malformed);
  }
  return std::make_shared<const internal::PreparedRequest>(request, TRY(ParseUrl(request.url)));
}

std::unique_ptr<HttpsClient> HttpsClient::Create(IoThreads& threads, const ClientOptions& options) {
  return std::make_unique<Client>(threads, options);
}

}  // namespace portcullis::net
