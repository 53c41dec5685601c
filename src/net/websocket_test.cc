// SPDX-License-Identifier: Apache-2.0

#include "net/websocket.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "net/internal/websocket_reader.h"
#include "net/testing/test_server.h"

namespace portcullis::net {
namespace {

using internal::WebSocketReader;
using testing::ExchangeQueue;
using testing::RawPeer;
using testing::Signal;
using testing::TestServer;

// The key of RFC 6455, and what it is answered with.
constexpr std::string_view kHandshake =
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Sec-WebSocket-Version: 13\r\nOrigin: http://localhost\r\n";
constexpr std::string_view kAccepted =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";

Request ValidRequest() {
  Request request;
  request.method = "GET";
  request.target = "/watch";
  request.authority = "localhost";
  request.headers = {{"Upgrade", "websocket"},
                     {"Connection", "Upgrade"},
                     {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                     {"Sec-WebSocket-Version", "13"},
                     {"Origin", "http://localhost"}};
  return request;
}

TEST(WebSocketHandshake, IsAnsweredAsGoAnswersIt) {
  struct Case {
    std::string_view field, value;  // which one is another; "" takes it away
    std::string answer;
  };
  const std::string ok(kAccepted);
  const Case cases[] = {
      {"", "", ok + "\r\n"},
      {"Upgrade", "WebSocket", ok + "\r\n"},
      {"Connection", "keep-alive, Upgrade", ok + "\r\n"},
      {"Origin", "https://other.example:1", ok + "\r\n"},
      {"Origin", "/path", ok + "\r\n"},
      {"Origin", "", "HTTP/1.1 403 Forbidden\r\n\r\n"},
      {"Origin", "null", "HTTP/1.1 403 Forbidden\r\n\r\n"},
      {"Connection", "", "HTTP/1.1 400 Bad Request\r\n\r\nnot websocket protocol"},
      {"Sec-WebSocket-Key", "", "HTTP/1.1 400 Bad Request\r\n\r\nmismatch challenge/response"},
      {"Sec-WebSocket-Version", "8",
       "HTTP/1.1 400 Bad Request\r\nSec-WebSocket-Version: 13\r\n\r\nmissing or bad WebSocket "
       "Version"},
      {"Sec-WebSocket-Protocol", " a ", ok + "Sec-WebSocket-Protocol: a\r\n\r\n"},
      {"Sec-WebSocket-Protocol", "a,b", "HTTP/1.1 400 Bad Request\r\n\r\n"},
      {"Sec-WebSocket-Extensions", "permessage-deflate", ok + "\r\n"},
  };
  for (const auto& [field, value, answer] : cases) {
    Request request = ValidRequest();
    value.empty() ? request.headers.Remove(field) : request.headers.Set(field, value);
    const WebSocketAnswer got =
        AnswerHandshake(request, true, request.headers.Get("Sec-WebSocket-Protocol"));
    EXPECT_EQ(got.bytes, answer) << field << ": " << value;
    EXPECT_EQ(got.accepted, answer.starts_with(ok)) << field << ": " << value;
  }
}

TEST(WebSocketHandshake, IsAskedForByTwoHeaders) {
  EXPECT_TRUE(AsksForWebSocket(ValidRequest().headers));
  EXPECT_TRUE(AsksForWebSocket(
      {{"Connection", "close"}, {"Connection", "x-upgrade"}, {"Upgrade", "WEBSOCKET"}}));
  EXPECT_FALSE(AsksForWebSocket({{"Connection", "Upgrade"}, {"Upgrade", "h2c"}}));
  EXPECT_FALSE(AsksForWebSocket({{"Upgrade", "websocket"}}));
}

// A client's frame, masked.
std::string Masked(int first_byte, std::string_view payload) {
  constexpr std::string_view kMask = "\x01\x02\x03\x04";
  std::string frame;
  AppendFrame(FrameKind::kText, payload, frame);
  frame[0] = static_cast<char>(first_byte);
  frame[1] = static_cast<char>(frame[1] | '\x80');
  frame.insert(frame.size() - payload.size(), kMask);
  const std::size_t start = frame.size() - payload.size();
  for (std::size_t i = start; i < frame.size(); ++i) {
    frame[i] = static_cast<char>(frame[i] ^ kMask[(i - start) % 4]);
  }
  return frame;
}

std::string Close(int status) {
  std::string frame;
  AppendCloseFrame(status, frame);
  return frame;
}

TEST(WebSocketFrames, OfServersSayTheirLength) {
  struct Case {
    std::size_t size;
    std::string head;
  };
  for (const auto& [size, head] :
       {Case{0, std::string("\x81\0", 2)}, Case{125, "\x81\x7D"},
        Case{126, std::string("\x81\x7E\0\x7E", 4)}, Case{65535, "\x81\x7E\xFF\xFF"},
        Case{65536, std::string("\x81\x7F\0\0\0\0\0\x01\0\0", 10)}}) {
    std::string frame;
    AppendFrame(FrameKind::kText, std::string(size, 'x'), frame);
    EXPECT_EQ(frame, head + std::string(size, 'x')) << size;
  }
  EXPECT_EQ(Close(1000), "\x88\x02\x03\xE8");
}

TEST(WebSocketFrames, OfClientsAreReadHoweverTheyAreCut) {
  struct Case {
    std::string_view name;
    std::string bytes, answer;
    bool open;
  };
  const std::string long_ping(200, 'x');
  const Case cases[] = {
      {"text", Masked(0x81, "hello"), "", true},
      {"ping", Masked(0x89, "hello"), "\x8A\x05hello", true},
      {"empty ping", Masked(0x89, ""), std::string("\x8A\0", 2), true},
      {"a pong has 125 bytes at most", Masked(0x89, long_ping), "\x8A\x7D" + long_ping.substr(75),
       true},
      {"pong", Masked(0x8A, "hello"), "", true},
      {"ping among fragments", Masked(0x01, "he") + Masked(0x89, "a") + Masked(0x80, "llo"),
       "\x8A\x01"
       "a",
       true},
      {"reserved bits and opcodes", Masked(0xF1, "x") + Masked(0x83, "y") + Masked(0xC9, "a"),
       "\x8A\x01"
       "a",
       true},
      {"close", Masked(0x88, "\x03\xE8") + Masked(0x89, "late"), "", false},
      {"not masked",
       "\x89\x01"
       "a",
       Close(1002), false},
      {"too large",
       std::string("\x82\xFF\0\0\0\0\x02\0\0\x01"
                   "aaaa",
                   14),
       "", false},
      {"large",
       std::string("\x82\xFF\0\0\0\0\x02\0\0\0"
                   "aaaa",
                   14),
       "", true},
      {"the highest bit of a length", std::string("\x89\xFF\x80\0\0\0\0\0\0\x01\0\0\0\0a", 15),
       "\x8A\x01"
       "a",
       true},
  };
  for (const Case& each : cases) {
    for (std::size_t step : {std::size_t{1}, std::size_t{3}, each.bytes.size()}) {
      WebSocketReader reader;
      std::string answer;
      bool open = true;
      for (std::size_t at = 0; at < each.bytes.size() && open; at += step) {
        open = reader.Feed(std::string_view(each.bytes).substr(at, step), answer);
      }
      EXPECT_EQ(answer, each.answer) << each.name;
      EXPECT_EQ(open, each.open) << each.name;
    }
  }
}

// A server that accepts every handshake.
struct WebSocketServer {
  WebSocketServer()
      : test([this](const std::shared_ptr<Exchange>& exchange) {
          exchange->OnClosed([this] { closed.Set(); });
          exchange->StartWebSocket(AnswerHandshake(exchange->request(), true, ""));
          queue.Push(exchange);
        }) {}

  std::unique_ptr<RawPeer> Connect(std::string_view more = {}) {
    auto peer = RawPeer::ConnectTls(test.server->port(), {});
    peer->Send(base::StrCat("GET /watch HTTP/1.1\r\nHost: a\r\n", kHandshake, "\r\n", more));
    return peer;
  }

  ExchangeQueue queue;
  Signal closed;
  TestServer test;
};

TEST(WebSocket, CarriesWhatIsWrittenAndClosesAtTheEnd) {
  WebSocketServer server;
  const auto peer = server.Connect();
  const auto exchange = server.queue.Take();
  ASSERT_NE(exchange, nullptr);
  std::string frame;
  AppendFrame(FrameKind::kText, "hello", frame);
  exchange->Write(frame);
  exchange->Finish();

  EXPECT_EQ(peer->ReadToEnd(), base::StrCat(kAccepted, "\r\n\x81\x05hello", Close(1000)));
}

TEST(WebSocket, AnswersPingsAlsoThoseSentWithTheHandshake) {
  WebSocketServer server;
  const auto peer = server.Connect(Masked(0x89, "early"));
  EXPECT_TRUE(
      peer->ReadUntil("early").ends_with("\x8A\x05"
                                         "early"));
  peer->Send(Masked(0x89, "late"));
  EXPECT_EQ(peer->ReadUntil("late"),
            "\x8A\x04"
            "late");
}

TEST(WebSocket, EndsWhenItsClientEndsIt) {
  for (const std::string& last : {Masked(0x88, "\x03\xE8"),
                                  std::string("\x81\x01"
                                              "a"),
                                  std::string()}) {
    WebSocketServer server;
    const auto peer = server.Connect();
    const auto exchange = server.queue.Take();
    ASSERT_NE(exchange, nullptr);
    EXPECT_TRUE(peer->ReadUntil("\r\n\r\n").starts_with(kAccepted));
    last.empty() ? peer->ShutdownWrite() : (void)peer->Send(last);
    EXPECT_TRUE(server.closed.Wait());
    EXPECT_EQ(peer->ReadToEnd(), (last[0] == '\x81' ? Close(1002) : "") + Close(1000));
    exchange->Write(std::string("late"));
    exchange->Finish();
  }
}

TEST(WebSocket, IsNotReadWhileItsClientTakesNothing) {
  WebSocketServer server;
  const auto peer = server.Connect();
  const auto exchange = server.queue.Take();
  ASSERT_NE(exchange, nullptr);
  // More than sockets hold.
  constexpr std::size_t kSize = 16 << 20;
  std::string frame;
  AppendFrame(FrameKind::kBinary, std::string(kSize, 'x'), frame);
  exchange->Write(frame);
  // The frame is on its way before the ping is sent.
  std::string all = peer->ReadUntil("xx");
  peer->Send(Masked(0x89, "a"));
  all += peer->ReadUntil(
      "\x8A\x01"
      "a");
  EXPECT_EQ(all.size(), kAccepted.size() + 2 + 10 + kSize + 3);
}

TEST(WebSocket, RefusedHandshakesEndTheConnection) {
  TestServer test([](const std::shared_ptr<Exchange>& exchange) {
    exchange->StartWebSocket({false, "HTTP/1.1 403 Forbidden\r\n\r\n"});
  });
  const auto peer = RawPeer::ConnectTls(test.server->port(), {});
  peer->Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(peer->ReadToEnd(), "HTTP/1.1 403 Forbidden\r\n\r\n");
  EXPECT_EQ(test.server->counters().open_exchanges, 0u);
}

}  // namespace
}  // namespace portcullis::net
