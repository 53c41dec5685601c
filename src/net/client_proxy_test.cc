#include <gtest/gtest.h>

#include "net/testing/client_fixture.h"

namespace portcullis::net {
namespace {

using testing::ClientTest;
using testing::RawPeer;
using testing::RawServer;
using testing::TestCertificates;
using testing::TestServer;

using ClientProxyTest = ClientTest;

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
            "Proxy-Authorization: Basic dTpwQA==\r\n\r\n");
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

}  // namespace
}  // namespace portcullis::net
