// SPDX-License-Identifier: Apache-2.0

#include "net/client.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <atomic>

#include "base/strings.h"
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
using testing::TestCertificates;
using testing::TestServer;

std::string Gzip(const std::string& plain) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST_F(ClientTest, TakesAStatusLineThatEndsWithItsNumber) {
  RawServer server([&](RawPeer& peer, int) {
    peer.ReadUntil("{}");
    peer.Send("HTTP/1.1 299\r\nContent-Length: 2\r\n\r\nok");
  });
  const auto result = Call(Post(server.port()));
  ASSERT_TRUE(result.ok()) << result.failure->message;
  EXPECT_EQ(result.response.status, 299);
  EXPECT_EQ(result.response.body, "ok");
}

TEST_F(ClientTest, SendsWhatWasAskedFor) {
  std::string seen;
  RawServer server([&](RawPeer& peer, int) {
    seen = peer.ReadUntil("{}");
    peer.Send(kOk);
  });
  auto request = Post(server.port());
  request.headers.Set("User-Agent", "kube-apiserver-admission");

  const auto result = Call(request);

  ASSERT_TRUE(result.ok()) << result.failure->message;
  EXPECT_EQ(result.response.body, "ok");
  EXPECT_EQ(result.address, "127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(seen,
            "POST /p?timeout=5s HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
                "\r\nUser-Agent: kube-apiserver-admission\r\nContent-Length: 2\r\n"
                "Accept-Encoding: gzip\r\n\r\n{}");
}

TEST_F(ClientTest, NobodyListening) {
  int port = 0;
  {
    port = RawServer([](RawPeer&, int) {}).port();
  }
  const auto request = Post(port);

  const auto result = Call(request);

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->phase, CallPhase::kConnect);
  EXPECT_EQ(result.failure->message, Prefix(request) + "dial tcp 127.0.0.1:" +
                                         std::to_string(port) + ": connect: connection refused");
}

TEST_F(ClientTest, UnknownHost) {
  ClientRequest request;
  request.url = "https://nobody.invalid/";

  const auto result = Call(request);

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->phase, CallPhase::kResolve);
  EXPECT_EQ(result.failure->cause.substr(0, 35), "dial tcp: lookup nobody.invalid on ");
}

TEST_F(ClientTest, TheResolveFunctionReplacesTheAddress) {
  const auto certificates = TestCertificates::Make();
  RawServer server(AnswerOk, certificates.serving);
  auto request = Secure(1, certificates.authority.certificate_pem);
  request.url = "https://localhost:443/p";
  std::string asked;
  request.resolve = [&](const std::string& host_port) -> base::Result<std::string> {
    asked = host_port;
    return "127.0.0.1:" + std::to_string(server.port());
  };
  EXPECT_TRUE(Call(request).ok());
  EXPECT_EQ(asked, "localhost:443");

  request.url = "https://svc.ns.svc:443/p?timeout=5s";
  request.resolve = [](const std::string&) -> base::Result<std::string> {
    return base::NotFound("service \"svc\" not found");
  };
  const auto result = Call(request);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->phase, CallPhase::kResolve);
  EXPECT_EQ(result.failure->message, Prefix(request) + "service \"svc\" not found");
}

