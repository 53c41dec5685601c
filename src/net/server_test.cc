// SPDX-License-Identifier: Apache-2.0

#include "net/server.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <thread>

#include "base/strings.h"
#include "net/testing/test_server.h"

namespace portcullis::net {
namespace {

using testing::Echo;
using testing::ExchangeQueue;
using testing::RawPeer;
using testing::Signal;
using testing::TestServer;

std::size_t Count(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(ServerTest, AnswersARequestOverTls) {
  TestServer test(Echo);

  const auto result = test.Call(test.Request("POST", "/a?b=c", "hello"));

  ASSERT_TRUE(result.ok()) << result.failure->message;
  EXPECT_EQ(result.response.status, 200);
  EXPECT_EQ(result.response.body, "POST /a?b=c\nhello");
  EXPECT_EQ(result.response.headers.Get("Content-Type"), "text/plain");
  EXPECT_TRUE(result.response.headers.Has("Date"));
}

TEST(ServerTest, AnswersAtASecondAddress) {
  TestServer server(Echo, {.address = "127.0.0.1:0"}, false);
  const std::string port = std::to_string(server.server->port());
  ASSERT_TRUE(server.server->AlsoListen("127.0.0.2:" + port).ok());
  EXPECT_FALSE(server.server->AlsoListen("127.0.0.2:" + port).ok());
  for (const char* address : {"127.0.0.1", "127.0.0.2"}) {
    ClientRequest request = server.Request("GET", "/x");
    request.url = std::string("http://") + address + ":" + port + "/x";
    const CallResult result = server.Call(std::move(request));
    ASSERT_TRUE(result.ok()) << address;
  }
}

TEST(ServerTest, AnswersFromAnotherThread) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  std::thread worker([&] {
    for (int i = 0; i < 20; ++i) Echo(queue.Take());
  });

  for (int i = 0; i < 20; ++i) {
    const auto result = test.Call(test.Request("GET", "/" + std::to_string(i)));
    EXPECT_EQ(result.response.body, "GET /" + std::to_string(i) + "\n");
  }
  worker.join();
  EXPECT_EQ(test.server->counters().accepted, 1U);
}

TEST(ServerTest, AnswersPipelinedRequestsInOrder) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); }, {},
                  false);
  auto peer = RawPeer::Connect(test.server->port());
  peer->Send(
      "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"
      "GET /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");

  for (int i = 0; i < 3; ++i) Echo(queue.Take());
  const auto all = peer->ReadToEnd();

  EXPECT_EQ(Count(all, "HTTP/1.1 200 OK"), 3U) << all;
  EXPECT_LT(all.find("GET /1"), all.find("POST /2\nhi"));
  EXPECT_LT(all.find("POST /2\nhi"), all.find("GET /3"));
  EXPECT_EQ(Count(all, "Connection: close"), 1U);
}

TEST(ServerTest, ReadsARequestThatComesByteByByte) {
  TestServer test(Echo);
  auto peer = RawPeer::ConnectTls(test.server->port(), {});
  ASSERT_TRUE(peer);

  for (const char c : std::string_view("PUT /slow HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
                                       "chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: r\r\n"
                                       "\r\n")) {
    peer->Send(std::string_view(&c, 1));
  }

  EXPECT_NE(peer->ReadUntil("abcde").find("PUT /slow\nabcde"), std::string::npos);
}

TEST(ServerTest, SendsAndReceivesLargeBodies) {
  ServerOptions options;
  options.max_body_bytes = [](const Request&) { return std::size_t{64} << 20; };
  TestServer test(Echo, std::move(options));
  const std::string big(20 << 20, 'x');

  const auto result = test.Call(test.Request("POST", "/", big));

  ASSERT_TRUE(result.ok()) << result.failure->message;
  EXPECT_EQ(result.response.body.size(), big.size() + 7);
}

