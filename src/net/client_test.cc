#include "net/client.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <zlib.h>

#include <thread>

#include "net/testing/test_server.h"

namespace portcullis::net {
namespace {

using testing::Echo;
using testing::ExchangeQueue;
using testing::RawPeer;
using testing::RawServer;
using testing::TestCertificates;
using testing::TestServer;

constexpr std::string_view kOk =
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\nok";

// A client and scripted servers.
class ClientTest : public ::testing::Test {
 protected:
  ClientRequest Post(int port, std::string scheme = "http") {
    ClientRequest request;
    request.url = scheme + "://127.0.0.1:" + std::to_string(port) + "/p?timeout=5s";
    request.body = std::make_shared<const std::string>("{}");
    return request;
  }
  ClientRequest Secure(int port, const std::string& ca_pem) {
    auto request = Post(port, "https");
    request.tls = ClientTls::Create({.ca_pem = ca_pem}).value();
    return request;
  }
  CallResult Call(ClientRequest request,
                  std::chrono::milliseconds limit = std::chrono::seconds(10)) {
    return client_->Call(std::move(request), TestServer::Soon(limit));
  }
  static std::string Prefix(const ClientRequest& request) {
    return "Post \"" + request.url + "\": ";
  }

  IoThreads io_{2};
  std::unique_ptr<HttpsClient> client_ = HttpsClient::Create(io_);
};

void AnswerOk(RawPeer& peer, int) {
  while (!peer.ReadUntil("{}").empty()) peer.Send(kOk);
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
  EXPECT_TRUE(result.failure->cause.ends_with(": read: connection reset by peer"));
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

TEST_F(ClientTest, AsksTheProxyToLeadOn) {
  const auto certificates = TestCertificates::Make();
  std::string asked;
  std::string answer = "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
  RawServer proxy([&](RawPeer& peer, int) {
    asked = peer.ReadUntil("\r\n\r\n");
    peer.Send(answer);
    if (answer.find(" 200 ") == std::string::npos) return;
    peer.Read();  // the client's hello
    peer.Send("no TLS at all");
  });
  ClientOptions options;
  options.proxies = std::make_shared<const ProxyRules>(
      ProxySettings{"http://u:p%40@127.0.0.1:" + std::to_string(proxy.port()), ""});
  const auto client = HttpsClient::Create(io_, options);
  ClientRequest request = Secure(1, certificates.authority.certificate_pem);
  request.url = "https://hook.example:8443/x";
  request.resolve = [](const std::string&) -> base::Result<std::string> {
    return base::BadRequest("not asked when there is a proxy");
  };
  const auto call = [&] { return client->Call(request, TestServer::Soon()).failure->message; };

  EXPECT_EQ(call(), "Post \"https://hook.example:8443/x\": Proxy Authentication Required");
  EXPECT_EQ(asked,
            "CONNECT hook.example:8443 HTTP/1.1\r\nHost: hook.example:8443\r\n"
            "Proxy-Authorization: Basic dTpwQA==\r\n\r\n");
  answer = "garbage\r\n\r\n";
  EXPECT_EQ(call(), "Post \"https://hook.example:8443/x\": malformed HTTP response \"garbage\"");
  answer = "HTTP/1.1 200 Connection established\r\n\r\n";
  EXPECT_EQ(call(),
            "Post \"https://hook.example:8443/x\": tls: first record does not look like a TLS "
            "handshake");
  answer.clear();
  EXPECT_EQ(call(), "Post \"https://hook.example:8443/x\": unexpected EOF");

  options.proxies = std::make_shared<const ProxyRules>(ProxySettings{"http://127.0.0.1:1", ""});
  const auto nowhere = HttpsClient::Create(io_, options);
  EXPECT_EQ(nowhere->Call(request, TestServer::Soon()).failure->cause,
            "proxyconnect tcp: dial tcp 127.0.0.1:1: connect: connection refused");
  request.url = "https://127.0.0.1:1/";
  request.resolve = nullptr;
  EXPECT_EQ(nowhere->Call(request, TestServer::Soon()).failure->cause,
            "dial tcp 127.0.0.1:1: connect: connection refused");
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

  const auto result = Call(Post(server.port()), std::chrono::milliseconds(60));

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

TEST_F(ClientTest, AHandshakeThatTakesTooLong) {
  RawServer server([](RawPeer& peer, int) { peer.ReadToEnd(); });
  const auto certificates = TestCertificates::Make();
  ClientOptions options;
  options.handshake_timeout = std::chrono::milliseconds(50);
  auto client = HttpsClient::Create(io_, options);

  const auto result = client->Call(Secure(server.port(), certificates.authority.certificate_pem),
                                   TestServer::Soon());

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->cause, "net/http: TLS handshake timeout");
  EXPECT_FALSE(result.failure->timed_out);
}

TEST_F(ClientTest, HandshakeFailuresReadAsInGo) {
  const auto now = base::SystemClock().Now();
  const auto certificates = TestCertificates::Make();
  const auto& ca = certificates.authority;
  const auto call = [&](const KeyPair& serving, const std::string& ca_pem) {
    RawServer server(AnswerOk, serving);
    const auto result = Call(Secure(server.port(), ca_pem));
    return result.ok() ? "" : result.failure->cause;
  };
  const std::string prefix = "tls: failed to verify certificate: ";
  const std::string verify = prefix + "x509: ";

  EXPECT_EQ(call(certificates.serving, ca.certificate_pem), "");

  const auto other = MakeAuthority("other", now).value();
  EXPECT_EQ(call(certificates.serving, other.certificate_pem),
            verify + "certificate signed by unknown authority");
  EXPECT_EQ(call(certificates.serving, ""), verify + "certificate signed by unknown authority");

  const auto namesake = MakeAuthority("test-ca", now).value();
  EXPECT_EQ(call(certificates.serving, namesake.certificate_pem),
            verify +
                "certificate signed by unknown authority (possibly because of \"x509: ECDSA "
                "verification failure\" while trying to verify candidate authority "
                "certificate \"test-ca\")");

  const CertificateRequest loopback{
      .common_name = "x", .ip_addresses = {"127.0.0.1"}, .server = true, .valid_days = 1};
  const auto expired = Issue(ca, loopback, now - std::chrono::hours(48)).value();
  const auto expired_text = call(expired, ca.certificate_pem);
  EXPECT_EQ(expired_text.substr(0, 99),
            verify + "certificate has expired or is not yet valid: current time ")
      << expired_text;
  EXPECT_NE(expired_text.find("Z is after 20"), std::string::npos);
  const auto early = Issue(ca, loopback, now + std::chrono::hours(48)).value();
  EXPECT_NE(call(early, ca.certificate_pem).find("Z is before 20"), std::string::npos);

  const auto named = [&](std::vector<std::string> dns, std::vector<std::string> ips) {
    return Issue(ca,
                 {.common_name = "x",
                  .dns_names = std::move(dns),
                  .ip_addresses = std::move(ips),
                  .server = true},
                 now)
        .value();
  };
  EXPECT_EQ(call(named({"a.example"}, {}), ca.certificate_pem),
            verify +
                "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP "
                "SANs");
  EXPECT_EQ(call(named({}, {"10.0.0.1", "::1"}), ca.certificate_pem),
            verify + "certificate is valid for 10.0.0.1, ::1, not 127.0.0.1");

  const CertificateRequest for_clients{
      .common_name = "x", .ip_addresses = {"127.0.0.1"}, .client = true};
  EXPECT_EQ(call(Issue(ca, for_clients, now).value(), ca.certificate_pem),
            verify + "certificate specifies an incompatible key usage");

  const auto self_signed = MakeSelfSigned(loopback, now).value();
  EXPECT_EQ(call(self_signed, ca.certificate_pem),
            verify + "certificate signed by unknown authority");
  EXPECT_EQ(call(self_signed, self_signed.certificate_pem), "");
}

// Certificates that Pepr makes look like this.
TEST_F(ClientTest, AuthoritiesWithoutANameAreBelieved) {
  const auto now = base::SystemClock().Now();
  const auto ca = MakeAuthority("", now).value();
  const CertificateRequest loopback{.ip_addresses = {"127.0.0.1"}};
  RawServer server(AnswerOk, Issue(ca, loopback, now).value());

  EXPECT_TRUE(Call(Secure(server.port(), ca.certificate_pem)).ok());
  const auto refused =
      Call(Secure(server.port(), MakeAuthority("", now).value().certificate_pem)).failure;
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->cause.find("ECDSA verification failure"), std::string::npos) << refused->cause;
}

TEST_F(ClientTest, ChainsMayHaveIntermediatesAndAnchorsThatAreNoRoots) {
  const auto now = base::SystemClock().Now();
  const auto ca = MakeAuthority("ca", now).value();
  const CertificateRequest loopback{.common_name = "x", .ip_addresses = {"127.0.0.1"}};
  const auto no_authority = Issue(ca, {.common_name = "middle"}, now).value();
  auto below = Issue(no_authority, loopback, now).value();
  below.certificate_pem += no_authority.certificate_pem;
  {
    RawServer server(AnswerOk, below);
    const auto refused = Call(Secure(server.port(), ca.certificate_pem)).failure;
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->cause,
              "tls: failed to verify certificate: x509: certificate signed by unknown authority "
              "(possibly because of \"x509: invalid signature: parent certificate cannot sign this "
              "kind of certificate\" while trying to verify candidate authority certificate "
              "\"middle\")");
  }
  // A leaf that is itself trusted needs nobody above it.
  const auto leaf = Issue(ca, loopback, now).value();
  RawServer server(AnswerOk, leaf);
  EXPECT_TRUE(Call(Secure(server.port(), leaf.certificate_pem)).ok());
}

TEST_F(ClientTest, NamesAreCheckedAsInGo) {
  const auto now = base::SystemClock().Now();
  const auto ca = MakeAuthority("ca", now).value();
  const auto call = [&](std::vector<std::string> dns, std::string host) {
    const auto serving = Issue(ca, {.common_name = host, .dns_names = dns, .server = true}, now);
    RawServer server(AnswerOk, serving.value());
    auto request = Secure(server.port(), ca.certificate_pem);
    request.url = "https://" + host + "/";
    request.resolve = [&](const std::string&) -> base::Result<std::string> {
      return "127.0.0.1:" + std::to_string(server.port());
    };
    const auto result = Call(request);
    return result.ok() ? "" : result.failure->cause.substr(41);
  };

  EXPECT_EQ(call({"a.example", "b.example"}, "b.example"), "");
  EXPECT_EQ(call({"a.example"}, "A.EXAMPLE"), "");
  EXPECT_EQ(call({"*.example"}, "a.example"), "");
  EXPECT_EQ(call({"*.example"}, "a.b.example"),
            "certificate is valid for *.example, not a.b.example");
  EXPECT_EQ(call({"a", "b"}, "c"), "certificate is valid for a, b, not c");
  EXPECT_EQ(call({}, "c.example"),
            "certificate relies on legacy Common Name field, use SANs instead");
}

TEST_F(ClientTest, ACertificateWithoutNamesIsReported) {
  const auto now = base::SystemClock().Now();
  const auto ca = MakeAuthority("ca", now).value();
  RawServer server(AnswerOk, Issue(ca, {.common_name = "x", .server = true}, now).value());

  const auto result = Call(Secure(server.port(), ca.certificate_pem));

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->cause,
            "tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1 "
            "because it doesn't contain any IP SANs");
}