TEST_F(ClientTest, AMalformedUrlIsRefused) {
  ClientRequest request;
  request.url = "https://a/%zz";
  EXPECT_EQ(Call(request).failure->message, R"(parse "https://a/%zz": invalid URL escape "%zz")");
  request.url = "ftp://a/";
  EXPECT_EQ(Call(request).failure->message,
            R"(Post "ftp://a/": unsupported protocol scheme "ftp")");
}

// What a name would be read as that is a user's.
TEST_F(ClientTest, HeadersThatWouldBeReadAsOthersAreNotSent) {
  RawServer server([](RawPeer& peer, int) { peer.ReadUntil("{}"); });
  for (const auto& [name, value, text] : std::vector<std::array<std::string, 3>>{
           {"X-Remote-User", "a\r\nX-Remote-Group: system:masters", "value for \"X-Remote-User\""},
           {"X-Remote-User", std::string("a\0", 2), "value for \"X-Remote-User\""},
           {"X-A", "\x7F", "value for \"X-A\""},
           {"X-A: b\r\nX-B", "c", "name \"X-A: b\\r\\nX-B\""},
           {"", "c", "name \"\""}}) {
    ClientRequest request = Post(server.port());
    request.headers.Add(name, value);
    EXPECT_EQ(Call(request).failure->cause, "net/http: invalid header field " + text);
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(ClientTest, AServerThatHangsUpIsCalledOnce) {
  RawServer server([](RawPeer& peer, int) { peer.ReadUntil("{}"); });
  const auto request = Post(server.port());

  const auto result = Call(request);

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->message, Prefix(request) + "EOF");
  EXPECT_EQ(result.failure->phase, CallPhase::kFirstByte);
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(ClientTest, AReset) {
  RawServer server([](RawPeer& peer, int) {
    peer.ReadUntil("{}");
    peer.Reset();
  });

  const auto result = Call(Post(server.port()));

  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(result.failure->cause.starts_with("read tcp 127.0.0.1:")) << result.failure->cause;
  // The socket does not know its peer any more.
  const std::string end = base::StrCat("->127.0.0.1:", std::to_string(server.port()),
                                       ": read: connection reset by peer");
  EXPECT_TRUE(result.failure->cause.ends_with(end)) << result.failure->cause;
}

TEST_F(ClientTest, GarbageAndBrokenAnswers) {
  struct Case {
    std::string_view answer, cause;
    CallPhase phase;
  };
  constexpr std::string_view kBroken = "net/http: HTTP/1.x transport connection broken: ";
  const Case cases[] = {
      {"\x15\x03nonsense\r\n\r\n", "malformed HTTP response \"\\x15\\x03nonsense\"",
       CallPhase::kFirstByte},
      {"HTTP/1.1 ok\r\n\r\n", "malformed HTTP status code \"ok\"", CallPhase::kFirstByte},
      {"SIP/2.00 200 OK\r\n\r\n", "malformed HTTP version \"SIP/2.00\"", CallPhase::kFirstByte},
      {"HTTP/1.1 200 OK\r\nA: b\r\nno colon\r\n\r\n",
       "malformed MIME header: missing colon: \"no colon\"", CallPhase::kFirstByte},
      {"HTTP/1.1 200 OK\r\nA b: c\r\n\r\n", "malformed MIME header line: A b: c",
       CallPhase::kFirstByte},
      {"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "bad Content-Length \"many\"",
       CallPhase::kFirstByte},
      {"HTTP/1.1 200 OK\r\nContent-", "unexpected EOF", CallPhase::kFirstByte},
      {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "unexpected EOF", CallPhase::kRead},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "unexpected EOF",
       CallPhase::kRead},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
       "invalid byte in chunk length", CallPhase::kRead},
      {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
       "gzip: invalid header", CallPhase::kDecode},
  };
  for (const auto& c : cases) {
    RawServer server([&](RawPeer& peer, int) {
      peer.ReadUntil("{}");
      peer.Send(c.answer);
    });
    const auto result = Call(Post(server.port()));
    ASSERT_FALSE(result.ok()) << c.answer;
    const bool in_head = c.phase == CallPhase::kFirstByte;
    EXPECT_EQ(result.failure->cause, std::string(in_head ? kBroken : "") + std::string(c.cause));
    EXPECT_EQ(result.failure->phase, c.phase) << c.answer;
  }
}

TEST_F(ClientTest, AHeadWithoutEndIsGivenUpAtTheLimit) {
  RawServer server([](RawPeer& peer, int) {
    peer.ReadUntil("{}");
    peer.Send("HTTP/1.1 200 OK\r\nA: " + std::string(11 << 20, 'a'));
  });
  const auto failed = Call(Post(server.port()));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.failure->cause,
            "net/http: HTTP/1.x transport connection broken: net/http: server response headers "
            "exceeded 10485760 bytes; aborted");

  RawServer long_one([](RawPeer& peer, int) {
    peer.ReadUntil("{}");
    peer.Send("HTTP/1.1 200 OK\r\nA: " + std::string(9 << 20, 'a') +
              "\r\nContent-Length: 2\r\n\r\nok");
  });
  EXPECT_EQ(Call(Post(long_one.port())).response.body, "ok");
}

TEST_F(ClientTest, TheEndOfTheConnectionCanEndTheBody) {
  RawServer server([](RawPeer& peer, int) {
    peer.ReadUntil("{}");
    peer.Send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nall of it");
  });

  EXPECT_EQ(Call(Post(server.port())).response.body, "all of it");
}

TEST_F(ClientTest, ATricklingAnswerMeetsTheDeadline) {
  RawServer server([](RawPeer& peer, int) {
    peer.ReadUntil("{}");
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nxx");
    peer.Read();
  });

  const auto result = Call(Post(server.port()), std::chrono::milliseconds(500));

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->message, "context deadline exceeded");
  EXPECT_EQ(result.failure->phase, CallPhase::kRead);
  EXPECT_TRUE(result.failure->timed_out);
}

