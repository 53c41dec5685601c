// SPDX-License-Identifier: Apache-2.0

// Which connections a client keeps, and what becomes of calls and connections when either ends.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "net/testing/client_fixture.h"

namespace portcullis::net {
namespace {

using testing::AnswerOk;
using testing::ClientTest;
using testing::Echo;
using testing::ExchangeQueue;
using testing::kOk;
using testing::RawPeer;
using testing::RawServer;
using testing::TestServer;

using ClientPoolTest = ClientTest;

SharedRequest Shared(ClientRequest request) {
  return std::make_shared<const ClientRequest>(std::move(request));
}

TEST_F(ClientPoolTest, KeepsConnectionsAndCountsThem) {
  TestServer test(Echo);
  for (int i = 0; i < 5; ++i) {
    const auto result = test.Call(test.Request("POST", "/", "x"));
    ASSERT_TRUE(result.ok()) << result.failure->message;
    EXPECT_EQ(result.reused_connection, i > 0);
  }
  EXPECT_EQ(test.client->counters().connections_opened, 1U);
  EXPECT_EQ(test.server->counters().accepted, 1U);

  test.client->CloseIdle();
  EXPECT_EQ(test.client->counters().connections_idle, 0U);
  EXPECT_FALSE(test.Call(test.Request("POST", "/", "x")).reused_connection);
}

TEST_F(ClientPoolTest, DifferentIdentitiesDoNotShareConnections) {
  TestServer test(Echo);
  test.Call(test.Request("POST", "/"));
  auto request = test.Request("POST", "/");
  request.tls = ClientTls::Create({.ca_pem = test.certificates.authority.certificate_pem}).value();

  EXPECT_FALSE(test.Call(request).reused_connection);
}

TEST_F(ClientPoolTest, TenCallsAtOnceUseTenConnectionsAndLeaveThemForLater) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  const auto calls = test.client->NewSet();
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < 10; ++i) {
      calls->Start(i, Shared(test.Request("POST", "/")), TestServer::Soon());
    }
    std::vector<std::shared_ptr<Exchange>> exchanges;
    for (int i = 0; i < 10; ++i) exchanges.push_back(queue.Take());
    for (auto& exchange : exchanges) Echo(exchange);
    for (int i = 0; i < 10; ++i) {
      const auto arrival = calls->Next();
      ASSERT_TRUE(arrival && arrival->result.ok());
      EXPECT_EQ(arrival->result.reused_connection, round > 0);
    }
    EXPECT_FALSE(calls->Next());
  }
  EXPECT_EQ(test.server->counters().accepted, 10U);
  EXPECT_EQ(test.client->counters().connections_idle, 10U);
}

TEST_F(ClientPoolTest, NoMoreThanSoManyConnectionsStayIdle) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  ClientOptions options;
  options.max_idle_per_host = 2;
  auto client = HttpsClient::Create(io_, options);
  const auto calls = client->NewSet();
  for (std::size_t i = 0; i < 5; ++i) {
    calls->Start(i, Shared(test.Request("POST", "/")), TestServer::Soon());
  }
  for (int i = 0; i < 5; ++i) Echo(queue.Take());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(calls->Next()->result.ok());

  EXPECT_EQ(client->counters().connections_idle, 2U);
}

TEST_F(ClientPoolTest, ADeadIdleConnectionIsReplacedUnnoticed) {
  testing::Signal closed;
  RawServer server([&](RawPeer& peer, int number) {
    peer.ReadUntil("{}");
    peer.Send(kOk);
    if (number == 1) {
      peer.ShutdownWrite();
      closed.Set();
    }
    peer.ReadToEnd();
  });
  ASSERT_TRUE(Call(Post(server.port())).ok());
  ASSERT_TRUE(closed.Wait());

  const auto result = Call(Post(server.port()));

  ASSERT_TRUE(result.ok()) << result.failure->message;
  EXPECT_EQ(server.connections(), 2);
}

