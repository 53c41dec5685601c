// SPDX-License-Identifier: Apache-2.0

#include "net/tls_reload.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "net/testing/test_server.h"

namespace portcullis::net {
namespace {

using testing::RawPeer;
using testing::TestCertificates;
using Outcome = TlsReloader::Outcome;

class TlsReloadTest : public ::testing::Test {
 protected:
  TlsReloadTest() {
    std::filesystem::create_directories(folder_);
    Write(first_);
    options_.certificate = {first_.serving.certificate_pem, first_.serving.key_pem, {}};
    ServerOptions server_options;
    server_options.tls = ServerTls::Create(options_).value();
    server_ = HttpsServer::Listen(threads_, std::move(server_options), testing::Echo).value();
  }
  ~TlsReloadTest() override { std::filesystem::remove_all(folder_); }

  void Write(const TestCertificates& certificates) {
    std::ofstream(folder_ / "tls.crt") << certificates.serving.certificate_pem;
    std::ofstream(folder_ / "tls.key") << certificates.serving.key_pem;
  }
  TlsFiles Files() const { return {folder_ / "tls.crt", folder_ / "tls.key", ""}; }
  std::string Served() const { return RawPeer::ConnectTls(server_->port(), {})->PeerCertificate(); }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ("tls_reload_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
       std::to_string(reinterpret_cast<std::uintptr_t>(this)));
  const TestCertificates first_ = TestCertificates::Make();
  const TestCertificates second_ = TestCertificates::Make();
  ServerTlsOptions options_;
  IoThreads threads_;
  std::unique_ptr<HttpsServer> server_;
};

TEST_F(TlsReloadTest, ServesTheNewCertificateOnceTheFilesHaveChanged) {
  TlsReloader reloader(threads_, *server_, options_, Files(), std::chrono::hours(1));
  EXPECT_EQ(reloader.Check(), Outcome::kUnchanged);
  EXPECT_EQ(Served(), first_.serving.certificate_pem);

  Write(second_);

  EXPECT_EQ(reloader.Check(), Outcome::kReloaded);
  EXPECT_EQ(Served(), second_.serving.certificate_pem);
  EXPECT_EQ(reloader.Check(), Outcome::kUnchanged);
}

TEST_F(TlsReloadTest, KeepsTheOldOneWhileTheFilesDoNotFit) {
  TlsReloader reloader(threads_, *server_, options_, Files(), std::chrono::hours(1));
  std::ofstream(folder_ / "tls.key") << second_.serving.key_pem;

  EXPECT_EQ(reloader.Check(), Outcome::kFailed);
  std::filesystem::remove(folder_ / "tls.crt");
  EXPECT_EQ(reloader.Check(), Outcome::kFailed);

  EXPECT_EQ(Served(), first_.serving.certificate_pem);
}

}  // namespace
}  // namespace portcullis::net
