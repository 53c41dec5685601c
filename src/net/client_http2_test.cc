// SPDX-License-Identifier: Apache-2.0

// Calls over HTTP/2, which the server has chosen by ALPN.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net/testing/client_fixture.h"
#include "net/testing/http2_peer.h"
#include "net/testing/on_fiber.h"

namespace portcullis::net {
namespace {

using testing::AnswerOk;
using testing::ClientTest;
using testing::Echo;
using testing::ExchangeQueue;
using testing::Http2Peer;
using testing::OnFiber;
using testing::RawPeer;
using testing::RawServer;
using testing::TestCertificates;
using testing::TestServer;
namespace h2 = testing::h2;

// RFC 9113 §7
constexpr std::uint32_t kProtocolError = 1;
constexpr std::uint32_t kInternalError = 2;
constexpr std::uint32_t kRefusedStream = 7;

class ClientHttp2Test : public ClientTest {
 protected:
  ClientRequest Http2(int port) {
    auto request = Post(port, "https");
    request.tls = tls_;
    return request;
  }
  // A server that has greeted, on each of its connections.
  std::unique_ptr<RawServer> Serve(std::function<void(Http2Peer& peer, int number)> script) {
    return std::make_unique<RawServer>(
        [script = std::move(script)](RawPeer& raw, int number) {
          Http2Peer peer(raw);
          if (!peer.Greet()) return;
          script(peer, number);
          raw.ShutdownWrite();
          peer.ReadToEnd();
        },
        certificates_.serving, 0, "h2");
  }
  // How a call ends that is answered so: the body or what is wrong.
  std::string CauseAfter(std::function<std::string(std::uint32_t stream)> answer) {
    const auto server = Serve([&](Http2Peer& peer, int) {
      while (const auto stream = peer.NextRequest()) peer.Send(answer(stream));
    });
    const auto result = Call(Http2(server->port()));
    return result.ok() ? result.response.body : result.failure->cause;
  }
  static std::string Ok(std::uint32_t stream, std::string_view body = "ok") {
    return h2::Head(stream, {{":status", "200"}, {"content-type", "text/plain"}}) +
           h2::Data(stream, body, true);
  }

