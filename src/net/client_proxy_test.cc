// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <initializer_list>
#include <thread>

#include "net/testing/client_fixture.h"

namespace portcullis::net {
namespace {

using testing::ClientTest;
using testing::RawPeer;
using testing::RawServer;
using testing::TestCertificates;
using testing::TestServer;

constexpr std::string_view kConnected = "HTTP/1.1 200 Connection established\r\n\r\n";

class ClientProxyTest : public ClientTest {
 protected:
  static constexpr std::string_view kTarget = "https://hook.example:8443/x";

  // Leads on to a server on this machine.
  static void LeadOn(RawPeer& client, int port) {
    const auto server = RawPeer::Connect(port);
    ASSERT_NE(server, nullptr);
    RawPeer::Relay(client, *server);
  }

  // Calls kTarget `times` times through the proxy, with one client.
  CallResult CallBy(const std::string& proxy, const ClientTlsOptions& tls, int times = 1) {
    ClientOptions options;
    options.proxies = std::make_shared<const ProxyRules>(ProxySettings{proxy, ""});
    client_ = HttpsClient::Create(io_, options);
    ClientRequest request = Post(1, "https");
    request.url = kTarget;
    request.tls = ClientTls::Create(tls).value();
    CallResult result;
    for (int i = 0; i < times; ++i) result = Call(request);
    return result;
  }
  std::string FailureBy(const std::string& proxy, const std::string& ca_pem) {
    const CallResult result = CallBy(proxy, {.ca_pem = ca_pem});
    return result.failure ? result.failure->cause : "none";
  }
  static std::string At(std::string_view scheme, const RawServer& proxy) {
    return std::string(scheme) + "127.0.0.1:" + std::to_string(proxy.port());
  }

  // What kTarget really is: a server with a certificate for hook.example.
  struct Target {
    pki::KeyPair authority = pki::MakeAuthority("test-ca", base::SystemClock().Now()).value();
    RawServer server{testing::AnswerOk, Issue({"127.0.0.1"})};