TEST(ServerTest, TellsTheHandlerThatABodyIsTooLarge) {
  ServerOptions options;
  options.max_body_bytes = [](const Request& head) {
    return head.target == "/large" ? std::size_t{1000} : std::size_t{10};
  };
  TestServer test(
      [](const std::shared_ptr<Exchange>& exchange) {
        exchange->Respond({.status = exchange->body_too_large() ? 413 : 200});
      },
      std::move(options));

  EXPECT_EQ(test.Call(test.Request("POST", "/small", "0123456789")).response.status, 200);
  EXPECT_EQ(test.Call(test.Request("POST", "/small", "0123456789a")).response.status, 413);
  EXPECT_EQ(test.Call(test.Request("POST", "/large", "0123456789a")).response.status, 200);

  auto peer = RawPeer::ConnectTls(test.server->port(), {});
  peer->Send("POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  peer->Send("ff\r\n" + std::string(255, 'x') + "\r\n");
  const auto answer = peer->ReadToEnd();
  EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 413");
  EXPECT_EQ(Count(answer, "Connection: close"), 1U);
}

TEST(ServerTest, AClientStillSendingALargeBodyReadsTheAnswer) {
  TestServer test([](const std::shared_ptr<Exchange>& exchange) {
    exchange->Respond({.status = exchange->body_too_large() ? 413 : 200});
  });

  const auto result = test.Call(test.Request("POST", "/", std::string(8 << 20, 'x')));

  ASSERT_TRUE(result.ok()) << result.failure->message;
  EXPECT_EQ(result.response.status, 413);
}

struct BadInput {
  std::string_view bytes, answer;
};
constexpr BadInput kBadInputs[] = {
    {"nonsense\r\n\r\n", "HTTP/1.1 400 Bad Request"},
    {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request: missing required Host header\r\n"},
    {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "HTTP/1.1 400 Bad Request: malformed Host header\r\n"},
    {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
    {"GET /a%zz HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
    {"GET a/b HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
    {"GET / HTTP/x.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
    {"GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n", "HTTP/1.1 400 Bad Request"},
    {"GET / HTTP/3.7\r\nHost: a\r\n\r\n",
     "HTTP/1.1 505 HTTP Version Not Supported: unsupported protocol version\r\n"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
     "HTTP/1.1 400 Bad Request"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 400 Bad Request"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n",
     "Connection: close\r\n\r\nUnsupported transfer encoding"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
     "Connection: close\r\n\r\nUnsupported transfer encoding"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
     "HTTP/1.1 400 Bad Request"},
};

TEST(ServerTest, RefusesMalformedRequestsAndCloses) {
  TestServer test(Echo, {}, false);
  for (const auto& bad : kBadInputs) {
    auto peer = RawPeer::Connect(test.server->port());
    peer->Send(bad.bytes);
    const auto answer = peer->ReadToEnd();
    EXPECT_NE(answer.find(bad.answer), std::string::npos) << bad.bytes << "\n-> " << answer;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  }
}

TEST(ServerTest, JudgesHeadsAsGoDoes) {
  TestServer test(Echo, {}, false);
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2, 2\r\n\r\nhi", "HTTP/1.1 400 "},
      {"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: +2\r\n\r\nhi", "HTTP/1.1 400 "},
      {"\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 "},
      {"GET /x HTTP/1.1\r\nHost: a\r\nExpect: the-unexpected\r\n\r\n",
       "HTTP/1.1 417 Expectation Failed\r\n"},
      {"OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 OK\r\n"},
  };
  for (const auto& [request, expected] : cases) {
    auto peer = RawPeer::Connect(test.server->port());
    peer->Send(request);
    const auto answer = peer->ReadToEnd();
    EXPECT_TRUE(answer.starts_with(expected)) << request << answer;
    EXPECT_EQ(answer.find("/x"), std::string::npos) << "the handler was asked: " << answer;
  }
}

// A proxy may count the body in another way than a server that did: so what follows is not read.
TEST(ServerTest, DoesNotKnowChunksInHttp10) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); }, {},
                  false);
  auto peer = RawPeer::Connect(test.server->port());
  peer->Send(
      "POST /x HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n0\r\n\r\n");

  const auto exchange = queue.Take();
  EXPECT_EQ(exchange->request().body, "");
  Echo(exchange);
  const auto answer = peer->ReadToEnd();  // which ends with the connection
  EXPECT_TRUE(answer.starts_with("HTTP/1.0 200 OK\r\n")) << answer;
  EXPECT_EQ(answer.find("Connection: "), std::string::npos);
  EXPECT_EQ(test.server->counters().open_exchanges, 0U);
}

TEST(ServerTest, RefusesHeadsThatAreTooLarge) {
  ServerOptions options;
  options.max_header_bytes = 4096;
  TestServer test(Echo, std::move(options), false);
  auto peer = RawPeer::Connect(test.server->port());

  peer->Send("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(5000, 'x'));

  EXPECT_EQ(peer->ReadToEnd().substr(0, 44), "HTTP/1.1 431 Request Header Fields Too Large");
}

TEST(ServerTest, AnswersPlainHttpOnTheTlsPortAsGoDoes) {
  TestServer test(Echo);
  auto peer = RawPeer::Connect(test.server->port());

  peer->Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");

  EXPECT_EQ(peer->ReadToEnd(),
            "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
}

TEST(ServerTest, SurvivesGarbageOnTheTlsPort) {
  TestServer test(Echo);
  for (const auto& garbage :
       {std::string("\x16\x03\x01\xff\xff garbage"), std::string(100000, '\0'), std::string("x")}) {
    auto peer = RawPeer::Connect(test.server->port());
    peer->Send(garbage);
    peer->ShutdownWrite();
    peer->ReadToEnd();
  }
  EXPECT_EQ(test.Call(test.Request("GET", "/")).response.status, 200);
  EXPECT_GE(test.server->counters().tls_errors, 3U);
}

TEST(ServerTest, RefusesOldTlsVersions) {
  TestServer test(Echo);
  std::string error;

  EXPECT_FALSE(RawPeer::ConnectTls(
      test.server->port(), {.max_version = TLS1_1_VERSION, .min_version = TLS1_VERSION}, &error));
  EXPECT_EQ(error, "remote error: tls: protocol version not supported");
  EXPECT_TRUE(RawPeer::ConnectTls(test.server->port(), {.max_version = TLS1_2_VERSION}));
}

TEST(ServerTest, DropsSlowClients) {
  ServerOptions options;
  options.header_timeout = std::chrono::milliseconds(80);
  options.body_timeout = std::chrono::milliseconds(80);
  options.idle_timeout = std::chrono::milliseconds(80);
  TestServer test(Echo, std::move(options), false);

  auto silent = RawPeer::Connect(test.server->port());
  auto slow_head = RawPeer::Connect(test.server->port());
  slow_head->Send("GET / HT");
  auto slow_body = RawPeer::Connect(test.server->port());
  slow_body->Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
  auto idle = RawPeer::Connect(test.server->port());
  idle->Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");

  EXPECT_EQ(silent->ReadToEnd(), "");
  EXPECT_EQ(slow_head->ReadToEnd(), "");
  EXPECT_EQ(slow_body->ReadToEnd().substr(0, 28), "HTTP/1.1 408 Request Timeout");
  EXPECT_EQ(Count(idle->ReadToEnd(), "200 OK"), 1U);
}

TEST(ServerTest, DropsSilentClientsOfTheTlsPort) {
  ServerOptions options;
  options.header_timeout = std::chrono::milliseconds(60);
  TestServer test(Echo, std::move(options));
  auto peer = RawPeer::Connect(test.server->port());

  EXPECT_EQ(peer->ReadToEnd(), "");
}

TEST(ServerTest, StreamsInChunks) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  auto peer = RawPeer::ConnectTls(test.server->port(), {});
  peer->Send("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
  auto exchange = queue.Take();

  exchange->Start({.status = 200, .headers = {{"Content-Type", "application/json"}}});
  const auto head = peer->ReadUntil("\r\n\r\n");
  exchange->Write("first\n");
  EXPECT_EQ(peer->ReadUntil("first\n\r\n"), "6\r\nfirst\n\r\n");
  exchange->Write(std::make_shared<const std::string>("second\n"));
  EXPECT_EQ(peer->ReadUntil("second\n\r\n"), "7\r\nsecond\n\r\n");
  exchange->Finish();
  EXPECT_EQ(peer->ReadUntil("0\r\n\r\n"), "0\r\n\r\n");

  EXPECT_NE(head.find("Transfer-Encoding: chunked"), std::string::npos) << head;
  peer->Send("GET /again HTTP/1.1\r\nHost: a\r\n\r\n");
  Echo(queue.Take());
  EXPECT_NE(peer->ReadUntil("/again\n").find("GET /again"), std::string::npos);
}

TEST(ServerTest, ASlowReaderIsSeenInTheBufferedBytes) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  auto peer = RawPeer::ConnectTls(test.server->port(), {});
  peer->Send("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
  auto exchange = queue.Take();
  exchange->Start({});
  constexpr std::size_t kTotal = 32 << 20;
  for (std::size_t sent = 0; sent < kTotal; sent += 1 << 20) {
    exchange->Write(std::string(1 << 20, 'x'));
  }
  EXPECT_GT(exchange->buffered_bytes(), std::size_t{8} << 20);
  Signal drained;
  exchange->OnDrained([&] { drained.Set(); });

  std::size_t got = 0;
  while (got < kTotal) {
    const auto piece = peer->Read();
    if (piece.empty()) break;
    got += piece.size();
  }

  EXPECT_TRUE(drained.Wait());
  EXPECT_EQ(exchange->buffered_bytes(), 0U);
  exchange->Finish();
}

TEST(ServerTest, TheHandlerLearnsThatTheClientHasGone) {
  for (const bool with_tls : {true, false}) {
    ExchangeQueue queue;
    TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); },
                    {}, with_tls);
    auto peer = with_tls ? RawPeer::ConnectTls(test.server->port(), {})
                         : RawPeer::Connect(test.server->port());
    peer->Send("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
    auto exchange = queue.Take();
    Signal gone;
    exchange->OnClosed([&] { gone.Set(); });
    EXPECT_FALSE(exchange->closed());

    peer.reset();

    EXPECT_TRUE(gone.Wait());
    EXPECT_TRUE(exchange->closed());
    exchange->Respond({});
  }
}

TEST(ServerTest, ADroppedExchangeResetsTheConnection) {
  TestServer test([](const std::shared_ptr<Exchange>&) {});

  const auto result = test.Call(test.Request("POST", "/"));

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->cause, "EOF");
}