TEST_F(ClientTest, PeersThatSpeakNoModernTls) {
  const auto certificates = TestCertificates::Make();
  const auto& pem = certificates.authority.certificate_pem;

  RawServer old(AnswerOk, certificates.serving, TLS1_VERSION);
  EXPECT_EQ(Call(Secure(old.port(), pem)).failure->cause,
            "remote error: tls: protocol version not supported");

  RawServer plain([](RawPeer& peer, int) {
    peer.Read();
    peer.Send("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  EXPECT_EQ(Call(Secure(plain.port(), pem)).failure->cause,
            "http: server gave HTTP response to HTTPS client");

  RawServer garbage([](RawPeer& peer, int) {
    peer.Read();
    peer.Send("SSH-2.0-OpenSSH_9.2\r\n");
  });
  EXPECT_EQ(Call(Secure(garbage.port(), pem)).failure->cause,
            "tls: first record does not look like a TLS handshake");

  RawServer closing([](RawPeer& peer, int) { peer.Read(); });
  const auto result = Call(Secure(closing.port(), pem));
  EXPECT_EQ(result.failure->cause, "EOF");
  EXPECT_EQ(result.failure->phase, CallPhase::kHandshake);
}

TEST_F(ClientTest, VerificationCanBeSwitchedOff) {
  const auto certificates = TestCertificates::Make();
  RawServer server(AnswerOk, certificates.serving);
  auto request = Post(server.port(), "https");
  request.tls = ClientTls::Create({.insecure_skip_verify = true}).value();

  EXPECT_TRUE(Call(request).ok());
}

TEST_F(ClientTest, KeepsConnectionsAndCountsThem) {
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

TEST_F(ClientTest, DifferentIdentitiesDoNotShareConnections) {
  TestServer test(Echo);
  test.Call(test.Request("POST", "/"));
  auto request = test.Request("POST", "/");
  request.tls = ClientTls::Create({.ca_pem = test.certificates.authority.certificate_pem}).value();

  EXPECT_FALSE(test.Call(request).reused_connection);
}

TEST_F(ClientTest, TenCallsAtOnceUseTenConnectionsAndLeaveThemForLater) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  for (int round = 0; round < 2; ++round) {
    std::vector<std::shared_ptr<PendingCall>> calls;
    for (int i = 0; i < 10; ++i) {
      calls.push_back(test.client->Begin(test.Request("POST", "/"), TestServer::Soon()));
    }
    std::vector<std::shared_ptr<Exchange>> exchanges;
    for (int i = 0; i < 10; ++i) exchanges.push_back(queue.Take());
    for (auto& exchange : exchanges) Echo(exchange);
    for (auto& call : calls) EXPECT_TRUE(call->Wait().ok());
  }
  EXPECT_EQ(test.server->counters().accepted, 10U);
  EXPECT_EQ(test.client->counters().connections_idle, 10U);
}

TEST_F(ClientTest, NoMoreThanSoManyConnectionsStayIdle) {
  ExchangeQueue queue;
  TestServer test([&](std::shared_ptr<Exchange> exchange) { queue.Push(std::move(exchange)); });
  ClientOptions options;
  options.max_idle_per_host = 2;
  auto client = HttpsClient::Create(io_, options);
  std::vector<std::shared_ptr<PendingCall>> calls;
  for (int i = 0; i < 5; ++i) {
    calls.push_back(client->Begin(test.Request("POST", "/"), TestServer::Soon()));
  }
  for (int i = 0; i < 5; ++i) Echo(queue.Take());
  for (auto& call : calls) EXPECT_TRUE(call->Wait().ok());

  EXPECT_EQ(client->counters().connections_idle, 2U);
}

TEST_F(ClientTest, ADeadIdleConnectionIsReplacedUnnoticed) {
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

TEST_F(ClientTest, OnlyHarmlessMethodsAreRepeatedOnAnotherConnection) {
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
  std::string packed(1000, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
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
  EXPECT_EQ(test.Call(limited).failure->phase, CallPhase::kDecode);
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

TEST_F(ClientTest, ACallCanBeCancelled) {
  RawServer server([](RawPeer& peer, int) { peer.ReadToEnd(); });
  const auto request = Post(server.port());
  auto call = client_->Begin(request, TestServer::Soon());

  call->Cancel();

  const auto result = call->Wait();
  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(result.failure->cancelled);
  EXPECT_EQ(result.failure->message, Prefix(request) + "context canceled");
}

TEST_F(ClientTest, DestroyingTheClientEndsItsCalls) {
  RawServer server([](RawPeer& peer, int) { peer.ReadToEnd(); });
  auto call = client_->Begin(Post(server.port()), TestServer::Soon());

  client_.reset();

  EXPECT_FALSE(call->Wait().ok());
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
  auto call = test.client->Begin(request, TestServer::Soon());
  auto exchange = queue.Take();
  exchange->Write("one\n");
  ASSERT_TRUE(first.Wait());
  exchange->Write("two\n");
  exchange->Finish();

  EXPECT_TRUE(call->Wait().ok());
  EXPECT_EQ(all, "one\ntwo\n");
}

TEST_F(ClientTest, ManyThreadsMayCallAtOnce) {
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

}  // namespace
}  // namespace portcullis::net