    // A certificate for hook.example, and for these addresses.
    pki::KeyPair Issue(std::vector<std::string> addresses) const {
      return pki::Issue(authority,
                        {.common_name = "hook",
                         .organizations = {},
                         .dns_names = {"hook.example"},
                         .ip_addresses = std::move(addresses),
                         .server = true,
                         .client = false,
                         .valid_days = 1},
                        base::SystemClock().Now())
          .value();
    }
  };
};

TEST_F(ClientProxyTest, ARequestMayBringItsOwnProxy) {
  ClientOptions options;
  options.proxies = std::make_shared<const ProxyRules>(ProxySettings{"http://127.0.0.1:2", ""});
  const auto client = HttpsClient::Create(io_, options);
  ClientRequest request =
      Secure(1, pki::MakeAuthority("ca", base::SystemClock().Now())->certificate_pem);
  request.url = "https://127.0.0.1:3/";
  const auto cause = [&] { return client->Call(request, TestServer::Soon()).failure->cause; };

  EXPECT_EQ(cause(), "dial tcp 127.0.0.1:3: connect: connection refused");
  // Also for a loopback address, which the environment's proxy is not asked for.
  request.proxies = ProxyRules::Always(*ParseUrl("http://127.0.0.1:1"));
  EXPECT_EQ(cause(), "proxyconnect tcp: dial tcp 127.0.0.1:1: connect: connection refused");
}

TEST_F(ClientProxyTest, AsksTheProxyToLeadOn) {
  const auto certificates = TestCertificates::Make();
  std::string asked;
  const std::string answers[] = {"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
                                 "garbage\r\n\r\n", "HTTP/1.1 200 Connection established\r\n\r\n",
                                 ""};
  RawServer proxy([&](RawPeer& peer, int number) {
    const std::string& answer = answers[number - 1];
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
            "User-Agent: Go-http-client/1.1\r\nProxy-Authorization: Basic dTpwQA==\r\n\r\n");
  EXPECT_EQ(call(), "Post \"https://hook.example:8443/x\": malformed HTTP response \"garbage\"");
  EXPECT_EQ(call(),
            "Post \"https://hook.example:8443/x\": tls: first record does not look like a TLS "
            "handshake");
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

TEST_F(ClientProxyTest, ReachesTheProxyItselfByTls) {
  const Target target;
  std::string asked;
  RawServer proxy(
      [&](RawPeer& peer, int) {
        asked = peer.ReadUntil("\r\n\r\n");
        peer.Send(kConnected);
        LeadOn(peer, target.server.port());
      },
      target.Issue({"127.0.0.1"}));

  const CallResult result =
      CallBy(At("https://u@", proxy), {.ca_pem = target.authority.certificate_pem}, /*times=*/3);

  ASSERT_TRUE(result.ok()) << result.failure->message;
  EXPECT_EQ(result.response.body, "ok");
  EXPECT_TRUE(result.reused_connection);
  EXPECT_EQ(proxy.connections(), 1);
  EXPECT_EQ(asked,
            "CONNECT hook.example:8443 HTTP/1.1\r\nHost: hook.example:8443\r\n"
            "User-Agent: Go-http-client/1.1\r\nProxy-Authorization: Basic dTo=\r\n\r\n");
}

// More than any buffer on the way holds, both ways.
TEST_F(ClientProxyTest, CarriesLargeBodiesThroughBothLayersOfTls) {
  const std::string large(3 << 20, 'x');
  Target target;
  RawServer server(
      [&](RawPeer& peer, int) {
        std::string got = peer.ReadUntil("\r\n\r\n");
        std::size_t body = got.size() - got.find("\r\n\r\n") - 4;
        while (body < large.size()) {
          const auto piece = peer.Read();
          if (piece.empty()) return;
          body += piece.size();
        }
        peer.Send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(large.size()) +
                  "\r\n\r\n" + large);
      },
      target.Issue({}));
  RawServer proxy(
      [&](RawPeer& peer, int) {
        peer.ReadUntil("\r\n\r\n");
        peer.Send(kConnected);
        LeadOn(peer, server.port());
      },
      target.Issue({"127.0.0.1"}));
  ClientOptions options;
  options.proxies = std::make_shared<const ProxyRules>(ProxySettings{At("https://", proxy), ""});
  client_ = HttpsClient::Create(io_, options);
  ClientRequest request = Secure(1, target.authority.certificate_pem);
  request.url = kTarget;
  request.body = std::make_shared<const std::string>(large);

  const CallResult result = Call(request);

  ASSERT_TRUE(result.ok()) << result.failure->message;
  EXPECT_EQ(result.response.body, large);
}

TEST_F(ClientProxyTest, NamesWhatGoesWrongWithAProxyReachedByTls) {
  const Target target;
  const std::string& authority = target.authority.certificate_pem;
  const auto unused = [](RawPeer&, int) {};

  RawServer unknown(unused, TestCertificates::Make().serving);
  EXPECT_EQ(FailureBy(At("https://", unknown), authority),
            "proxyconnect tcp: tls: failed to verify certificate: x509: certificate signed by "
            "unknown authority (possibly because of \"x509: ECDSA verification failure\" while "
            "trying to verify candidate authority certificate \"test-ca\")");
  RawServer other_name(unused, target.Issue({}));
  EXPECT_EQ(FailureBy(At("https://", other_name), authority),
            "proxyconnect tcp: tls: failed to verify certificate: x509: cannot validate "
            "certificate for 127.0.0.1 because it doesn't contain any IP SANs");
  RawServer plain([](RawPeer& peer, int) {
    peer.Read();
    peer.Send("HTTP/1.1 400 Bad Request\r\n\r\n");
    peer.ReadToEnd();
  });
  EXPECT_EQ(FailureBy(At("https://", plain), authority),
            "proxyconnect tcp: tls: first record does not look like a TLS handshake");
  RawServer silent([](RawPeer& peer, int) { peer.Read(); });
  EXPECT_EQ(FailureBy(At("https://", silent), authority), "proxyconnect tcp: EOF");
  EXPECT_EQ(FailureBy("https://127.0.0.1:1", authority),
            "proxyconnect tcp: dial tcp 127.0.0.1:1: connect: connection refused");

  // What the target says is not the proxy's fault.
  RawServer leads_astray(
      [](RawPeer& peer, int) {
        peer.ReadUntil("\r\n\r\n");
        peer.Send(kConnected);
        peer.Read();
        peer.Send("HTTP/1.1 400 Bad Request\r\n\r\n");
        peer.ReadToEnd();
      },
      target.Issue({"127.0.0.1"}));
  EXPECT_EQ(FailureBy(At("https://", leads_astray), authority),
            "http: server gave HTTP response to HTTPS client");
  RawServer refuses(
      [](RawPeer& peer, int) {
        peer.ReadUntil("\r\n\r\n");
        peer.Send("HTTP/1.1 403 Forbidden\r\n\r\n");
      },
      target.Issue({"127.0.0.1"}));
  EXPECT_EQ(FailureBy(At("https://", refuses), authority), "Forbidden");
}

// A SOCKS 5 proxy that notes what it is told and answers with `answers`, one after the other; then
// it leads on to `port`.
struct SocksProxy {
  SocksProxy(std::vector<std::string> answers, int port)
      : server([this, answers = std::move(answers), port](RawPeer& peer, int) {
          for (const std::string& answer : answers) {
            told.push_back(peer.Read());
            peer.Send(answer);
          }
          if (port == 0) return;
          const auto beyond = RawPeer::Connect(port);
          RawPeer::Relay(peer, *beyond);
        }) {}

  std::vector<std::string> told;
  RawServer server;
};

std::string Bytes(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

TEST_F(ClientProxyTest, LeavesNamesToSocks) {
  const Target target;
  SocksProxy proxy({Bytes({5, 0}), Bytes({5, 0, 0, 1, 127, 0, 0, 1, 1, 2})}, target.server.port());

  for (const std::string scheme : {"socks5://", "socks5h://"}) {
    proxy.told.clear();
    const CallResult result =
        CallBy(At(scheme, proxy.server), {.ca_pem = target.authority.certificate_pem}, /*times=*/2);

    ASSERT_TRUE(result.ok()) << result.failure->message;
    EXPECT_TRUE(result.reused_connection);
    ASSERT_EQ(proxy.told.size(), 2u);
    EXPECT_EQ(proxy.told[0], Bytes({5, 1, 0}));
    EXPECT_EQ(proxy.told[1], Bytes({5, 1, 0, 3, 12}) + "hook.example" + Bytes({0x20, 0xfb}));
  }
}

TEST_F(ClientProxyTest, TellsSocksWhoItIs) {
  const Target target;
  SocksProxy proxy({Bytes({5, 2}), Bytes({1, 0}), Bytes({5, 0, 0, 3, 4}) + "name" + Bytes({1, 2})},
                   target.server.port());

  const CallResult result = CallBy(At("socks5://anna:p%40ss@", proxy.server),
                                   {.ca_pem = target.authority.certificate_pem});

  ASSERT_TRUE(result.ok()) << result.failure->message;
  EXPECT_EQ(proxy.told[0], Bytes({5, 2, 0, 2}));
  EXPECT_EQ(proxy.told[1], Bytes({1, 4}) + "anna" + Bytes({4}) + "p@ss");
}

TEST_F(ClientProxyTest, NamesWhatSocksRefuses) {
  const auto failure = [this](std::vector<std::string> answers, const std::string& user = "") {
    SocksProxy proxy(std::move(answers), 0);
    const std::string text = FailureBy(At("socks5://" + user, proxy.server), "");
    const std::string prefix =
        "socks connect tcp 127.0.0.1:" + std::to_string(proxy.server.port()) +
        "->hook.example:8443: ";
    EXPECT_EQ(text.substr(0, prefix.size()), prefix);
    return text.substr(std::min(prefix.size(), text.size()));
  };
  const std::string open = Bytes({5, 0});

  EXPECT_EQ(failure({""}), "EOF");
  EXPECT_EQ(failure({Bytes({5})}), "unexpected EOF");
  EXPECT_EQ(failure({Bytes({4, 0})}), "unexpected protocol version 4");
  EXPECT_EQ(failure({"HTTP/1.1 400"}), "unexpected protocol version 72");
  EXPECT_EQ(failure({Bytes({5, 255})}), "no acceptable authentication methods");
  EXPECT_EQ(failure({Bytes({5, 1})}, "a:b@"), "unsupported authentication method 1");
  EXPECT_EQ(failure({Bytes({5, 2})}, ":b@"), "invalid username/password");
  EXPECT_EQ(failure({Bytes({5, 2}), Bytes({2, 0})}, "a:b@"), "invalid username/password version");
  EXPECT_EQ(failure({Bytes({5, 2}), Bytes({1, 1})}, "a:b@"),
            "username/password authentication failed");
  EXPECT_EQ(failure({open, Bytes({5, 5, 0, 1})}), "unknown error connection refused");
  EXPECT_EQ(failure({open, Bytes({5, 1, 0, 1})}), "unknown error general SOCKS server failure");
  EXPECT_EQ(failure({open, Bytes({5, 9, 0, 1})}), "unknown error unknown code: 9");
  EXPECT_EQ(failure({open, Bytes({5, 0, 1, 1})}), "non-zero reserved field");
  EXPECT_EQ(failure({open, Bytes({5, 0, 0, 2})}), "unknown address type 2");
  EXPECT_EQ(failure({open, Bytes({5, 0, 0, 4, 0})}), "unexpected EOF");
  EXPECT_EQ(FailureBy("socks5://127.0.0.1:1", ""),
            "proxyconnect tcp: dial tcp 127.0.0.1:1: connect: connection refused");
}

}  // namespace
}  // namespace portcullis::net