TEST_F(ClientTest, ASilentServerMeetsTheDeadline) {
  RawServer server([](RawPeer& peer, int) { peer.ReadToEnd(); });
  const auto certificates = TestCertificates::Make();

  const auto plain = Post(server.port());
  const auto result = Call(plain, std::chrono::milliseconds(60));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->message, Prefix(plain) + "context deadline exceeded");
  EXPECT_GE(result.elapsed, std::chrono::milliseconds(59));

  const auto handshake = Call(Secure(server.port(), certificates.authority.certificate_pem),
                              std::chrono::milliseconds(60));
  ASSERT_FALSE(handshake.ok());
  EXPECT_EQ(handshake.failure->cause, "context deadline exceeded");
  EXPECT_EQ(handshake.failure->phase, CallPhase::kHandshake);

  const auto late = Call(plain, std::chrono::milliseconds(-1));
  EXPECT_EQ(late.failure->message, Prefix(plain) + "context deadline exceeded");
}

TEST_F(ClientTest, ReadsLargeAnswersUpToTheLimit) {
  const std::string piece(1 << 20, 'x');
  TestServer test([&](const std::shared_ptr<Exchange>& exchange) {
    exchange->Start({});
    for (int i = 0; i < 100; ++i) exchange->Write(piece);
    exchange->Finish();
  });
  auto request = test.Request("GET", "/");
  request.max_response_bytes = 100 << 20;
  const auto whole = test.Call(request);
  ASSERT_TRUE(whole.ok()) << whole.failure->message;
  EXPECT_EQ(whole.response.body.size(), std::size_t{100} << 20);

  request.max_response_bytes -= 1;
  const auto cut = test.Call(request);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.failure->cause, "response body is larger than 104857599 bytes");
}

TEST_F(ClientTest, DecompressesGzip) {
  const std::string plain(100000, 'a');
  const std::string packed = Gzip(plain);
  TestServer test([&](const std::shared_ptr<Exchange>& exchange) {
    Response response{.status = 200, .headers = {{"Content-Encoding", "gzip"}}};
    response.body = packed;
    exchange->Respond(std::move(response));
  });

  const auto result = test.Call(test.Request("GET", "/"));
  ASSERT_TRUE(result.ok()) << result.failure->message;
  EXPECT_EQ(result.response.body, plain);
  EXPECT_FALSE(result.response.headers.Has("Content-Encoding"));

  auto limited = test.Request("GET", "/");
  limited.max_response_bytes = 5000;
  const auto cut = test.Call(limited);
  EXPECT_EQ(cut.failure->phase, CallPhase::kDecode);
  EXPECT_EQ(cut.failure->cause, "response body is larger than 5000 bytes");
  EXPECT_TRUE(cut.failure->too_large);
}

