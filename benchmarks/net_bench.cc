// SPDX-License-Identifier: Apache-2.0

// What a request costs below everything else: HTTPS between a client and a server of net/ in one
// process. CPU figures are of the whole process (client, server and caller together).
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "net/client.h"
#include "net/server.h"
#include "pki/certificates.h"

namespace {

namespace base = portcullis::base;
namespace net = portcullis::net;
namespace pki = portcullis::pki;

struct Pair {
  Pair() {
    const auto now = base::SystemClock().Now();
    const auto authority = pki::MakeAuthority("bench", now).value();
    pki::CertificateRequest request;
    request.ip_addresses = {"127.0.0.1"};
    request.server = true;
    const auto serving = pki::Issue(authority, request, now).value();
    net::ServerTlsOptions server_tls;
    server_tls.certificate = {serving.certificate_pem, serving.key_pem, {}};
    net::ServerOptions options;
    options.tls = net::ServerTls::Create(server_tls).value();
    server = net::HttpsServer::Listen(server_threads, std::move(options),
                                      [this](const std::shared_ptr<net::Exchange>& exchange) {
                                        net::Response response;
                                        response.shared_body = answer;
                                        exchange->Respond(std::move(response));
                                      })
                 .value();
    net::ClientTlsOptions client_tls;
    client_tls.ca_pem = authority.certificate_pem;
    call.tls = net::ClientTls::Create(client_tls).value();
    call.url = "https://" + server->address() + "/api/v1/namespaces/default/configmaps";
    call.headers = {{"Content-Type", "application/json"}, {"User-Agent", "bench"}};
    call.body = std::make_shared<const std::string>(1024, 'x');
    client = net::HttpsClient::Create(client_threads);
  }

  base::SteadyTime Deadline() const {
    return base::SystemClock().Steady() + std::chrono::seconds(30);
  }

  std::shared_ptr<const std::string> answer = std::make_shared<const std::string>(1024, 'y');
  net::ClientRequest call;
  net::IoThreads server_threads{1};
  net::IoThreads client_threads{1};
  std::unique_ptr<net::HttpsServer> server;
  std::unique_ptr<net::HttpsClient> client;
};

void RoundTrip(benchmark::State& state) {
  Pair pair;
  for (auto _ : state) {
    const auto result = pair.client->Call(pair.call, pair.Deadline());
    if (!result.ok()) state.SkipWithError(result.failure->message.c_str());
  }
}
BENCHMARK(RoundTrip)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMicrosecond);

// As many validating webhooks of one request are called.
void CallsAtOnce(benchmark::State& state) {
  Pair pair;
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto request = std::make_shared<const net::ClientRequest>(pair.call);
  for (auto _ : state) {
    const auto calls = pair.client->NewSet();
    for (std::size_t i = 0; i < count; ++i) calls->Start(i, request, pair.Deadline());
    while (const auto arrival = calls->Next()) {
      if (!arrival->result.ok()) state.SkipWithError("a call failed");
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(CallsAtOnce)
    ->Arg(10)
    ->Arg(100)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

void Handshake(benchmark::State& state) {
  Pair pair;
  pair.call.headers.Set("Connection", "close");
  for (auto _ : state) {
    if (!pair.client->Call(pair.call, pair.Deadline()).ok()) state.SkipWithError("a call failed");
  }
}
BENCHMARK(Handshake)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
