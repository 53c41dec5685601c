// SPDX-License-Identifier: Apache-2.0

// Bodies that are read on demand, and answers that are not read: what one client can make the
// server hold, over HTTP/1.1 and HTTP/2.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "net/internal/body_budget.h"
#include "net/testing/http2_client.h"
#include "net/testing/test_server.h"

namespace portcullis::net {
namespace {

using testing::Echo;
using testing::ExchangeQueue;
using testing::H2Client;
using testing::RawPeer;
using testing::Signal;
using testing::TestServer;

ServerOptions OnDemand(BodyLimits limits = {}) {
  ServerOptions options;
  options.bodies_on_demand = true;
  options.bodies = limits;
  return options;
}

std::string Post(std::string_view path, std::size_t length, std::string_view part,
                 std::string_view more = "") {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(length) + "\r\n" +
         std::string(more) + "\r\n" + std::string(part);
}

std::string H2Frame(char type, char flags, std::uint32_t stream, std::string_view payload) {
  std::string bytes = {0, 0, static_cast<char>(payload.size()), type, flags, 0, 0};
  bytes += static_cast<char>(stream >> 8U);
  bytes += static_cast<char>(stream & 0xffU);
  return bytes.append(payload);
}

// What ReadBody() says, for a test to wait for.
class Outcome {
 public:
  void Read(Exchange& exchange, std::chrono::milliseconds limit = std::chrono::seconds(20),
            std::string owner = "user") {
    exchange.ReadBody({std::move(owner), base::SystemClock().Steady() + limit},
                      [this](BodyRead outcome) {
                        outcome_ = outcome;
                        signal_.Set();
                      });
  }
  BodyRead Wait() {
    EXPECT_TRUE(signal_.Wait());
    return outcome_;
  }

 private:
  std::atomic<BodyRead> outcome_{BodyRead::kClosed};
  Signal signal_;
};

struct Fixture {
  explicit Fixture(ServerOptions options = OnDemand(), bool with_tls = false)
      : test([this](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); },
             std::move(options), with_tls) {}
  // A reservation is made on an I/O thread.
  void AwaitReserved(std::size_t bytes) const {
    while (test.server->counters().body_bytes != bytes) std::this_thread::yield();
  }

