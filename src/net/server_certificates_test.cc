// SPDX-License-Identifier: Apache-2.0

// Client certificates on connections that are kept: judged at every request, as kube-apiserver does,
// by the client CA and the time of that moment.
#include <gtest/gtest.h>

#include "base/testing/fake_clock.h"
#include "net/testing/http2_client.h"
#include "net/testing/test_server.h"

namespace portcullis::net {
namespace {

using testing::Echo;
using testing::ExchangeQueue;
using testing::H2Client;
using testing::RawPeer;
using testing::TestServer;
using namespace std::chrono_literals;

constexpr base::Duration kDay = 24h;

// Whole seconds, as certificates have them.
base::WallTime Now() { return std::chrono::floor<std::chrono::seconds>(base::SystemClock().Now()); }

class ServerCertificatesTest : public ::testing::Test {
 protected:
  ServerCertificatesTest()
      : test_(
            [this](std::shared_ptr<Exchange> exchange) {
              Echo(exchange);
              queue_.Push(std::move(exchange));
            },
            Options()) {}

  // Valid for ten days from an hour ago.
  pki::KeyPair Alice() const {
    const pki::CertificateRequest request{.common_name = "alice", .client = true, .valid_days = 10};
    return Issue(test_.certificates.authority, request, start_).value();
  }
  base::WallTime EndOf(const pki::KeyPair& pair) const {
    return pki::ParseCertificates(pair.certificate_pem).value()[0].not_after;
  }
  // What the handler sees of one more request on the connection.
  std::shared_ptr<const ClientCertificate> Ask(RawPeer& peer) {
    peer.Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_NE(peer.ReadUntil("GET /\n"), "");
    return queue_.Take()->client_certificate();
  }
  void TrustOnly(const pki::KeyPair& authority) {
    ServerTlsOptions tls;
    tls.certificate = {
        test_.certificates.serving.certificate_pem, test_.certificates.serving.key_pem, {}};
    tls.client_certificates = ClientCertificates::kRequest;
    tls.client_ca_pem = authority.certificate_pem;
    test_.server->SetTls(ServerTls::Create(tls).value());
  }
  static std::string_view Start(std::string_view error) { return error.substr(0, 49); }

  static constexpr std::string_view kExpired = "x509: certificate has expired or is not yet valid";

  const base::WallTime start_ = Now();
  base::FakeClock clock_{start_};
  ExchangeQueue queue_;
  TestServer test_;

 private:
  ServerOptions Options() const {
    ServerOptions options;
    options.clock = &clock_;
    return options;
  }
};

TEST_F(ServerCertificatesTest, AnExpiredOneIsRefusedOnAKeptConnection) {
  const pki::KeyPair alice = Alice();
  const auto peer = RawPeer::ConnectTls(test_.server->port(), {.client = alice});
  EXPECT_EQ(Ask(*peer)->error, "");
  clock_.Advance(EndOf(alice) - start_);
  EXPECT_EQ(Ask(*peer)->error, "") << "in its last instant";
  clock_.Advance(1ns);
  EXPECT_EQ(Start(Ask(*peer)->error), kExpired);
  EXPECT_EQ(Ask(*peer)->common_name, "alice");
}

TEST_F(ServerCertificatesTest, TheSameOverHttp2) {
  H2Client client(test_.server->port(), 65535, Alice());
  client.Run(client.Submit("GET", "/"));
  EXPECT_EQ(queue_.Take()->client_certificate()->error, "");
  clock_.Advance(11 * kDay);
  client.Run(client.Submit("GET", "/"));
  EXPECT_EQ(Start(queue_.Take()->client_certificate()->error), kExpired);
}

TEST_F(ServerCertificatesTest, GoesByTheWallClockBothWays) {
  const auto peer = RawPeer::ConnectTls(test_.server->port(), {.client = Alice()});
  for (const auto& [jump, error] : std::vector<std::pair<base::Duration, std::string_view>>{
           {0ns, ""}, {11 * kDay, kExpired}, {-11 * kDay, ""}, {-2h, kExpired}, {2h, ""}}) {
    clock_.JumpBy(jump);
    EXPECT_EQ(Start(Ask(*peer)->error), error) << jump.count();
  }
}

TEST_F(ServerCertificatesTest, GoesByTheTimeOfTheAuthorityToo) {
  const pki::KeyPair authority = pki::MakeAuthority("short", start_, 5).value();
  TrustOnly(authority);
  const pki::CertificateRequest request{.common_name = "alice", .client = true, .valid_days = 10};
  const auto peer = RawPeer::ConnectTls(test_.server->port(),
                                        {.client = Issue(authority, request, start_).value()});
  EXPECT_EQ(Ask(*peer)->error, "");
  clock_.Advance(6 * kDay);
  EXPECT_EQ(Ask(*peer)->error.substr(0, 48), "x509: certificate signed by unknown authority (p");
}

TEST_F(ServerCertificatesTest, GoesByTheClientCaOfNow) {
  const auto peer = RawPeer::ConnectTls(test_.server->port(), {.client = Alice()});
  EXPECT_EQ(Ask(*peer)->error, "");
  TrustOnly(pki::MakeAuthority("other", start_).value());
  EXPECT_EQ(Ask(*peer)->error, "x509: certificate signed by unknown authority");
  TrustOnly(test_.certificates.authority);
  EXPECT_EQ(Ask(*peer)->error, "");
}

TEST_F(ServerCertificatesTest, VerifiesAgainOnlyWhenTheVerdictMayChange) {
  const pki::KeyPair alice = Alice();
  const auto peer = RawPeer::ConnectTls(test_.server->port(), {.client = alice});
  const auto first = Ask(*peer);
  clock_.Advance(EndOf(alice) - start_ - 1ns);
  EXPECT_EQ(Ask(*peer), first);
  clock_.Advance(2s);
  const auto expired = Ask(*peer);
  EXPECT_NE(expired, first);
  clock_.Advance(5 * kDay);
  EXPECT_EQ(Ask(*peer), expired);
}

}  // namespace
}  // namespace portcullis::net
