// SPDX-License-Identifier: Apache-2.0

// Calls of fibers: what waits is left, and its I/O thread does other work meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/fiber.h"
#include "net/internal/loop.h"
#include "net/testing/client_fixture.h"
#include "net/testing/on_fiber.h"

namespace portcullis::net {
namespace {

using testing::AnswerOk;
using testing::ClientTest;
using testing::Echo;
using testing::ExchangeQueue;
using testing::kOk;
using testing::OnFiber;
using testing::RawPeer;
using testing::RawServer;
using testing::Signal;
using testing::TestServer;

SharedRequest Shared(ClientRequest request) {
  return std::make_shared<const ClientRequest>(std::move(request));
}

class FiberCallsTest : public ClientTest {
 protected:
  void SetUp() override {
    if (!base::Fiber::kSupported) GTEST_SKIP() << "no fibers on this processor";
  }

  // Begins `work` on a fiber of the first loop, and sets `done` when it has ended.
  void Begin(Signal& done, std::function<void()> work) {
    io_.At(0)->RunOnFiber([&done, work = std::move(work)] {
      work();
      done.Set();
    });
  }
  void Run(const std::function<void()>& work) {
    OnFiber(io_, 0, [&] {
      work();
      return true;
    });
  }
  CallResult CallOnFiber(const ClientRequest& request, std::size_t loop = 0,
                         std::chrono::milliseconds limit = std::chrono::seconds(10)) {
    return OnFiber(io_, loop, [&] { return client_->Call(request, TestServer::Soon(limit)); });
  }
};

TEST_F(FiberCallsTest, KeepTheirConnections) {
  TestServer test(Echo);
  OnFiber(test.io, 0, [&] {
    for (int i = 0; i < 5; ++i) {
      const auto result = test.Call(test.Request("POST", "/", "x"));
      EXPECT_EQ(result.response.body, "POST /\nx");
      EXPECT_EQ(result.reused_connection, i > 0);
    }
    return true;
  });
  EXPECT_EQ(test.client->counters().connections_opened, 1U);
}

TEST_F(FiberCallsTest, UseConnectionsOfTheirOwnLoop) {
  RawServer server(AnswerOk);
  EXPECT_FALSE(CallOnFiber(Post(server.port()), 0).reused_connection);
  EXPECT_FALSE(CallOnFiber(Post(server.port()), 1).reused_connection);
  EXPECT_TRUE(CallOnFiber(Post(server.port()), 0).reused_connection);
  EXPECT_TRUE(CallOnFiber(Post(server.port()), 1).reused_connection);
  EXPECT_TRUE(Call(Post(server.port())).reused_connection) << "threads take any";
}

TEST_F(FiberCallsTest, HoldNoThreadWhileTheyWait) {
  constexpr int kCalls = 50;
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  std::vector<Signal> done(kCalls);
  std::atomic<int> good{0};
  for (auto& signal : done) {
    Begin(signal, [&] {
      if (client_->Call(test.Request("POST", "/", "x"), TestServer::Soon()).ok()) ++good;
    });
  }
  std::vector<std::shared_ptr<Exchange>> exchanges;
  for (int i = 0; i < kCalls; ++i) {
    if (auto exchange = queue.Take()) exchanges.push_back(std::move(exchange));
  }
  EXPECT_EQ(exchanges.size(), std::size_t{kCalls});
  Signal ran;
  io_.At(0)->Post([&] { ran.Set(); });
  EXPECT_TRUE(ran.Wait()) << "the loop goes on";
  for (auto& exchange : exchanges) Echo(exchange);
  for (auto& signal : done) ASSERT_TRUE(signal.Wait(std::chrono::seconds(60)));
  EXPECT_EQ(good, kCalls);
}

TEST_F(FiberCallsTest, ASetTellsOfEachCallAsItEnds) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  const auto soon = [] { return TestServer::Soon(std::chrono::milliseconds(20)); };
  std::unique_ptr<CallSet> calls;
  Run([&] {
    calls = client_->NewSet();
    EXPECT_FALSE(calls->Next()) << "none is under way";
    EXPECT_FALSE(calls->Next(soon())) << "until then";
    calls->Start(1, Shared(test.Request("POST", "/1")), TestServer::Soon());
    calls->Start(3, Shared(test.Request("POST", "/3")), TestServer::Soon());
  });
  std::map<std::string, std::shared_ptr<Exchange>> exchanges;
  for (int i = 0; i < 2; ++i) {
    auto exchange = queue.Take();
    exchanges[std::string(exchange->request().target)] = std::move(exchange);
  }
  Echo(exchanges["/3"]);
  std::vector<std::size_t> order;
  Run([&] {
    // Never answered, and perhaps never sent: its time may end before.
    calls->Start(2, Shared(test.Request("POST", "/2")), soon());
    for (int i = 0; i < 2; ++i) {
      const auto arrival = calls->Next();
      ASSERT_TRUE(arrival);
      order.push_back(arrival->id);
      EXPECT_EQ(arrival->result.ok(), arrival->id == 3);
      EXPECT_EQ(arrival->result.failure && arrival->result.failure->timed_out, arrival->id == 2);
    }
    EXPECT_FALSE(calls->Next(soon())) << "one is still under way";
  });
  EXPECT_TRUE(order == (std::vector<std::size_t>{3, 2}) ||
              order == (std::vector<std::size_t>{2, 3}));
  Echo(exchanges["/1"]);
  Run([&] {
    EXPECT_EQ(calls->Next()->result.response.body, "POST /1\n");
    calls = nullptr;
  });
}

TEST_F(FiberCallsTest, EachCallOfAConnectionHasItsOwnDeadline) {
  ExchangeQueue held;
  TestServer test([&](std::shared_ptr<Exchange> exchange) {
    exchange->request().target == "/" ? Echo(exchange) : held.Push(std::move(exchange));
  });
  const auto soon = [] { return TestServer::Soon(std::chrono::milliseconds(100)); };
  std::unique_ptr<CallSet> calls;
  Run([&] {
    calls = client_->NewSet();
    const auto early = soon();
    calls->Start(0, Shared(test.Request("POST", "/")), early);
    (void)calls->Next();  // answered, unless the machine is slow
    calls->Start(1, Shared(test.Request("POST", "/1")), TestServer::Soon());
    EXPECT_FALSE(calls->Next(early + std::chrono::milliseconds(10))) << "that was another call's";
  });
  Echo(held.Take());
  Run([&] {
    const auto late = calls->Next();
    ASSERT_TRUE(late);
    EXPECT_EQ(late->result.response.body, "POST /1\n");
    calls->Start(2, Shared(test.Request("POST", "/2")), soon());
    const auto hung = calls->Next();
    ASSERT_TRUE(hung);
    ASSERT_TRUE(hung->result.failure);
    EXPECT_TRUE(hung->result.failure->timed_out);
    calls = nullptr;
  });
}

TEST_F(FiberCallsTest, ASetMayBeDroppedWithCallsUnderWay) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  std::unique_ptr<CallSet> calls;
  Run([&] {
    calls = client_->NewSet();
    calls->Start(1, Shared(test.Request("POST", "/")), TestServer::Soon());
  });
  const auto exchange = queue.Take();
  Signal gone;
  exchange->OnClosed([&] { gone.Set(); });
  Run([&] { calls = nullptr; });
  EXPECT_TRUE(gone.Wait()) << "the connection is closed: the answer would not be read";
}