TEST(ServerTest, AnAbortedAnswerIsNoticed) {
  TestServer test([](const std::shared_ptr<Exchange>& exchange) {
    exchange->Start({});
    exchange->Write("half");
    exchange->Abort();
  });

  const auto result = test.Call(test.Request("GET", "/"));

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->cause, "unexpected EOF");
  EXPECT_EQ(result.failure->message, "unexpected EOF");
  EXPECT_EQ(result.failure->phase, CallPhase::kRead);
}

TEST(ServerTest, HeadHasNoBody) {
  TestServer test(Echo, {}, false);
  auto peer = RawPeer::Connect(test.server->port());

  peer->Send("HEAD /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");

  const auto answer = peer->ReadToEnd();
  EXPECT_NE(answer.find("Content-Length: 8\r\n"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST(ServerTest, HeadOfAnEmptyAnswerHasNoLength) {
  TestServer test([](const auto& exchange) { exchange->Respond({}); }, {}, false);
  for (const auto& [method, has_length] : {std::pair{"HEAD", false}, {"GET", true}}) {
    auto peer = RawPeer::Connect(test.server->port());
    peer->Send(base::StrCat(method, " /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));

    const auto answer = peer->ReadToEnd();
    EXPECT_EQ(answer.find("Content-Length") != std::string::npos, has_length) << answer;
  }
}

TEST(ServerTest, AsksForTheBodyWithContinue) {
  TestServer test(Echo, {}, false);
  auto peer = RawPeer::Connect(test.server->port());
  peer->Send("POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(peer->ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");

  peer->Send("hi");

  EXPECT_NE(peer->ReadUntil("hi").find("POST /x\nhi"), std::string::npos);
}

TEST(ServerTest, SpeaksHttp10) {
  TestServer test(Echo, {}, false);
  auto peer = RawPeer::Connect(test.server->port());

  peer->Send("GET /old HTTP/1.0\r\n\r\n");

  const auto answer = peer->ReadToEnd();
  EXPECT_TRUE(answer.starts_with("HTTP/1.0 200 OK\r\n"));
  EXPECT_TRUE(answer.ends_with("GET /old\n"));
}

TEST(ServerTest, AHeaderValueCannotStartALine) {
  TestServer test(
      [](const std::shared_ptr<Exchange>& exchange) {
        exchange->Respond({.status = 200, .headers = {{"X", "a\r\nInjected: b"}}});
      },
      {}, false);
  auto peer = RawPeer::Connect(test.server->port());

  peer->Send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");

  EXPECT_NE(peer->ReadToEnd().find("X: a  Injected: b\r\n"), std::string::npos);
}

TEST(ServerTest, JudgesClientCertificates) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) {
    Echo(exchange);
    queue.Push(std::move(exchange));
  });
  const auto now = base::SystemClock().Now();
  const pki::CertificateRequest alice{
      .common_name = "alice", .organizations = {"dev", "ops"}, .client = true};
  const auto call = [&](const pki::KeyPair& pair) {
    auto request = test.Request("GET", "/");
    request.tls = ClientTls::Create({.ca_pem = test.certificates.authority.certificate_pem,
                                     .certificate_pem = pair.certificate_pem,
                                     .key_pem = pair.key_pem})
                      .value();
    EXPECT_TRUE(test.Call(request).ok());
    return queue.Take()->client_certificate();
  };

  const auto good = call(Issue(test.certificates.authority, alice, now).value());
  ASSERT_TRUE(good);
  EXPECT_EQ(good->error, "");
  EXPECT_EQ(good->common_name, "alice");
  EXPECT_EQ(good->organizations, (std::vector<std::string>{"dev", "ops"}));
  EXPECT_EQ(good->chain.size(), 1U);
  EXPECT_EQ(good->sha256.size(), 64U);

  const auto stranger = pki::MakeAuthority("stranger", now).value();
  EXPECT_EQ(call(Issue(stranger, alice, now).value())->error,
            "x509: certificate signed by unknown authority");
  const pki::CertificateRequest serving{.common_name = "alice", .server = true};
  EXPECT_EQ(call(Issue(test.certificates.authority, serving, now).value())->error,
            "x509: certificate specifies an incompatible key usage");
  const auto expired =
      Issue(test.certificates.authority, alice, now - std::chrono::hours(24 * 400)).value();
  EXPECT_EQ(call(expired)->error.substr(0, 63),
            "x509: certificate has expired or is not yet valid: current time");

  EXPECT_TRUE(test.Call(test.Request("GET", "/")).ok());
  EXPECT_EQ(queue.Take()->client_certificate(), nullptr);
}

TEST(ServerTest, CanRequireAClientCertificate) {
  TestServer test(Echo, {}, true, ClientCertificates::kRequire);

  const auto result = test.Call(test.Request("GET", "/"));

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->cause, "remote error: tls: certificate required");
}

TEST(ServerTest, UsesTheNewCertificateForNewConnections) {
  TestServer test(Echo);
  const auto before = RawPeer::ConnectTls(test.server->port(), {})->PeerCertificate();
  const auto fresh = testing::TestCertificates::Make();

  test.server->SetTls(
      ServerTls::Create({.certificate = {fresh.serving.certificate_pem, fresh.serving.key_pem, {}}})
          .value());

  EXPECT_EQ(RawPeer::ConnectTls(test.server->port(), {})->PeerCertificate(),
            fresh.serving.certificate_pem);
  EXPECT_NE(before, fresh.serving.certificate_pem);
}

TEST(ServerTest, ChoosesTheCertificateByName) {
  const auto now = base::SystemClock().Now();
  const auto ca = pki::MakeAuthority("ca", now).value();
  const auto issue = [&](std::string name) {
    return Issue(ca, {.common_name = name, .dns_names = {name}, .server = true}, now).value();
  };
  const auto base_pair = issue("base");
  const auto other = issue("other.example");
  IoThreads io;
  ServerOptions options;
  options.tls =
      ServerTls::Create({.certificate = {base_pair.certificate_pem, base_pair.key_pem, {}},
                         .sni = {{other.certificate_pem, other.key_pem, {}},
                                 {other.certificate_pem, other.key_pem, {"*.wild"}}}})
          .value();
  auto server = HttpsServer::Listen(io, options, Echo).value();
  const auto seen = [&](std::string name) {
    return pki::ParseCertificates(
               RawPeer::ConnectTls(server->port(), {.server_name = name})->PeerCertificate())
        .value()[0]
        .common_name;
  };

  EXPECT_EQ(seen("other.example"), "other.example");
  EXPECT_EQ(seen("a.wild"), "other.example");
  EXPECT_EQ(seen("unknown"), "base");
}

TEST(ServerTest, SaysWhyItCannotListen) {
  TestServer test(Echo);
  ServerOptions options;
  options.address = test.server->address();

  const auto second = HttpsServer::Listen(test.io, options, Echo);

  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().message(),
            "listen tcp " + test.server->address() + ": bind: address already in use");
}

