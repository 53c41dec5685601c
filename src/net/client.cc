#include "net/client.h"

#include "net/internal/client_call.h"
#include "net/internal/client_connection.h"

namespace portcullis::net {
namespace {

class Client final : public HttpsClient {
 public:
  Client(IoThreads& threads, const ClientOptions& options)
      : core_(std::make_shared<internal::ClientCore>(threads, options)) {}
  ~Client() override { core_->CloseAll(); }

  CallResult Call(ClientRequest request, base::SteadyTime deadline) override {
    return Begin(std::move(request), deadline)->Wait();
  }

  std::shared_ptr<PendingCall> Begin(ClientRequest request, base::SteadyTime deadline) override {
    return Begin(std::move(request), deadline, nullptr);
  }

  std::shared_ptr<PendingCall> Begin(ClientRequest request, base::SteadyTime deadline,
                                     Done done) override {
    auto call = std::make_shared<internal::ClientCall>(core_, std::move(request), deadline,
                                                       std::move(done));
    auto url = ParseUrl(call->request.url);
    if (!url.ok()) {
      call->Fail(CallPhase::kRequest, url.status().message());
      return call;
    }
    call->url = std::move(*url);
    if (call->url.host.empty() || (call->url.scheme != "https" && call->url.scheme != "http")) {
      call->Fail(CallPhase::kRequest, call->url.host.empty() ? "http: no Host in request URL"
                                                             : "unsupported protocol scheme \"" +
                                                                   call->url.scheme + "\"");
      return call;
    }
    if (base::SystemClock().Steady() >= deadline) {
      call->Fail(CallPhase::kConnect, "context deadline exceeded");
      return call;
    }
    core_->Dispatch(call);
    return call;
  }

  void CloseIdle() override { core_->CloseIdle(); }
  ClientCounters counters() const override { return core_->counters(); }

 private:
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

std::unique_ptr<HttpsClient> HttpsClient::Create(IoThreads& threads, const ClientOptions& options) {
  return std::make_unique<Client>(threads, options);
}

}  // namespace portcullis::net