  TestCertificates certificates_ = TestCertificates::Make();
  std::shared_ptr<const ClientTls> tls_ =
      ClientTls::Create({.ca_pem = certificates_.authority.certificate_pem,
                         .protocols = ClientProtocols::kHttp2OrHttp1})
          .value();
};

struct Http2Server : TestServer {
  explicit Http2Server(Handler handler) : TestServer(std::move(handler)) {
    client_tls = ClientTls::Create({.ca_pem = certificates.authority.certificate_pem,
                                    .protocols = ClientProtocols::kHttp2OrHttp1})
                     .value();
  }
};

TEST_F(ClientHttp2Test, AServerThatChoosesHttp1IsSpokenToSo) {
  RawServer server(AnswerOk, certificates_.serving, 0, "http/1.1");
  const auto result = Call(Http2(server.port()));
  EXPECT_EQ(result.response.body, "ok");
}

TEST_F(ClientHttp2Test, CallsShareAConnection) {
  constexpr std::size_t kCalls = 50;
  std::mutex mutex;
  std::vector<std::shared_ptr<Exchange>> waiting;
  Http2Server test([&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().target == "/first") return Echo(exchange);
    const std::lock_guard<std::mutex> lock(mutex);
    waiting.push_back(exchange);
    if (waiting.size() < kCalls) return;
    for (const auto& each : waiting) Echo(each);
  });
  OnFiber(test.io, 0, [&] {
    EXPECT_EQ(test.Call(test.Request("POST", "/first", "x")).response.body, "POST /first\nx");
    const auto set = test.client->NewSet();
    for (std::size_t id = 0; id < kCalls; ++id) {
      set->Start(id, std::make_shared<const ClientRequest>(test.Request("POST", "/", "body")),
                 TestServer::Soon());
    }
    for (std::size_t id = 0; id < kCalls; ++id) {
      const auto arrival = set->Next();
      EXPECT_EQ(arrival->result.response.body, "POST /\nbody");
      EXPECT_TRUE(arrival->result.reused_connection);
    }
    return true;
  });
  EXPECT_EQ(test.client->counters().connections_opened, 1U);
}

// Connections are found by the address of their ClientTls: another one, of another CA, must not get it.
TEST_F(ClientHttp2Test, AConnectionKeepsTheIdentityThatItWasMadeWith) {
  Http2Server test(Echo);
  auto identity = ClientTls::Create({.ca_pem = test.certificates.authority.certificate_pem,
                                     .protocols = ClientProtocols::kHttp2OrHttp1})
                      .value();
  const std::weak_ptr<const ClientTls> kept = identity;
  auto request = test.Request("POST", "/");
  request.tls = std::move(identity);
  EXPECT_TRUE(test.Call(std::move(request)).ok());
  EXPECT_FALSE(kept.expired());
  test.client->Stop();
}

TEST_F(ClientHttp2Test, AThreadUsesAConnectionThatALoopHas) {
  Http2Server test(Echo);
  for (int i = 0; i < 5; ++i) {
    const auto result = test.Call(test.Request("POST", "/a?b=c", "x"));
    EXPECT_EQ(result.response.body, "POST /a?b=c\nx");
    EXPECT_EQ(result.reused_connection, i > 0);
    EXPECT_FALSE(result.address.empty());
  }
  EXPECT_EQ(test.client->counters().connections_opened, 1U);
}

TEST_F(ClientHttp2Test, ConnectionsMadeAtOnceBecomeOne) {
  Http2Server test(Echo);
  OnFiber(test.io, 0, [&] {
    const auto set = test.client->NewSet();
    for (std::size_t id = 0; id < 8; ++id) {
      set->Start(id, std::make_shared<const ClientRequest>(test.Request("GET", "/")),
                 TestServer::Soon());
    }
    for (int i = 0; i < 8; ++i) EXPECT_EQ(set->Next()->result.response.body, "GET /\n");
    const auto before = test.client->counters().connections_opened;
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(test.Call(test.Request("GET", "/")).ok());
    EXPECT_EQ(test.client->counters().connections_opened, before);
    return true;
  });
}

TEST_F(ClientHttp2Test, LargeBodiesBothWays) {
  Http2Server test([](const std::shared_ptr<Exchange>& exchange) {
    Response response;
    response.body = exchange->request().body + exchange->request().body;
    exchange->Respond(std::move(response));
  });
  auto request = test.Request("POST", "/", std::string(1 << 20, 'x'));
  const auto result = test.Call(request);
  EXPECT_EQ(result.response.body.size(), std::size_t{2} << 20);

  request.max_response_bytes = 100'000;
  const auto limited = test.Call(request);
  ASSERT_FALSE(limited.ok());
  EXPECT_TRUE(limited.failure->too_large);
  EXPECT_EQ(limited.failure->cause, "response body is larger than 100000 bytes");
  EXPECT_EQ(limited.response.status, 200);
}

TEST_F(ClientHttp2Test, SendsTheFieldsOfTheRequest) {
  ExchangeQueue queue;
  Http2Server test([&](const auto& exchange) {
    queue.Push(exchange);
    Echo(exchange);
  });
  auto request = test.Request("POST", "/p?timeout=5s", "{}");
  request.headers.Add("User-Agent", "someone");
  request.headers.Add("Connection", "keep-alive");
  request.headers.Add("Host", "webhook.example");
  ASSERT_TRUE(test.Call(std::move(request)).ok());
  const auto seen = queue.Take();
  EXPECT_EQ(seen->request().authority, "webhook.example");
  EXPECT_EQ(seen->request().target, "/p?timeout=5s");
  EXPECT_EQ(seen->request().headers.Get("user-agent"), "someone");
  EXPECT_EQ(seen->request().headers.Get("content-length"), "2");
  EXPECT_EQ(seen->request().headers.Get("accept-encoding"), "gzip");
  EXPECT_FALSE(seen->request().headers.Has("connection"));
}

TEST_F(ClientHttp2Test, StreamsThatFailReadAsInGo) {
  EXPECT_EQ(CauseAfter([](auto stream) { return Ok(stream); }), "ok");
  EXPECT_EQ(CauseAfter([](auto stream) { return h2::Reset(stream, kInternalError); }),
            "stream error: stream ID 1; INTERNAL_ERROR; received from peer");
  EXPECT_EQ(CauseAfter([](auto stream) {
              return h2::Head(stream, {{":status", "200"}}) + h2::Reset(stream, kProtocolError);
            }),
            "stream error: stream ID 1; PROTOCOL_ERROR; received from peer");
  EXPECT_EQ(CauseAfter([](auto) { return h2::Goaway(0, kProtocolError); }),
            "http2: Transport received GOAWAY from server ErrCode:PROTOCOL_ERROR");
}

TEST_F(ClientHttp2Test, AConnectionThatEndsReadsAsInGo) {
  const auto ends = Serve([](Http2Peer& peer, int) { peer.NextRequest(); });
  EXPECT_EQ(Call(Http2(ends->port())).failure->cause, "unexpected EOF");

  const auto says_goodbye =
      Serve([](Http2Peer& peer, int) { peer.Send(h2::Goaway(peer.NextRequest(), 0, "so long")); });
  EXPECT_EQ(
      Call(Http2(says_goodbye->port())).failure->cause,
      "http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR, "
      "debug=\"so long\"");
}

TEST_F(ClientHttp2Test, WhatTheServerHasNotLookedAtIsSentAgain) {
  const auto refuses = Serve([](Http2Peer& peer, int) {
    peer.Send(h2::Reset(peer.NextRequest(), kRefusedStream));
    peer.Send(Ok(peer.NextRequest(), "second"));
  });
  EXPECT_EQ(Call(Http2(refuses->port())).response.body, "second");

  const auto leaves = Serve([](Http2Peer& peer, int number) {
    const auto stream = peer.NextRequest();
    peer.Send(number == 1 ? h2::Goaway(0, 0) : Ok(stream, "elsewhere"));
    peer.ReadToEnd();
  });
  EXPECT_EQ(Call(Http2(leaves->port())).response.body, "elsewhere");
  EXPECT_EQ(leaves->connections(), 2);
}

TEST_F(ClientHttp2Test, ARequestThatIsAlwaysRefusedWaitsForItsDeadline) {
  const auto server = Serve([](Http2Peer& peer, int) {
    while (const auto stream = peer.NextRequest()) peer.Send(h2::Reset(stream, kRefusedStream));
  });
  const auto result = Call(Http2(server->port()), std::chrono::milliseconds(50));
  EXPECT_EQ(result.failure->cause, "context deadline exceeded");
  EXPECT_TRUE(result.failure->timed_out);
}

TEST_F(ClientHttp2Test, ACallThatIsLateLeavesTheConnectionToOthers) {
  const auto server = Serve([](Http2Peer& peer, int) {
    peer.NextRequest();
    peer.Send(Ok(peer.NextRequest()));
    peer.ReadToEnd();
  });
  const auto late = Call(Http2(server->port()), std::chrono::milliseconds(50));
  EXPECT_EQ(late.failure->cause, "context deadline exceeded");
  EXPECT_TRUE(Call(Http2(server->port())).ok());
  EXPECT_EQ(server->connections(), 1);
}

TEST_F(ClientHttp2Test, AServerWithoutRoomGetsAnotherConnection) {
  const std::string one_stream = {0, 3, 0, 0, 0, 1};  // SETTINGS_MAX_CONCURRENT_STREAMS
  testing::Signal other_answered;
  RawServer server(
      [&](RawPeer& raw, int) {
        Http2Peer peer(raw);
        if (!peer.SkipPreface()) return;
        peer.Send(h2::Frame(h2::kSettings, 0, 0, one_stream));
        peer.Send(Ok(peer.NextRequest()));  // who has this answer knows the limit
        if (const auto stream = peer.NextRequest()) {
          other_answered.Wait();
          peer.Send(Ok(stream));
        }
        peer.ReadToEnd();
      },
      certificates_.serving, 0, "h2");
  OnFiber(io_, 0, [&] {
    EXPECT_TRUE(client_->Call(Http2(server.port()), TestServer::Soon()).ok());
    const auto set = client_->NewSet();
    for (std::size_t id = 0; id < 2; ++id) {
      set->Start(id, std::make_shared<const ClientRequest>(Http2(server.port())),
                 TestServer::Soon());
    }
    EXPECT_EQ(set->Next()->id, 1U);
    other_answered.Set();
    EXPECT_EQ(set->Next()->id, 0U);
    return true;
  });
  EXPECT_EQ(server.connections(), 2);
}

TEST_F(ClientHttp2Test, AnIdleConnectionIsClosed) {
  testing::Signal closed;
  const auto server = Serve([&](Http2Peer& peer, int) {
    peer.Send(Ok(peer.NextRequest()));
    peer.ReadToEnd();
    closed.Set();
  });
  ClientOptions options;
  options.idle_timeout = std::chrono::milliseconds(10);
  const auto client = HttpsClient::Create(io_, options);
  EXPECT_TRUE(client->Call(Http2(server->port()), TestServer::Soon()).ok());
  EXPECT_TRUE(closed.Wait());
}

TEST_F(ClientHttp2Test, CloseIdleAndStop) {
  const auto server = Serve([](Http2Peer& peer, int) {
    peer.Send(Ok(peer.NextRequest()));
    peer.ReadToEnd();
  });
  EXPECT_TRUE(Call(Http2(server->port())).ok());
  client_->CloseIdle();
  EXPECT_TRUE(Call(Http2(server->port())).ok());
  EXPECT_EQ(server->connections(), 2);

  testing::Signal begun;
  const auto waits = Serve([&](Http2Peer& peer, int) {
    peer.NextRequest();
    begun.Set();
    peer.ReadToEnd();
  });
  std::thread stops([&] {
    begun.Wait();
    client_->Stop();
  });
  const auto result = Call(Http2(waits->port()));
  stops.join();
  EXPECT_EQ(result.failure->cause, "context canceled");
  EXPECT_TRUE(result.failure->cancelled);
}

TEST_F(ClientHttp2Test, ACancelledCallIsReset) {
  testing::Signal reset;
  testing::Signal begun;
  const auto server = Serve([&](Http2Peer& peer, int) {
    peer.NextRequest();
    begun.Set();
    if (peer.NextOf(h2::kRstStream).type == h2::kRstStream) reset.Set();
  });
  testing::Signal done;
  CallResult result;
  const auto pending =
      client_->Begin(Http2(server->port()), TestServer::Soon(), [&](CallResult outcome) {
        result = std::move(outcome);
        done.Set();
      });
  ASSERT_TRUE(begun.Wait());
  pending->Cancel();
  ASSERT_TRUE(done.Wait());
  EXPECT_TRUE(result.failure->cancelled);
  EXPECT_TRUE(reset.Wait());
}

TEST_F(ClientHttp2Test, FollowsRedirects) {
  Http2Server test([](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().target == "/old") {
      Response response{.status = 307};
      response.headers.Set("Location", "/new");
      return exchange->Respond(std::move(response));
    }
    Echo(exchange);
  });
  auto request = test.Request("POST", "/old", "x");
  request.max_redirects = 10;
  EXPECT_EQ(test.Call(std::move(request)).response.body, "POST /new\nx");
}

}  // namespace
}  // namespace portcullis::net