TEST(ServerTest, ShutdownLetsRunningExchangesFinish) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  auto idle = RawPeer::ConnectTls(test.server->port(), {});
  auto busy = RawPeer::ConnectTls(test.server->port(), {});
  busy->Send("GET /last HTTP/1.1\r\nHost: a\r\n\r\n");
  auto exchange = queue.Take();

  std::thread stopper([&] { EXPECT_TRUE(test.server->Shutdown(std::chrono::seconds(10))); });
  EXPECT_EQ(idle->ReadToEnd(), "");
  EXPECT_FALSE(RawPeer::ConnectTls(test.server->port(), {}));
  Echo(exchange);
  const auto answer = busy->ReadToEnd();
  stopper.join();

  EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
  EXPECT_NE(answer.find("GET /last"), std::string::npos);
  EXPECT_EQ(test.server->counters().open_connections, 0U);
}

TEST(ServerTest, ShutdownCutsOffWhatTakesTooLong) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  auto busy = RawPeer::ConnectTls(test.server->port(), {});
  busy->Send("GET /last HTTP/1.1\r\nHost: a\r\n\r\n");
  auto exchange = queue.Take();

  EXPECT_FALSE(test.server->Shutdown(std::chrono::milliseconds(20)));

  EXPECT_EQ(busy->ReadToEnd(), "");
  EXPECT_TRUE(exchange->closed());
  exchange->Respond({});
}

TEST(ServerTest, AnExchangeMayOutliveTheServer) {
  ExchangeQueue queue;
  std::shared_ptr<Exchange> exchange;
  {
    TestServer test([&](std::shared_ptr<Exchange> e) { queue.Push(std::move(e)); });
    auto peer = RawPeer::ConnectTls(test.server->port(), {});
    peer->Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    exchange = queue.Take();
  }
  exchange->Write("late");
  exchange->Respond({});
}

}  // namespace
}  // namespace portcullis::net