// A body of gzip members, each of `plain`, that never ends: its server sends until it is cut off.
void SendGzipForEver(RawPeer& peer, const std::string& member) {
  peer.ReadUntil("{}");
  peer.Send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n");
  while (peer.Send(member)) {
  }
}

TEST_F(ClientTest, StopsReadingAGzipBombAtTheLimit) {
  const std::string member = Gzip(std::string(64 << 20, ' '));
  RawServer server([&](RawPeer& peer, int) { SendGzipForEver(peer, member); });
  auto request = Post(server.port());
  request.max_response_bytes = 3 << 20;

  const auto result = Call(request);

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->cause, "response body is larger than 3145728 bytes");
  EXPECT_LT(result.response.body.size(), std::size_t{4} << 20) << "the rest is not inflated";
}

TEST_F(ClientTest, AnEndlessGzipBodyMeetsTheDeadline) {
  const std::string member = Gzip("");  // inflates to nothing: no limit is ever reached
  RawServer server([&](RawPeer& peer, int) { SendGzipForEver(peer, member); });

  const auto result = Call(Post(server.port()), std::chrono::milliseconds(200));

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->cause, "context deadline exceeded");
}

TEST_F(ClientTest, CountsTheCompressedFormToo) {
  const std::string member = Gzip("");
  RawServer server([&](RawPeer& peer, int) { SendGzipForEver(peer, member); });
  auto request = Post(server.port());
  request.max_response_bytes = 1 << 20;

  const auto result = Call(request);

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->cause, "response body is larger than 1048576 bytes");
  EXPECT_EQ(result.failure->phase, CallPhase::kRead);
}

TEST_F(ClientTest, WordsDamagedGzipAsGoDoes) {
  const std::string good = Gzip("{\"a\":1}");
  std::string bad_sum = good;
  bad_sum[good.size() - 5] ^= 1;
  const std::pair<std::string, std::string_view> cases[] = {
      {good + "garbage", "gzip: invalid header"},
      {good.substr(0, good.size() - 3), "unexpected EOF"},
      {good.substr(0, 5), "unexpected EOF"},
      {bad_sum, "gzip: invalid checksum"},
  };
  for (const auto& [body, cause] : cases) {
    RawServer server([&body = body](RawPeer& peer, int) {
      peer.ReadUntil("{}");
      peer.Send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
    });
    const auto result = Call(Post(server.port()));
    ASSERT_FALSE(result.ok()) << cause;
    EXPECT_EQ(result.failure->cause, cause);
    EXPECT_EQ(result.failure->phase, CallPhase::kDecode);
  }
}

TEST_F(ClientTest, GivesUpOnBytesThatAreNoBody) {
  const std::pair<std::string, std::string_view> cases[] = {
      {"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n",
       "net/http: too many 1xx informational responses"},
      {"1;" + std::string(1000, 'x') + "\r\n \r\n", "chunked encoding contains too much non-data"},
      {std::string(1000, '1'), "header line too long"},
  };
  for (const auto& [piece, cause] : cases) {
    RawServer server([&piece = piece](RawPeer& peer, int) {
      peer.ReadUntil("{}");
      if (!piece.starts_with("HTTP")) {
        peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      }
      std::string pieces;
      for (int i = 0; i < 100; ++i) pieces += piece;
      while (peer.Send(pieces)) {
      }
    });
    const auto result = Call(Post(server.port()));
    ASSERT_FALSE(result.ok()) << cause;
    EXPECT_EQ(result.failure->cause, cause);
  }
}