  ExchangeQueue queue;
  TestServer test;
};

TEST(ServerBodiesTest, SmallBodiesArriveWithTheirHeads) {
  Fixture f;
  auto peer = RawPeer::Connect(f.test.server->port());
  peer->Send(Post("/x", 5, "hello"));

  const auto exchange = f.queue.Take();

  ASSERT_TRUE(exchange->body_complete());
  EXPECT_EQ(exchange->TakeBody(), "hello");
}

TEST(ServerBodiesTest, AHalfSentBodyIsAnsweredFromItsHead) {
  for (const std::size_t length : {std::size_t{1000}, std::size_t{3} << 20}) {
    Fixture f;
    auto peer = RawPeer::Connect(f.test.server->port());
    peer->Send(Post("/x", length, "half of it"));

    const auto exchange = f.queue.Take();
    EXPECT_FALSE(exchange->body_complete());
    exchange->Respond({.status = 401});

    const auto head = peer->ReadUntil("\r\n\r\n");
    EXPECT_TRUE(head.starts_with("HTTP/1.1 401 ")) << head;
    // As Go: a long rest is not read, so the connection ends.
    EXPECT_EQ(head.find("Connection: close") != std::string::npos, length > 1000) << head;
  }
}

TEST(ServerBodiesTest, AShortUnreadRestIsDroppedAndTheConnectionGoesOn) {
  Fixture f;
  auto peer = RawPeer::Connect(f.test.server->port());
  peer->Send(Post("/x", 20, "0123456789"));
  f.queue.Take()->Respond({.status = 401});
  EXPECT_TRUE(peer->ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 401 "));

  peer->Send(
      "GET /no HT"
      "GET /yes HTTP/1.1\r\nHost: a\r\n\r\n");

  const auto next = f.queue.Take();
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(next->request().target, "/yes");
}

TEST(ServerBodiesTest, AnUnreadChunkedBodyEndsTheConnection) {
  Fixture f;
  auto peer = RawPeer::Connect(f.test.server->port());
  peer->Send("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");

  f.queue.Take()->Respond({.status = 401});

  EXPECT_NE(peer->ReadToEnd().find("Connection: close"), std::string::npos);
}

// A token in a trailer would name a user after the request has been judged.
TEST(ServerBodiesTest, TrailersAreNoHeaders) {
  Fixture f(ServerOptions{});
  auto peer = RawPeer::Connect(f.test.server->port());
  peer->Send(
      "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n"
      "3\r\nabc\r\n0\r\nAuthorization: Bearer x\r\n\r\n");
  const auto exchange = f.queue.Take();
  EXPECT_EQ(exchange->request().body, "abc");
  EXPECT_EQ(exchange->request().headers.Get("Authorization"), "");
  exchange->Respond({.status = 200});

  Fixture with_tls(ServerOptions{}, true);
  H2Client client(with_tls.test.server->port());
  const auto id = client.Submit("POST", "/x", "abc", {}, true);
  client.SendAll();
  client.EndWithTrailer(id, "authorization", "Bearer x");
  client.SendAll();
  const auto of_http2 = with_tls.queue.Take();
  EXPECT_EQ(of_http2->request().headers.Get("Authorization"), "");
  of_http2->Respond({.status = 200});
  EXPECT_EQ(client.Run(id).status, "200");
}

TEST(ServerBodiesTest, ReadsTheBodyThatTheHandlerAsksFor) {
  for (const bool with_tls : {false, true}) {
    Fixture f(OnDemand(), with_tls);
    auto peer = with_tls ? RawPeer::ConnectTls(f.test.server->port(), {})
                         : RawPeer::Connect(f.test.server->port());
    const std::string body(2 << 20, 'x');
    peer->Send(Post("/x", body.size(), "x"));
    const auto exchange = f.queue.Take();
    Outcome outcome;
    outcome.Read(*exchange);
    f.AwaitReserved(body.size());

    peer->Send(std::string_view(body).substr(1));

    ASSERT_EQ(outcome.Wait(), BodyRead::kComplete);
    EXPECT_TRUE(exchange->body_complete());
    EXPECT_EQ(exchange->TakeBody(), body);
    exchange->Respond({.status = 200});
    EXPECT_EQ(peer->ReadUntil("\r\n\r\n").find("Connection: close"), std::string::npos);
    peer->Send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(f.queue.Take()->request().target, "/next");
  }
}

TEST(ServerBodiesTest, ReadsAChunkedBodyAndSaysWhenItIsTooLarge) {
  ServerOptions options = OnDemand();
  options.max_body_bytes = [](const Request&) { return std::size_t{1000}; };
  Fixture f(std::move(options));
  for (const bool large : {false, true}) {
    auto peer = RawPeer::Connect(f.test.server->port());
    peer->Send("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    const auto exchange = f.queue.Take();
    Outcome outcome;
    outcome.Read(*exchange);

    peer->Send(large ? "3e8\r\n" + std::string(1000, 'x') : std::string("2\r\nde\r\n0\r\n\r\n"));

    EXPECT_EQ(outcome.Wait(), large ? BodyRead::kTooLarge : BodyRead::kComplete);
    EXPECT_EQ(exchange->body_too_large(), large);
    EXPECT_EQ(exchange->TakeBody(), large ? "" : "abcde");
  }
}

TEST(ServerBodiesTest, ContinuesOnlyIfTheBodyIsAskedFor) {
  Fixture f;
  for (const bool asks : {true, false}) {
    auto peer = RawPeer::Connect(f.test.server->port());
    peer->Send(Post("/x", 2, "", "Expect: 100-continue\r\n"));
    const auto exchange = f.queue.Take();
    Outcome outcome;
    if (asks) {
      outcome.Read(*exchange);
      EXPECT_EQ(peer->ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
      peer->Send("hi");
      EXPECT_EQ(outcome.Wait(), BodyRead::kComplete);
    }
    exchange->Respond({.status = 200});
    const auto head = peer->ReadUntil("\r\n\r\n");
    EXPECT_TRUE(head.starts_with("HTTP/1.1 200 ")) << head;
    EXPECT_EQ(head.find("Connection: close") == std::string::npos, asks) << head;
  }
}

TEST(ServerBodiesTest, WithoutRoomABodyWaitsUntilThereIsSome) {
  Fixture f(OnDemand({.total = 100'000, .per_owner = 100'000}));
  auto first = RawPeer::Connect(f.test.server->port());
  auto second = RawPeer::Connect(f.test.server->port());
  const std::string body(90'000, 'x');
  first->Send(Post("/1", body.size(), "x"));
  auto one = f.queue.Take();
  Outcome first_outcome;
  first_outcome.Read(*one);
  f.AwaitReserved(body.size());
  second->Send(Post("/2", body.size(), body));
  auto two = f.queue.Take();
  Outcome second_outcome;
  second_outcome.Read(*two, std::chrono::seconds(20), "another");
  while (f.test.server->counters().waiting_bodies == 0) std::this_thread::yield();
  EXPECT_EQ(f.test.server->counters().body_bytes, body.size());

  first->Send(std::string_view(body).substr(1));
  EXPECT_EQ(first_outcome.Wait(), BodyRead::kComplete);
  EXPECT_FALSE(two->body_complete());
  Echo(one);
  one.reset();  // and its reservation

  EXPECT_EQ(second_outcome.Wait(), BodyRead::kComplete);
  EXPECT_EQ(two->TakeBody(), body);
}

TEST(ServerBodiesTest, AnOwnerAtItsLimitDoesNotHoldUpOthers) {
  Fixture f(OnDemand({.total = 300'000, .per_owner = 100'000}));
  std::vector<std::unique_ptr<RawPeer>> peers;
  std::vector<std::shared_ptr<Exchange>> exchanges;
  std::vector<std::unique_ptr<Outcome>> outcomes;
  for (const auto* owner : {"greedy", "greedy", "greedy", "modest"}) {
    peers.push_back(RawPeer::Connect(f.test.server->port()));
    peers.back()->Send(Post("/", 90'000, "x"));
    exchanges.push_back(f.queue.Take());
    outcomes.push_back(std::make_unique<Outcome>());
    outcomes.back()->Read(*exchanges.back(), std::chrono::seconds(20), owner);
  }
  while (f.test.server->counters().waiting_bodies < 2) std::this_thread::yield();

  peers.back()->Send(std::string(89'999, 'x'));

  EXPECT_EQ(outcomes.back()->Wait(), BodyRead::kComplete);
  EXPECT_EQ(f.test.server->counters().body_bytes, 180'000U);
}

TEST(ServerBodiesTest, NoMoreBodiesOfAnOwnerWaitThanMay) {
  constexpr std::size_t kStreams = 200;
  constexpr std::size_t kConnections = internal::BodyBudget::kMaxWaiting / kStreams;
  Outcome others, last, refused, modest;  // outlive the server
  Fixture f(OnDemand({.total = 300'000, .per_owner = 100'000}), true);
  std::vector<std::unique_ptr<RawPeer>> peers;
  std::vector<std::shared_ptr<Exchange>> exchanges;
  // Heads with a Content-Length of 90,000.
  const auto post = [&](std::size_t streams) {
    peers.push_back(RawPeer::ConnectTls(f.test.server->port(), {.alpn = "h2"}));
    peers.back()->Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + H2Frame(4, 0, 0, ""));
    for (std::uint32_t i = 0; i < streams; ++i) {
      peers.back()->Send(
          H2Frame(1, 4, 2 * i + 1, "\x83\x87\x84\x41\x01\x61\x0f\x0d\x05\x39\x30\x30\x30\x30"));
      exchanges.push_back(f.queue.Take());
    }
  };
  for (std::size_t i = 0; i < kConnections; ++i) post(kStreams);
  for (const auto& exchange : exchanges) others.Read(*exchange, std::chrono::seconds(20), "greedy");
  while (f.test.server->counters().waiting_bodies + 1 < exchanges.size()) std::this_thread::yield();

  post(3);
  last.Read(**(exchanges.end() - 3), std::chrono::seconds(20), "greedy");
  while (f.test.server->counters().waiting_bodies < exchanges.size() - 3) std::this_thread::yield();
  refused.Read(**(exchanges.end() - 2), std::chrono::seconds(20), "greedy");
  EXPECT_EQ(refused.Wait(), BodyRead::kRefused);

  modest.Read(*exchanges.back(), std::chrono::seconds(20), "modest");
  f.AwaitReserved(180'000);
  // Those that wait go on when their owner has room.
  exchanges.front()->Respond({.status = 200});
  exchanges.front().reset();
  while (f.test.server->counters().waiting_bodies == exchanges.size() - 3)
    std::this_thread::yield();
  f.AwaitReserved(180'000);
}

TEST(ServerBodiesTest, WhatIsNoDataInAChunkedBodyIsLimited) {
  const std::string line = "1;" + std::string(8000, 'x');
  for (const std::string& part : {line, "0\r\nA: " + line, std::string(8000, '0')}) {
    Fixture f;
    auto peer = RawPeer::Connect(f.test.server->port());
    peer->Send("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    const auto exchange = f.queue.Take();
    Outcome outcome;
    outcome.Read(*exchange);

    peer->Send(part);

    EXPECT_EQ(outcome.Wait(), BodyRead::kClosed) << part.substr(0, 8);
    EXPECT_EQ(peer->ReadToEnd(), "");
  }
}

TEST(ServerBodiesTest, WhatIsNoDataInAChunkedBodyIsRefusedBeforeItIsHandedOver) {
  ServerOptions options;
  options.body_timeout = std::chrono::milliseconds(2000);
  TestServer test(Echo, std::move(options));
  std::string extensions;
  for (int i = 0; i < 30; ++i) extensions += "1;" + std::string(1000, 'x') + "\r\n \r\n";
  const std::string line = "1;" + std::string(8000, 'x');
  for (const std::string& part : {extensions, line, "0\r\nA: " + line}) {
    auto peer = RawPeer::ConnectTls(test.server->port(), {});
    peer->Send("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");

    peer->Send(part);

    EXPECT_TRUE(peer->ReadToEnd().starts_with("HTTP/1.1 400 ")) << part.substr(0, 8);
  }
  std::string bytes = "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 30'000; ++i) bytes += "1\r\nx\r\n";
  auto peer = RawPeer::ConnectTls(test.server->port(), {});
  peer->Send(bytes + "0\r\n\r\n");
  EXPECT_TRUE(peer->ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 200 "));
}

TEST(ServerBodiesTest, ABodyThatDoesNotComeTimesOut) {
  ServerOptions options = OnDemand({.total = 100'000, .per_owner = 100'000});
  options.header_timeout = std::chrono::milliseconds(400);  // makes ticks short
  Fixture f(std::move(options));
  auto first = RawPeer::Connect(f.test.server->port());
  first->Send(Post("/1", 90'000, "x"));
  const auto one = f.queue.Take();
  Outcome never_comes;
  never_comes.Read(*one, std::chrono::milliseconds(50));
  f.AwaitReserved(90'000);
  auto second = RawPeer::Connect(f.test.server->port());
  second->Send(Post("/2", 90'000, "x"));
  const auto two = f.queue.Take();
  Outcome no_room;
  no_room.Read(*two, std::chrono::milliseconds(1));

  EXPECT_EQ(never_comes.Wait(), BodyRead::kTimedOut);
  EXPECT_NE(no_room.Wait(), BodyRead::kComplete);

  one->Respond({.status = 504});
  EXPECT_NE(first->ReadToEnd().find("Connection: close"), std::string::npos);
  EXPECT_EQ(f.test.server->counters().body_bytes, 0U);
}

TEST(ServerBodiesTest, AClientThatGoesEndsTheWaitForItsBody) {
  Fixture f;
  auto peer = RawPeer::Connect(f.test.server->port());
  peer->Send(Post("/1", 90'000, "x"));
  const auto exchange = f.queue.Take();
  Outcome outcome;
  outcome.Read(*exchange);

  peer.reset();

  EXPECT_EQ(outcome.Wait(), BodyRead::kClosed);
  EXPECT_EQ(f.test.server->counters().body_bytes, 0U);
}

TEST(ServerBodiesTest, Http2AHalfSentBodyIsAnsweredFromItsHead) {
  Fixture f(OnDemand(), true);
  H2Client client(f.test.server->port());
  const auto id = client.Submit("POST", "/x", "half", {}, true);
  client.SendAll();

  const auto exchange = f.queue.Take();
  EXPECT_FALSE(exchange->body_complete());
  exchange->Respond({.status = 401});

  const auto answer = client.Run(id);
  EXPECT_EQ(answer.status, "401");
  EXPECT_EQ(answer.error, static_cast<std::uint32_t>(NGHTTP2_NO_ERROR));
}

TEST(ServerBodiesTest, Http2SendsNoMoreThanAWindowUntilTheBodyIsAskedFor) {
  Fixture f(OnDemand(), true);
  H2Client client(f.test.server->port());
  const std::string body(2 << 20, 'x');
  const auto id =
      client.Submit("POST", "/x", body, {{"content-length", std::to_string(body.size())}});
  client.SendAll();
  const auto exchange = f.queue.Take();
  EXPECT_FALSE(exchange->body_complete());
  // Another stream has a window of its own.
  client.Submit("POST", "/y", "hello");
  client.SendAll();
  const auto other = f.queue.Take();
  client.RunUntil([&] { return other->body_complete(); });
  EXPECT_FALSE(exchange->body_complete());

  Outcome outcome;
  outcome.Read(*exchange);
  client.RunUntil([&] { return exchange->body_complete(); });

  EXPECT_EQ(outcome.Wait(), BodyRead::kComplete);
  EXPECT_EQ(exchange->TakeBody(), body);
  exchange->Respond({.status = 200});
  EXPECT_EQ(client.Run(id).status, "200");
}

TEST(ServerBodiesTest, Http2ASmallBodyMayComeBeforeItIsAskedFor) {
  Fixture f(OnDemand(), true);
  H2Client client(f.test.server->port());
  const auto id = client.Submit("POST", "/x", "hel", {}, true);
  client.SendAll();
  const auto exchange = f.queue.Take();
  ASSERT_FALSE(exchange->body_complete());

  client.Continue(id, "lo");
  client.SendAll();
  Outcome outcome;
  outcome.Read(*exchange);

  EXPECT_EQ(outcome.Wait(), BodyRead::kComplete);
  EXPECT_EQ(exchange->TakeBody(), "hello");
}

TEST(ServerBodiesTest, Http2RefusesStreamsBeyondWhatAConnectionMayLeaveUnasked) {
  Fixture f(OnDemand(), true);
  H2Client client(f.test.server->port());
  const std::string part(60'000, 'x');
  std::vector<std::int32_t> ids;
  ids.reserve(30);
  for (int i = 0; i < 30; ++i) ids.push_back(client.Submit("POST", "/x", part, {}, true));

  const auto refused = [&] {
    return std::count_if(ids.begin(), ids.end(), [&](std::int32_t id) {
      return client.answers[id].error == NGHTTP2_REFUSED_STREAM;
    });
  };
  client.RunUntil([&] { return refused() >= 12; });

  EXPECT_GE(refused(), 12);  // of 1.8 MB no more than 1 MiB is held
  EXPECT_LE(refused(), 20);
}

// Tells when it is destroyed.
std::shared_ptr<void> Flagged(Signal& gone) {
  return {static_cast<void*>(&gone), [](void* signal) { static_cast<Signal*>(signal)->Set(); }};
}

TEST(ServerBodiesTest, AnAnswerThatIsNotReadKeepsWhatIsAttachedUntilItIsCutOff) {
  ServerOptions options = OnDemand();
  options.header_timeout = std::chrono::milliseconds(400);  // makes ticks short
  Fixture f(std::move(options));
  auto peer = RawPeer::Connect(f.test.server->port());
  peer->Send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
  auto exchange = f.queue.Take();
  Signal released;
  exchange->Attach(Flagged(released));
  exchange->SetDeadline(base::SystemClock().Steady() + std::chrono::milliseconds(300));

  exchange->Respond({.body = std::string(64 << 20, 'x')});
  exchange.reset();
  EXPECT_EQ(f.test.server->counters().open_exchanges, 1U);

  EXPECT_TRUE(released.Wait());
  EXPECT_LT(peer->ReadToEnd().size(), std::size_t{64} << 20);
}

TEST(ServerBodiesTest, AnAnswerThatIsReadReleasesWhatIsAttached) {
  Fixture f;
  auto peer = RawPeer::Connect(f.test.server->port());
  peer->Send("GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  auto exchange = f.queue.Take();
  Signal released;
  exchange->Attach(Flagged(released));
  exchange->Respond({.body = std::string(16 << 20, 'x')});
  exchange.reset();

  EXPECT_GT(peer->ReadToEnd().size(), std::size_t{16} << 20);
  EXPECT_TRUE(released.Wait());
}

TEST(ServerBodiesTest, TheNextRequestWaitsUntilTheAnswerHasLeft) {
  Fixture f;
  auto peer = RawPeer::Connect(f.test.server->port());
  peer->Send("GET /large HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  f.queue.Take()->Respond({.body = std::string(64 << 20, 'x')});

  // The answer cannot have left: nothing is read here.
  EXPECT_EQ(f.test.server->counters().open_exchanges, 1U);
  std::size_t size = 0;
  while (size < std::size_t{64} << 20) size += peer->Read().size();
  EXPECT_EQ(f.queue.Take()->request().target, "/next");
}

TEST(ServerBodiesTest, Http2AStreamWithoutWindowIsCutOffAtItsDeadline) {
  ServerOptions options = OnDemand();
  options.header_timeout = std::chrono::milliseconds(400);  // makes ticks short
  Fixture f(std::move(options), true);
  H2Client client(f.test.server->port(), 0);
  const auto id = client.Submit("GET", "/large");
  client.SendAll();
  auto exchange = f.queue.Take();
  Signal released;
  exchange->Attach(Flagged(released));
  exchange->SetDeadline(base::SystemClock().Steady() + std::chrono::milliseconds(100));
  exchange->Respond({.body = std::string(1 << 20, 'x')});
  exchange.reset();

  EXPECT_EQ(client.Run(id).error, static_cast<std::uint32_t>(NGHTTP2_INTERNAL_ERROR));
  EXPECT_TRUE(released.Wait());
}

TEST(ServerBodiesTest, Http2AStreamOfWhichNothingIsTakenIsDropped) {
  ServerOptions options = OnDemand();
  options.write_timeout = std::chrono::milliseconds(100);
  Fixture f(std::move(options), true);
  H2Client client(f.test.server->port(), 0);
  const auto id = client.Submit("GET", "/watch");
  client.SendAll();
  const auto exchange = f.queue.Take();
  Signal gone;
  exchange->OnClosed([&] { gone.Set(); });
  exchange->Start({});
  exchange->Write(std::string(1000, 'x'));

  EXPECT_EQ(client.Run(id).error, static_cast<std::uint32_t>(NGHTTP2_INTERNAL_ERROR));
  EXPECT_TRUE(gone.Wait());
}

TEST(ServerBodiesTest, OneAddressOpensOnlySoManyConnectionsBeforeItIsKnown) {
  ServerOptions options = OnDemand();
  options.max_strangers_per_address = 2;
  Fixture f(std::move(options));
  const std::string get = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
  auto first = RawPeer::Connect(f.test.server->port());
  first->Send(get);
  auto known = f.queue.Take();
  auto second = RawPeer::Connect(f.test.server->port());
  second->Send(get);
  auto unknown = f.queue.Take();
  auto third = RawPeer::Connect(f.test.server->port());
  EXPECT_EQ(third->ReadToEnd(), "");

  known->MarkKnown();
  auto fourth = RawPeer::Connect(f.test.server->port());
  fourth->Send(get);
  EXPECT_NE(f.queue.Take(), nullptr);
  EXPECT_EQ(RawPeer::Connect(f.test.server->port())->ReadToEnd(), "");

  // One that goes makes room, too.
  second.reset();
  while (!unknown->closed()) std::this_thread::yield();
  auto sixth = RawPeer::Connect(f.test.server->port());
  sixth->Send(get);
  EXPECT_NE(f.queue.Take(), nullptr);
}

}  // namespace
}  // namespace portcullis::net
