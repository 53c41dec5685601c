#include "server/loopback_client.h"

#include <utility>

#include "api/api_status.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::server {
namespace {

// A request without a socket. The handler answers through its Exchange; the client waits.
class LoopbackExchange final : public net::Exchange {
 public:
  LoopbackExchange(net::Request request, std::shared_ptr<const net::ClientCertificate> certificate,
                   base::SteadyTime now)
      : request_(std::move(request)), certificate_(std::move(certificate)), received_at_(now) {}

  const net::Request& request() const override { return request_; }
  bool body_complete() const override { return true; }
  void ReadBody(net::BodyRequest, std::function<void(net::BodyRead)> fn) override {
    fn(net::BodyRead::kComplete);
  }
  void Attach(std::shared_ptr<void> object) override { attached_ = std::move(object); }
  void MarkKnown() override {}
  void SetDeadline(base::SteadyTime) override {}
  std::string TakeBody() override { return std::move(request_.body); }
  bool body_too_large() const override { return false; }
  net::Protocol protocol() const override { return net::Protocol::kHttp11; }
  bool secure() const override { return true; }
  const std::string& remote_address() const override { return remote_address_; }
  std::shared_ptr<const net::ClientCertificate> client_certificate() const override {
    return certificate_;
  }
  base::SteadyTime received_at() const override { return received_at_; }

  void Respond(net::Response response) override {
    base::MutexLock lock(mutex_);
    answer_.status = response.status;
    answer_.body = response.content();
    Done();
  }
  void Start(net::ResponseHead head) override {
    base::MutexLock lock(mutex_);
    answer_.status = head.status;
  }
  void Write(std::string chunk) override {
    base::MutexLock lock(mutex_);
    answer_.body += chunk;
  }
  void Write(std::shared_ptr<const std::string> chunk) override { Write(*chunk); }
  void Finish() override {
    base::MutexLock lock(mutex_);
    Done();
  }
  void Abort() override { Finish(); }
  std::size_t buffered_bytes() const override { return 0; }
  bool closed() const override {
    base::MutexLock lock(mutex_);
    return done_;
  }
  void OnClosed(std::function<void()>) override {}
  void OnDrained(std::function<void()>) override {}

  net::Response Wait() {
    base::MutexLock lock(mutex_);
    while (!done_) answered_.Wait(mutex_);
    return std::move(answer_);
  }

 private:
  void Done() PC_REQUIRES(mutex_) {
    done_ = true;
    answered_.NotifyAll();
  }

  net::Request request_;
  const std::shared_ptr<const net::ClientCertificate> certificate_;
  const base::SteadyTime received_at_;
  const std::string remote_address_ = "127.0.0.1:0";
  std::shared_ptr<void> attached_;

  mutable base::Mutex mutex_;
  base::CondVar answered_;
  net::Response answer_ PC_GUARDED_BY(mutex_);
  bool done_ PC_GUARDED_BY(mutex_) = false;
};

class LoopbackClient final : public controllers::ApiClient {
 public:
  LoopbackClient(net::Handler handle, const LoopbackUser& user, const base::Clock& clock)
      : handle_(std::move(handle)), agent_(user.agent), clock_(clock) {
    auto certificate = std::make_shared<net::ClientCertificate>();
    certificate->common_name = user.name;
    certificate->organizations = user.groups;
    certificate_ = std::move(certificate);
  }

  base::Result<json::Document> Do(std::string_view method, std::string_view path, json::Value body,
                                  std::string_view content_type) override {
    net::Request request;
    request.method = method;
    request.target = path;
    request.authority = "localhost";
    request.headers.Add("User-Agent", agent_);
    request.headers.Add("Accept", "application/json");
    if (!body.is_null()) {
      request.headers.Add("Content-Type", content_type);
      request.body = json::ToString(body);
    }
    const auto exchange =
        std::make_shared<LoopbackExchange>(std::move(request), certificate_, clock_.Steady());
    handle_(exchange);
    const net::Response answer = exchange->Wait();
    json::Document document = TRY(json::ParseDocument(answer.body));
    if (answer.status >= 400) return api::StatusFromJson(document.root());
    return document;
  }

 private:
  const net::Handler handle_;
  const std::string agent_;
  const base::Clock& clock_;
  std::shared_ptr<const net::ClientCertificate> certificate_;
};

}  // namespace

LoopbackUser ControllerUser(std::string_view account) {
  return {base::StrCat("system:serviceaccount:kube-system:", account),
          {"system:serviceaccounts", "system:serviceaccounts:kube-system"},
          base::StrCat("portcullis/", account)};
}

LoopbackUser ServerItself() { return {"system:apiserver", {"system:masters"}, "kube-apiserver"}; }

std::unique_ptr<controllers::ApiClient> MakeLoopbackClient(net::Handler handle,
                                                           const LoopbackUser& user,
                                                           const base::Clock& clock) {
  return std::make_unique<LoopbackClient>(std::move(handle), user, clock);
}

}  // namespace portcullis::server
