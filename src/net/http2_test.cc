// SPDX-License-Identifier: Apache-2.0

// HTTP/2 of the server, driven by nghttp2's client side over a blocking connection.
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>

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

TEST(Http2Test, AnswersRequests) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) {
    Echo(exchange);
    queue.Push(std::move(exchange));
  });
  H2Client client(test.server->port());

  const auto answer = client.Run(client.Submit("POST", "/a?b", "hello", {{"x-test", "1"}}));

  EXPECT_EQ(answer.status, "200");
  EXPECT_EQ(answer.body, "POST /a?b\nhello");
  EXPECT_EQ(answer.headers.at("content-type"), "text/plain");
  EXPECT_EQ(answer.headers.at("content-length"), "15");
  EXPECT_TRUE(answer.headers.contains("date"));
  const auto exchange = queue.Take();
  EXPECT_EQ(exchange->protocol(), Protocol::kHttp2);
  EXPECT_EQ(exchange->request().authority, "test");
  EXPECT_EQ(exchange->request().headers.Get("X-Test"), "1");
}

TEST(Http2Test, TakesValuesThatEndWithASpace) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) {
    Echo(exchange);
    queue.Push(std::move(exchange));
  });
  H2Client client(test.server->port());

  const auto answer = client.Run(client.Submit("GET", "/", "", {{"authorization", "Bearer "}}));

  EXPECT_EQ(answer.status, "200");
  EXPECT_EQ(queue.Take()->request().headers.Get("Authorization"), "Bearer ");
}

TEST(Http2Test, AnswersOutOfOrder) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  H2Client client(test.server->port());
  const auto slow = client.Submit("GET", "/slow");
  const auto quick = client.Submit("GET", "/quick");
  client.SendAll();
  auto first = queue.Take();
  auto second = queue.Take();
  ASSERT_EQ(first->request().target, "/slow");

  Echo(second);
  EXPECT_EQ(client.Run(quick).body, "GET /quick\n");
  EXPECT_FALSE(client.answers[slow].closed);
  Echo(first);
  EXPECT_EQ(client.Run(slow).body, "GET /slow\n");
}

TEST(Http2Test, CarriesLargeBodiesBothWays) {
  ServerOptions options;
  options.max_body_bytes = [](const Request&) { return std::size_t{64} << 20; };
  TestServer test(Echo, std::move(options));
  H2Client client(test.server->port());

  const auto answer = client.Run(client.Submit("POST", "/", std::string(10 << 20, 'x')));

  EXPECT_EQ(answer.body.size(), (std::size_t{10} << 20) + 7);
}

TEST(Http2Test, TellsTheHandlerThatABodyIsTooLarge) {
  TestServer test([](const std::shared_ptr<Exchange>& exchange) {
    exchange->Respond({.status = exchange->body_too_large() ? 413 : 200});
  });
  H2Client client(test.server->port());

  EXPECT_EQ(client.Run(client.Submit("POST", "/", std::string(4 << 20, 'x'))).status, "413");
  EXPECT_EQ(client.Run(client.Submit("POST", "/", "small")).status, "200");
}

TEST(Http2Test, RefusesHeadsThatAreTooLarge) {
  ServerOptions options;
  options.max_header_bytes = 4096;
  TestServer test(Echo, std::move(options));
  H2Client client(test.server->port());

  EXPECT_EQ(client.Run(client.Submit("GET", "/", "", {{"x", std::string(5000, 'x')}})).status,
            "431");
  EXPECT_EQ(client.Run(client.Submit("GET", "/")).status, "200");
}