TEST_F(ClientTest, FollowsRedirectsWhenAsked) {
  std::atomic<int> loops{0};
  TestServer test([&loops](const std::shared_ptr<Exchange>& exchange) {
    const auto& request = exchange->request();
    Response response;
    if (request.path() == "/see-other") {
      response = {.status = 303, .headers = {{"Location", "/target"}}};
    } else if (request.path() == "/again") {
      response = {.status = 307, .headers = {{"Location", "target?x"}}};
    } else if (request.path() == "/loop") {
      ++loops;
      response = {.status = 302, .headers = {{"Location", "/loop"}}};
    } else {
      response.body = request.method + " " + request.target + " " + request.body;
    }
    exchange->Respond(std::move(response));
  });
  const auto call = [&](std::string_view target, int max) {
    auto request = test.Request("POST", target, "body");
    request.max_redirects = max;
    return test.Call(request);
  };

  EXPECT_EQ(call("/see-other", 10).response.body, "GET /target ");
  EXPECT_EQ(call("/again", 10).response.body, "POST /target?x body");
  EXPECT_EQ(call("/again", 0).response.status, 307);
  loops = 0;
  EXPECT_EQ(call("/loop", 10).failure->message, "Post \"/loop\": stopped after 10 redirects");
  EXPECT_EQ(loops, 10) << "Go counts requests, the first one too";
}

// What Begin comes to.
struct Outcome {
  HttpsClient::Done Take() {
    return [this](CallResult got) {
      result = std::move(got);
      over.Set();
    };
  }
  CallResult result;
  testing::Signal over;
};

TEST_F(ClientTest, ACallCanBeCancelled) {
  RawServer server([](RawPeer& peer, int) { peer.ReadToEnd(); });
  const auto request = Post(server.port());
  Outcome outcome;
  const auto call = client_->Begin(request, TestServer::Soon(), outcome.Take());

  call->Cancel();

  ASSERT_TRUE(outcome.over.Wait());
  ASSERT_FALSE(outcome.result.ok());
  EXPECT_TRUE(outcome.result.failure->cancelled);
  EXPECT_EQ(outcome.result.failure->message, Prefix(request) + "context canceled");
}

TEST_F(ClientTest, DestroyingTheClientEndsItsCalls) {
  RawServer server([](RawPeer& peer, int) { peer.ReadToEnd(); });
  Outcome outcome;
  client_->Begin(Post(server.port()), TestServer::Soon(), outcome.Take());

  client_.reset();

  ASSERT_TRUE(outcome.over.Wait());
  EXPECT_FALSE(outcome.result.ok());
}

TEST_F(ClientTest, ReportsToACallback) {
  RawServer server(AnswerOk);
  testing::Signal done;
  std::string body;
  client_->Begin(Post(server.port()), TestServer::Soon(), [&](CallResult result) {
    body = result.response.body;
    done.Set();
  });

  ASSERT_TRUE(done.Wait());
  EXPECT_EQ(body, "ok");
  client_.reset();
}

TEST_F(ClientTest, PassesOnTheHeadBeforeThereIsABody) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  testing::Signal head_came;
  auto request = test.Request("GET", "/watch");
  request.on_data = [&](const ResponseHead& head, std::string_view piece) {
    EXPECT_EQ(head.status, 201);
    EXPECT_EQ(piece, "");
    head_came.Set();
  };
  Outcome outcome;
  test.client->Begin(request, TestServer::Soon(), outcome.Take());
  auto exchange = queue.Take();
  exchange->Start({201, {}});
  EXPECT_TRUE(head_came.Wait());
  exchange->Finish();
  ASSERT_TRUE(outcome.over.Wait());
}

TEST_F(ClientTest, PassesOnPiecesAsTheyCome) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  testing::Signal first;
  std::string all;
  auto request = test.Request("GET", "/watch");
  request.on_data = [&](const ResponseHead& head, std::string_view piece) {
    EXPECT_EQ(head.status, 200);
    all += piece;
    first.Set();
  };
  Outcome outcome;
  test.client->Begin(request, TestServer::Soon(), outcome.Take());
  auto exchange = queue.Take();
  exchange->Write("one\n");
  ASSERT_TRUE(first.Wait());
  exchange->Write("two\n");
  exchange->Finish();

  ASSERT_TRUE(outcome.over.Wait());
  EXPECT_TRUE(outcome.result.ok());
  EXPECT_EQ(all, "one\ntwo\n");
}

}  // namespace
}  // namespace portcullis::net
