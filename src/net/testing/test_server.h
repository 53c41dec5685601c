// SPDX-License-Identifier: Apache-2.0

// A server for tests, with certificates of its own, whose requests can also be taken one by one and
// answered by the test itself.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "net/client.h"
#include "net/server.h"
#include "net/testing/raw_peer.h"

namespace portcullis::net::testing {

// Thread-safe queue of exchanges.
class ExchangeQueue {
 public:
  void Push(std::shared_ptr<Exchange> exchange) {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(exchange));
    condition_.notify_one();
  }
  std::shared_ptr<Exchange> Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    condition_.wait_for(lock, std::chrono::seconds(10), [this] { return !queue_.empty(); });
    if (queue_.empty()) return nullptr;
    auto exchange = std::move(queue_.front());
    queue_.pop_front();
    return exchange;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<std::shared_ptr<Exchange>> queue_;
};

// One-time signal between threads.
class Signal {
 public:
  void Set() {
    const std::lock_guard<std::mutex> lock(mutex_);
    set_ = true;
    condition_.notify_all();
  }
  bool Wait(std::chrono::seconds limit = std::chrono::seconds(10)) {
    std::unique_lock<std::mutex> lock(mutex_);
    return condition_.wait_for(lock, limit, [this] { return set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool set_ = false;
};

struct TestServer {
  explicit TestServer(Handler handler, ServerOptions options = {}, bool with_tls = true,
                      ClientCertificates client_certificates = ClientCertificates::kRequest)
      : certificates(TestCertificates::Make()) {
    if (with_tls) {
      ServerTlsOptions tls;
      tls.certificate = {certificates.serving.certificate_pem, certificates.serving.key_pem, {}};
      tls.client_certificates = client_certificates;
      tls.client_ca_pem = certificates.authority.certificate_pem;
      options.tls = ServerTls::Create(tls).value();
    }
    server = HttpsServer::Listen(io, std::move(options), std::move(handler)).value();
    scheme = with_tls ? "https" : "http";
    client_tls = ClientTls::Create({.ca_pem = certificates.authority.certificate_pem}).value();
    client = HttpsClient::Create(io);
  }

  std::string Url(std::string_view target) const {
    return scheme + "://127.0.0.1:" + std::to_string(server->port()) + std::string(target);
  }
  ClientRequest Request(std::string method, std::string_view target, std::string body = "") const {
    ClientRequest request;
    request.method = std::move(method);
    request.url = Url(target);
    request.tls = client_tls;
    if (!body.empty()) request.body = std::make_shared<const std::string>(std::move(body));
    return request;
  }
  CallResult Call(ClientRequest request) const { return client->Call(std::move(request), Soon()); }
  static base::SteadyTime Soon(std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    return base::SystemClock().Steady() + limit;
  }

  TestCertificates certificates;
  IoThreads io{2};
  std::unique_ptr<HttpsServer> server;
  std::string scheme;
  std::shared_ptr<const ClientTls> client_tls;
  std::unique_ptr<HttpsClient> client;
};

// Answers with method, target and body, so that a test can see what has arrived.
inline void Echo(const std::shared_ptr<Exchange>& exchange) {
  Response response;
  response.headers.Set("Content-Type", "text/plain");
  response.body = exchange->request().method + " " + exchange->request().target + "\n" +
                  exchange->request().body;
  exchange->Respond(std::move(response));
}

}  // namespace portcullis::net::testing