TEST(Http2Test, StreamsUntilFinished) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  H2Client client(test.server->port());
  const auto id = client.Submit("GET", "/watch");
  client.SendAll();
  auto exchange = queue.Take();

  exchange->Start({.status = 200, .headers = {{"Content-Type", "application/json"}}});
  exchange->Write("one\n");
  client.RunUntil([&] { return client.answers[id].body == "one\n"; });
  exchange->Write(std::make_shared<const std::string>("two\n"));
  client.RunUntil([&] { return client.answers[id].body == "one\ntwo\n"; });
  EXPECT_FALSE(client.answers[id].closed);
  exchange->Finish();

  EXPECT_EQ(client.Run(id).error, static_cast<std::uint32_t>(NGHTTP2_NO_ERROR));
}

TEST(Http2Test, AClientThatDoesNotReadHoldsUpOnlyItsStream) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  H2Client client(test.server->port(), 1000);
  const auto stuck = client.Submit("GET", "/watch");
  client.SendAll();
  auto exchange = queue.Take();
  exchange->Write(std::string(128 << 10, 'x'));
  client.RunUntil([&] { return client.answers[stuck].body.size() >= 1000; });
  EXPECT_GT(exchange->buffered_bytes(), std::size_t{50} << 10);

  const auto other = client.Submit("GET", "/other");
  client.SendAll();
  Echo(queue.Take());
  EXPECT_EQ(client.Run(other).body, "GET /other\n");

  Signal drained;
  exchange->OnDrained([&] { drained.Set(); });
  client.RunUntil([&] { return client.answers[stuck].body.size() == std::size_t{128} << 10; });
  EXPECT_TRUE(drained.Wait());
  EXPECT_EQ(exchange->buffered_bytes(), 0U);
  exchange->Finish();
  EXPECT_EQ(client.Run(stuck).status, "200");
}

TEST(Http2Test, TheHandlerLearnsOfResetsAndHangups) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  auto client = std::make_unique<H2Client>(test.server->port());
  const auto id = client->Submit("GET", "/1");
  client->Submit("GET", "/2");
  client->SendAll();
  auto first = queue.Take();
  auto second = queue.Take();
  Signal first_gone;
  Signal second_gone;
  first->OnClosed([&] { first_gone.Set(); });
  second->OnClosed([&] { second_gone.Set(); });

  client->Reset(id);
  client->SendAll();
  EXPECT_TRUE(first_gone.Wait());
  EXPECT_FALSE(second->closed());
  client.reset();
  EXPECT_TRUE(second_gone.Wait());
}

TEST(Http2Test, ADroppedExchangeResetsItsStream) {
  TestServer test([](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().target == "/good") Echo(exchange);
  });
  H2Client client(test.server->port());

  EXPECT_EQ(client.Run(client.Submit("GET", "/drop")).error,
            static_cast<std::uint32_t>(NGHTTP2_INTERNAL_ERROR));
  EXPECT_EQ(client.Run(client.Submit("GET", "/good")).status, "200");
}

TEST(Http2Test, RapidResetsEndTheConnection) {
  TestServer test([](const std::shared_ptr<Exchange>&) {});
  H2Client client(test.server->port());
  // Few more than are allowed: what is sent a second after GOAWAY may cut the connection before it is read.
  for (int i = 0; i < 700; ++i) {
    const auto id = client.Submit("GET", "/");
    client.SendAll();
    client.Reset(id);
    client.SendAll();
  }

  client.RunUntil([&] { return client.goaway; });

  EXPECT_TRUE(client.goaway);
}

// The error code of the first GOAWAY in `frames`; -1: there is none.
int CodeOfGoaway(std::string_view frames) {
  const auto byte = [&](std::size_t i) -> std::size_t {
    return static_cast<unsigned char>(frames[i]);
  };
  while (frames.size() >= 9) {
    const std::size_t size = 9 + (byte(0) << 16U) + (byte(1) << 8U) + byte(2);
    if (byte(3) == NGHTTP2_GOAWAY && frames.size() >= size && size >= 17)
      return static_cast<int>(byte(16));
    frames.remove_prefix(std::min(size, frames.size()));
  }
  return -1;
}