TEST_F(ClientPoolTest, OnlyHarmlessMethodsAreRepeatedOnAnotherConnection) {
  const auto script = [](RawPeer& peer, int number) {
    peer.ReadUntil("\r\n\r\n");
    peer.Send(kOk);
    if (number == 1) {
      peer.ReadUntil("\r\n\r\n");
      return;
    }
    peer.ReadToEnd();
  };
  {
    RawServer server(script);
    auto get = Post(server.port());
    get.method = "GET";
    get.body = nullptr;
    ASSERT_TRUE(Call(get).ok());
    EXPECT_TRUE(Call(get).ok());
    EXPECT_EQ(server.connections(), 2);
    client_->CloseIdle();
  }
  RawServer server(script);
  ASSERT_TRUE(Call(Post(server.port())).ok());
  const auto result = Call(Post(server.port()));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->cause, "EOF");
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(ClientPoolTest, ManyThreadsMayCallAtOnce) {
  TestServer test(Echo);
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        if (test.Call(test.Request("POST", "/", "x")).response.body == "POST /\nx") ++good;
      }
    });
  }
  for (auto& thread : threads) thread.join();

  EXPECT_EQ(good, 200);
  EXPECT_LE(test.server->counters().accepted, 4U);
}

TEST_F(ClientPoolTest, ASetTellsOfEachCallAsItEnds) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  const auto calls = test.client->NewSet();
  const auto soon = [] { return TestServer::Soon(std::chrono::milliseconds(20)); };
  const auto start = [&](std::size_t id, base::SteadyTime deadline) {
    calls->Start(id, Shared(test.Request("POST", "/" + std::to_string(id))), deadline);
    return queue.Take();
  };
  EXPECT_FALSE(calls->Next(soon())) << "until then";
  const auto one = start(0, TestServer::Soon());
  const auto other = start(1, TestServer::Soon());
  Echo(one);
  Echo(other);
  EXPECT_TRUE(calls->Next()->result.ok());
  EXPECT_TRUE(calls->Next()->result.ok());

  // Both connections are kept: this thread works on them.
  auto first = start(2, TestServer::Soon());
  auto second = start(3, TestServer::Soon(std::chrono::milliseconds(500)));
  const auto late = calls->Next();
  ASSERT_TRUE(late);
  EXPECT_EQ(late->id, 3U);
  EXPECT_EQ(late->result.failure->phase, CallPhase::kFirstByte);
  EXPECT_TRUE(late->result.failure->timed_out);
  EXPECT_TRUE(late->result.reused_connection);
  EXPECT_FALSE(calls->Next(soon())) << "the other one is under way";
  Echo(first);
  const auto good = calls->Next();
  ASSERT_TRUE(good && good->result.ok());
  EXPECT_EQ(good->result.response.body, "POST /2\n");
  EXPECT_EQ(test.client->counters().connections_idle, 1U);
}

TEST_F(ClientPoolTest, ASetMayBeDroppedWithCallsUnderWay) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  auto calls = test.client->NewSet();
  calls->Start(0, Shared(test.Request("POST", "/")), TestServer::Soon());
  Echo(queue.Take());
  ASSERT_TRUE(calls->Next());
  calls->Start(1, Shared(test.Request("POST", "/")), TestServer::Soon());
  const auto exchange = queue.Take();
  testing::Signal gone;
  exchange->OnClosed([&] { gone.Set(); });

  calls = nullptr;

  EXPECT_TRUE(gone.Wait()) << "the connection is closed: nobody will read the answer";
}