TEST_F(FiberCallsTest, EndAtTheirDeadline) {
  RawServer server([](RawPeer& peer, int) { peer.ReadToEnd(); });
  const auto result = CallOnFiber(Post(server.port()), 0, std::chrono::milliseconds(500));
  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(result.failure->timed_out);
  EXPECT_EQ(result.failure->phase, CallPhase::kFirstByte);
}

TEST_F(FiberCallsTest, FailAsThoseOfThreads) {
  int port = 0;
  {
    RawServer server(AnswerOk);
    port = server.port();
  }
  const auto on_thread = Call(Post(port));
  const auto on_fiber = CallOnFiber(Post(port));
  ASSERT_FALSE(on_fiber.ok());
  EXPECT_EQ(on_fiber.failure->message, on_thread.failure->message);
  EXPECT_EQ(on_fiber.failure->phase, on_thread.failure->phase);
  auto malformed = Post(port);
  malformed.url = "ftp://127.0.0.1/";
  EXPECT_EQ(CallOnFiber(malformed).failure->message, Call(malformed).failure->message);
}

TEST_F(FiberCallsTest, ReplaceADeadIdleConnectionUnnoticed) {
  Signal closed;
  RawServer server([&](RawPeer& peer, int number) {
    peer.ReadUntil("{}");
    peer.Send(kOk);
    if (number == 1) {
      peer.ShutdownWrite();
      closed.Set();
    }
    peer.ReadToEnd();
  });
  ASSERT_TRUE(CallOnFiber(Post(server.port())).ok());
  ASSERT_TRUE(closed.Wait());
  const auto result = CallOnFiber(Post(server.port()));
  ASSERT_TRUE(result.ok()) << result.failure->message;
  EXPECT_EQ(server.connections(), 2);
}

TEST_F(FiberCallsTest, EndWithTheClient) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  auto client = HttpsClient::Create(io_);
  CallResult result;
  Signal done;
  Begin(done, [&] { result = client->Call(test.Request("POST", "/"), TestServer::Soon()); });
  const auto exchange = queue.Take();
  client = nullptr;
  ASSERT_TRUE(done.Wait());
  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(result.failure->cancelled);
}

TEST_F(FiberCallsTest, WithALargeAnswerGoOnOnAnotherThread) {
  TestServer test(Echo);
  std::function<void()> go_on;
  Signal moving;
  Signal done;
  Begin(done, [&] {
    base::Fiber::Current()->set_elsewhere([&](std::function<void()> run) {
      go_on = std::move(run);
      moving.Set();
    });
    const auto calls = client_->NewSet();
    const std::string body(200'000, 'b');
    for (const std::string& sent : {std::string("small"), body, body}) {
      EXPECT_FALSE(base::Fiber::MayHoldThread() && sent == "small");
      calls->Start(0, Shared(test.Request("POST", "/", sent)), TestServer::Soon());
      EXPECT_EQ(calls->Next()->result.response.body, "POST /\n" + sent);
      EXPECT_EQ(base::Fiber::MayHoldThread(), sent == body);
    }
    EXPECT_TRUE(test.Call(test.Request("POST", "/")).ok());
  });
  ASSERT_TRUE(moving.Wait());
  std::thread(go_on).join();
  EXPECT_TRUE(done.Wait());
}

TEST_F(FiberCallsTest, MayBeMadeByTheHandlerOfARequest) {
  TestServer* asked = nullptr;
  TestServer front([&](const std::shared_ptr<Exchange>& exchange) {
    exchange->RunOnFiber([&, exchange] {
      const auto result = asked->client->Call(asked->Request("POST", "/b"), TestServer::Soon());
      Response response;
      response.body = result.ok() ? result.response.body : result.failure->message;
      exchange->Respond(std::move(response));
    });
  });
  TestServer behind(Echo);  // its client ends before the I/O threads that have its connections
  asked = &behind;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(front.Call(front.Request("GET", "/")).response.body, "POST /b\n");
  }
}

}  // namespace
}  // namespace portcullis::net
