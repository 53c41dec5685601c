// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "net/testing/client_fixture.h"

namespace portcullis::net {
namespace {

using testing::AnswerOk;
using testing::ClientTest;
using testing::RawPeer;
using testing::RawServer;
using testing::TestCertificates;
using testing::TestServer;

using ClientTlsTest = ClientTest;

TEST_F(ClientTlsTest, AHandshakeThatTakesTooLong) {
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

TEST_F(ClientTlsTest, HandshakeFailuresReadAsInGo) {
  const auto now = base::SystemClock().Now();
  const auto certificates = TestCertificates::Make();
  const auto& ca = certificates.authority;
  const auto call = [&](const pki::KeyPair& serving, const std::string& ca_pem) {
    RawServer server(AnswerOk, serving);
    const auto result = Call(Secure(server.port(), ca_pem));
    return result.ok() ? "" : result.failure->cause;
  };
  const std::string prefix = "tls: failed to verify certificate: ";
  const std::string verify = prefix + "x509: ";

  EXPECT_EQ(call(certificates.serving, ca.certificate_pem), "");

  const auto other = pki::MakeAuthority("other", now).value();
  EXPECT_EQ(call(certificates.serving, other.certificate_pem),
            verify + "certificate signed by unknown authority");
  EXPECT_EQ(call(certificates.serving, ""), verify + "certificate signed by unknown authority");

  const auto namesake = pki::MakeAuthority("test-ca", now).value();
  EXPECT_EQ(call(certificates.serving, namesake.certificate_pem),
            verify +
                "certificate signed by unknown authority (possibly because of \"x509: ECDSA "
                "verification failure\" while trying to verify candidate authority "
                "certificate \"test-ca\")");

  const pki::CertificateRequest loopback{
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

  const pki::CertificateRequest for_clients{
      .common_name = "x", .ip_addresses = {"127.0.0.1"}, .client = true};
  EXPECT_EQ(call(Issue(ca, for_clients, now).value(), ca.certificate_pem),
            verify + "certificate specifies an incompatible key usage");

  const auto self_signed = pki::MakeSelfSigned(loopback, now).value();
  EXPECT_EQ(call(self_signed, ca.certificate_pem),
            verify + "certificate signed by unknown authority");
  EXPECT_EQ(call(self_signed, self_signed.certificate_pem), "");
}

// Certificates that Pepr makes look like this.
TEST_F(ClientTlsTest, AuthoritiesWithoutANameAreBelieved) {
  const auto now = base::SystemClock().Now();
  const auto ca = pki::MakeAuthority("", now).value();
  const pki::CertificateRequest loopback{.ip_addresses = {"127.0.0.1"}};
  RawServer server(AnswerOk, Issue(ca, loopback, now).value());

  EXPECT_TRUE(Call(Secure(server.port(), ca.certificate_pem)).ok());
  const auto refused =
      Call(Secure(server.port(), pki::MakeAuthority("", now).value().certificate_pem)).failure;
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->cause.find("ECDSA verification failure"), std::string::npos) << refused->cause;
}

TEST_F(ClientTlsTest, ChainsMayHaveIntermediatesAndAnchorsThatAreNoRoots) {
  const auto now = base::SystemClock().Now();
  const auto ca = pki::MakeAuthority("ca", now).value();
  const pki::CertificateRequest loopback{.common_name = "x", .ip_addresses = {"127.0.0.1"}};
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
  // A leaf that is itself trusted needs no issuer above it.
  const auto leaf = Issue(ca, loopback, now).value();
  RawServer server(AnswerOk, leaf);
  EXPECT_TRUE(Call(Secure(server.port(), leaf.certificate_pem)).ok());
}

TEST_F(ClientTlsTest, NamesAreCheckedAsInGo) {
  const auto now = base::SystemClock().Now();
  const auto ca = pki::MakeAuthority("ca", now).value();
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

TEST_F(ClientTlsTest, ACertificateWithoutNamesIsReported) {
  const auto now = base::SystemClock().Now();
  const auto ca = pki::MakeAuthority("ca", now).value();
  RawServer server(AnswerOk, Issue(ca, {.common_name = "x", .server = true}, now).value());

  const auto result = Call(Secure(server.port(), ca.certificate_pem));

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->cause,
            "tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1 "
            "because it doesn't contain any IP SANs");
}

TEST_F(ClientTlsTest, PeersThatSpeakNoModernTls) {
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

TEST_F(ClientTlsTest, VerificationCanBeSwitchedOff) {
  const auto certificates = TestCertificates::Make();
  RawServer server(AnswerOk, certificates.serving);
  auto request = Post(server.port(), "https");
  request.tls = ClientTls::Create({.insecure_skip_verify = true}).value();

  EXPECT_TRUE(Call(request).ok());
}

}  // namespace
}  // namespace portcullis::net