// Who drives a connection changes from call to call; large bodies go to and fro all the same.
TEST_F(ClientPoolTest, AConnectionServesThreadsThatWaitAndThoseThatDoNot) {
  TestServer test(Echo);
  const std::string body(3 << 20, 'b');
  for (int i = 0; i < 6; ++i) {
    const auto request = test.Request("POST", "/", body);
    CallResult result;
    if (i % 3 == 1) {
      testing::Signal done;
      test.client->Begin(request, TestServer::Soon(), [&](CallResult got) {
        result = std::move(got);
        done.Set();
      });
      ASSERT_TRUE(done.Wait());
    } else {
      result = test.Call(request);
    }
    ASSERT_TRUE(result.ok()) << result.failure->message;
    EXPECT_EQ(result.response.body.size(), body.size() + 7);
  }
  EXPECT_EQ(test.client->counters().connections_opened, 1U);
}

TEST_F(ClientPoolTest, StopEndsCallsOnWhateverThread) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  const auto make = [&] { return test.Call(test.Request("POST", "/", "x")); };
  CallResult results[2];
  std::thread kept([&] { results[0] = make(); });
  Echo(queue.Take());
  kept.join();
  ASSERT_TRUE(results[0].ok());
  kept = std::thread([&] { results[0] = make(); });  // driven by its thread
  const auto first = queue.Take();
  std::thread fresh([&] { results[1] = make(); });  // by an I/O thread
  const auto second = queue.Take();

  test.client->Stop();

  kept.join();
  fresh.join();
  ASSERT_FALSE(results[0].ok());
  EXPECT_EQ(results[0].failure->cause, "EOF");
  EXPECT_TRUE(results[0].reused_connection);
  ASSERT_FALSE(results[1].ok());
  EXPECT_EQ(results[1].failure->cause, "context canceled");
  EXPECT_EQ(make().failure->cause, "context canceled");
}

TEST_F(ClientPoolTest, AServerThatHangsUpEmptiesThePool) {
  testing::Signal used;
  RawServer server([&](RawPeer& peer, int) {
    for (int i = 0; i < 2; ++i) {
      peer.ReadUntil("{}");
      peer.Send(kOk);
    }
    used.Wait();
  });
  ASSERT_TRUE(Call(Post(server.port())).ok());
  ASSERT_TRUE(Call(Post(server.port())).ok());
  ASSERT_EQ(client_->counters().connections_idle, 1U);

  used.Set();

  const auto limit = TestServer::Soon();
  while (client_->counters().connections_idle > 0 && base::SystemClock().Steady() < limit) {
    std::this_thread::yield();
  }
  EXPECT_EQ(client_->counters().connections_idle, 0U);
}

TEST_F(ClientPoolTest, AnIdleConnectionIsClosedInTime) {
  testing::Signal ended;
  RawServer server([&](RawPeer& peer, int) {
    for (int i = 0; i < 2; ++i) {
      peer.ReadUntil("{}");
      peer.Send(kOk);
    }
    peer.ReadToEnd();
    ended.Set();
  });
  ClientOptions options;
  options.idle_timeout = std::chrono::milliseconds(30);
  const auto client = HttpsClient::Create(io_, options);
  ASSERT_TRUE(client->Call(Post(server.port()), TestServer::Soon()).ok());
  ASSERT_TRUE(client->Call(Post(server.port()), TestServer::Soon()).ok());

  EXPECT_TRUE(ended.Wait());
  EXPECT_EQ(client->counters().connections_idle, 0U);
}

TEST_F(ClientPoolTest, WhatTheServerSaysUnaskedIsNotTakenForAnAnswer) {
  TestServer unused(Echo);  // for its certificates
  RawServer server(
      [](RawPeer& peer, int number) {
        peer.ReadUntil("{}");
        peer.Send(std::string(kOk) + (number == 1 ? std::string(kOk) : ""));
        peer.ReadToEnd();
      },
      unused.certificates.serving);
  const auto request = Secure(server.port(), unused.certificates.authority.certificate_pem);
  ASSERT_TRUE(Call(request).ok());

  EXPECT_FALSE(Call(request).reused_connection);
}

}  // namespace
}  // namespace portcullis::net
