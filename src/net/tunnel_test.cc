// SPDX-License-Identifier: Apache-2.0

#include "net/tunnel.h"

#include <gtest/gtest.h>

#include <zlib.h>

#include "base/mutex.h"
#include "net/testing/test_server.h"

namespace portcullis::net {
namespace {

using testing::ExchangeQueue;
using testing::RawPeer;
using testing::Signal;
using testing::TestServer;

constexpr std::string_view kSwitched =
    "HTTP/1.1 101 So  be it\r\nupgrade: x\r\nConnection: Upgrade\r\n\r\n";

// Gives each connection away and sends back what comes, until that is "bye".
void Echo(const std::shared_ptr<Exchange>& exchange) {
  StartTunnel(*exchange, [exchange](std::string_view bytes) {
    exchange->Write(std::string(bytes));
    bytes == "bye" ? exchange->Finish() : ReadMore(*exchange);
  });
  exchange->Write(std::string(kSwitched));
}

// A call and what has come of it.
struct Client {
  explicit Client(const TestServer& test, bool upgrades = true)
      : request(test.Request("GET", "/")) {
    if (upgrades) {
      request.headers.Add("Connection", "Upgrade");
      request.headers.Add("Upgrade", "x");
    }
    request.on_data = [this](const ResponseHead& head, std::string_view piece) {
      const base::MutexLock lock(mutex);
      status = head.status;
      received += piece;
      if (!piece.empty()) first.Set();
      arrived.NotifyAll();
    };
  }

  void Begin(const TestServer& test) {
    call = test.client->Begin(request, TestServer::Soon(), [this](CallResult its_result) {
      result = std::move(its_result);
      over.Set();
    });
  }
  void WaitFor(std::size_t size) {
    const base::MutexLock lock(mutex);
    while (received.size() < size) arrived.Wait(mutex);
  }

  base::Mutex mutex;
  base::CondVar arrived;
  int status = 0;
  std::string received;
  Signal first;
  Signal over;
  CallResult result;
  ClientRequest request;
  std::shared_ptr<PendingCall> call;
};

TEST(Tunnel, PassesBytesBothWaysUntilTheServerEnds) {
  const TestServer test(Echo);
  Client client(test);
  client.Begin(test);
  client.WaitFor(kSwitched.size());
  EXPECT_EQ(client.status, 101);
  EXPECT_EQ(client.received, kSwitched);
  Signal taken;
  Send(*client.call, "hello", [&] { taken.Set(); });
  ASSERT_TRUE(taken.Wait());
  client.WaitFor(kSwitched.size() + 5);
  Send(*client.call, "bye", [] {});
  ASSERT_TRUE(client.over.Wait());
  EXPECT_TRUE(client.result.ok());
  EXPECT_EQ(client.received, std::string(kSwitched) + "hellobye");
  EXPECT_EQ(test.client->counters().connections_idle, 0U);
}

TEST(Tunnel, TellsTheHandlerThatTheClientHasGone) {
  Signal gone;
  const TestServer test([&](const std::shared_ptr<Exchange>& exchange) {
    exchange->OnClosed([&] { gone.Set(); });
    Echo(exchange);
  });
  Client client(test);
  client.Begin(test);
  ASSERT_TRUE(client.first.Wait());
  client.call->Cancel();
  EXPECT_TRUE(gone.Wait());
  ASSERT_TRUE(client.over.Wait());
}

TEST(Tunnel, PassesOnWhatRefusesTheUpgradeWithItsHead) {
  const TestServer test([](const std::shared_ptr<Exchange>& exchange) {
    Response response;
    response.status = 403;
    response.body = "no";
    exchange->Respond(std::move(response));
  });
  Client client(test);
  client.Begin(test);
  ASSERT_TRUE(client.over.Wait());
  EXPECT_TRUE(client.result.ok());
  EXPECT_EQ(client.status, 403);
  EXPECT_TRUE(client.received.starts_with("HTTP/1.1 403 Forbidden\r\n")) << client.received;
  EXPECT_TRUE(client.received.ends_with("\r\n\r\nno")) << client.received;
}

TEST(Tunnel, TakesWhatWasSentWithTheRequest) {
  const TestServer test(Echo);
  const auto peer = RawPeer::ConnectTls(test.server->port(), {});
  peer->Send("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n\r\nbye");
  EXPECT_EQ(peer->ReadToEnd(), std::string(kSwitched) + "bye");
}

TEST(Tunnel, DoesNotHoldUpTheEndOfTheServer) {
  const TestServer test(Echo);
  Client client(test);
  client.Begin(test);
  ASSERT_TRUE(client.first.Wait());
  EXPECT_TRUE(test.server->Shutdown(std::chrono::minutes(1)));
  ASSERT_TRUE(client.over.Wait());
}

class Paused : public ::testing::TestWithParam<ClientProtocols> {};

TEST_P(Paused, LeavesAnAnswerWithItsServer) {
  ExchangeQueue queue;
  const TestServer test(
      [&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  Client client(test, false);
  client.request.tls = ClientTls::Create({.ca_pem = test.certificates.authority.certificate_pem,
                                          .protocols = GetParam()})
                           .value();
  client.Begin(test);
  const auto exchange = queue.Take();
  ASSERT_NE(exchange, nullptr);
  exchange->Write("x");
  ASSERT_TRUE(client.first.Wait());
  SetPaused(*client.call, true);
  // More than the sockets and the window of a stream take.
  constexpr std::size_t kSize = 64 << 20;
  exchange->Write(std::string(kSize, 'y'));
  exchange->Finish();
  {
    const base::MutexLock lock(client.mutex);
    EXPECT_LT(client.received.size(), kSize);
  }
  SetPaused(*client.call, false);
  ASSERT_TRUE(client.over.Wait());
  EXPECT_TRUE(client.result.ok());
  EXPECT_EQ(client.received.size(), kSize + 1);
}

INSTANTIATE_TEST_SUITE_P(Protocols, Paused,
                         ::testing::Values(ClientProtocols::kHttp1,
                                           ClientProtocols::kHttp2OrHttp1));

TEST(Tunnel, InflatesPiecesThatNobodyAskedToBePacked) {
  const TestServer test([](const std::shared_ptr<Exchange>& exchange) {
    EXPECT_EQ(exchange->request().headers.Get("Accept-Encoding"), "gzip");
    const std::string plain(1000, 'z');
    std::string packed(200, 0);
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
    stream.avail_in = 1000;
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = 200;
    deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    Response response;
    response.headers.Add("Content-Encoding", "gzip");
    response.body = std::move(packed);
    exchange->Respond(std::move(response));
  });
  Client client(test, false);
  client.Begin(test);
  ASSERT_TRUE(client.over.Wait());
  EXPECT_TRUE(client.result.ok());
  EXPECT_EQ(client.received, std::string(1000, 'z'));
  EXPECT_FALSE(client.result.response.headers.Has("Content-Encoding"));
}

}  // namespace
}  // namespace portcullis::net