TEST(Http2Test, StreamsThatTheServerIsMadeToResetEndTheConnection) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  auto peer = RawPeer::ConnectTls(test.server->port(), {.alpn = "h2"});
  ASSERT_TRUE(peer);
  const auto frame = [](char type, char flags, std::uint32_t stream, std::string_view payload) {
    std::string bytes = {0, 0, static_cast<char>(payload.size()), type, flags, 0, 0};
    bytes += static_cast<char>(stream >> 8U);
    bytes += static_cast<char>(stream & 0xffU);
    return bytes.append(payload);
  };
  peer->Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(NGHTTP2_SETTINGS, 0, 0, ""));

  // A window that grows beyond 2^31 - 1 is the stream's error (RFC 9113 §6.9.1).
  for (std::uint32_t i = 0; i < 700; ++i) {
    peer->Send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS, 2 * i + 1,
                     "\x82\x87\x84\x41\x01"
                     "a") +
               frame(NGHTTP2_WINDOW_UPDATE, 0, 2 * i + 1, "\x7f\xff\xff\xff"));
  }

  EXPECT_EQ(CodeOfGoaway(peer->ReadToEnd()), NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST(Http2Test, SurvivesGarbage) {
  TestServer test(Echo);
  auto peer = RawPeer::ConnectTls(test.server->port(), {.alpn = "h2"});
  peer->Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  peer->ReadToEnd();
  auto bad_frame = RawPeer::ConnectTls(test.server->port(), {.alpn = "h2"});
  bad_frame->Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  bad_frame->Send(std::string("\x00\x00\x00\x04\x00\x00\x00\x00\x00", 9));
  bad_frame->Send(std::string("\xff\xff\xff\x00\x00\x00\x00\x00\x01", 9));
  bad_frame->ReadToEnd();

  H2Client client(test.server->port());
  EXPECT_EQ(client.Run(client.Submit("GET", "/")).status, "200");
}

TEST(Http2Test, AnAnswerThatClosesSaysGoawayAndLetsStreamsFinish) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  H2Client client(test.server->port());
  const auto first = client.Submit("GET", "/first");
  client.SendAll();
  const auto exchange = queue.Take();
  const auto second = client.Submit("GET", "/second");
  client.SendAll();
  const auto other = queue.Take();

  exchange->Respond({.headers = {{"Connection", "close"}}, .body = "bye"});
  EXPECT_EQ(client.Run(first).body, "bye");
  client.RunUntil([&] { return client.goaway; });
  EXPECT_EQ(client.goaway_error, std::uint32_t{NGHTTP2_NO_ERROR});
  Echo(other);

  EXPECT_EQ(client.Run(second).body, "GET /second\n");
}

TEST(Http2Test, ShutdownSaysGoawayAndLetsStreamsFinish) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  H2Client client(test.server->port());
  const auto id = client.Submit("GET", "/last");
  client.SendAll();
  auto exchange = queue.Take();

  std::thread stopper([&] { EXPECT_TRUE(test.server->Shutdown(std::chrono::seconds(10))); });
  client.RunUntil([&] { return client.goaway; });
  Echo(exchange);

  EXPECT_EQ(client.Run(id).body, "GET /last\n");
  stopper.join();
}

TEST(Http2Test, HeadHasNoBody) {
  TestServer test(Echo);
  H2Client client(test.server->port());

  const auto answer = client.Run(client.Submit("HEAD", "/x"));

  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(answer.headers.at("content-length"), "8");
}

TEST(Http2Test, HeadOfAnEmptyAnswerHasNoLength) {
  TestServer test([](const auto& exchange) { exchange->Respond({}); });
  H2Client client(test.server->port());

  EXPECT_EQ(client.Run(client.Submit("HEAD", "/x")).headers.count("content-length"), 0U);
  EXPECT_EQ(client.Run(client.Submit("GET", "/x")).headers.at("content-length"), "0");
}

}  // namespace
}  // namespace portcullis::net
