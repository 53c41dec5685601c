// SPDX-License-Identifier: Apache-2.0

// etcd with TLS that wants client certificates.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "etcd/client.h"
#include "etcd/testing/calls.h"
#include "etcd/testing/etcd_server.h"
#include "net/testing/raw_peer.h"

namespace portcullis::etcd {
namespace {

using testing::EtcdServer;
using testing::EtcdTls;
using testing::Put;
using testing::Range;
using testing::Soon;

class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!EtcdServer::Available()) GTEST_SKIP() << "there is no program etcd";
    std::string pattern = std::filesystem::temp_directory_path().string() + "/etcd-tls-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    const auto certificates = net::testing::TestCertificates::Make();
    files = {.ca_file = Write("ca.pem", certificates.authority.certificate_pem),
             .certificate_file = Write("cert.pem", certificates.serving.certificate_pem),
             .key_file = Write("key.pem", certificates.serving.key_pem)};
    certificate_file = Write("client.pem", certificates.client.certificate_pem);
    key_file = Write("client-key.pem", certificates.client.key_pem);
    EtcdServer::Options options;
    options.tls = files;
    server = std::make_unique<EtcdServer>(std::move(options));
    ASSERT_TRUE(server->Start());
  }
  void TearDown() override {
    std::error_code error;
    if (!folder.empty()) std::filesystem::remove_all(folder, error);
  }
  std::string Write(const std::string& name, const std::string& content) {
    const std::string path = folder + "/" + name;
    EXPECT_TRUE(base::WriteFile(path, content).ok());
    return path;
  }

  std::string folder;
  EtcdTls files;  // the server's
  std::string certificate_file;
  std::string key_file;
  std::unique_ptr<EtcdServer> server;
};

TEST_F(TlsTest, CallsWithACertificate) {
  const auto client = Client::Make({.endpoints = {server->endpoint()},
                                    .ca_file = files.ca_file,
                                    .certificate_file = certificate_file,
                                    .key_file = key_file})
                          .value();

  ASSERT_TRUE(Put(*client, "a", std::string(100'000, 'x')).ok());
  const auto answer = Range(*client, {.key = "a", .range_end = {}});

  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->kvs[0].value.size(), 100'000U);
}

TEST_F(TlsTest, IsRefusedWithoutACertificate) {
  const auto client =
      Client::Make({.endpoints = {server->endpoint()}, .ca_file = files.ca_file}).value();

  const auto answer = Range(*client, {.key = "a", .range_end = {}}, Soon(std::chrono::seconds(1)));

  EXPECT_TRUE(IsUnavailable(answer.status()));
  EXPECT_NE(answer.status().message().find("remote error: tls: bad certificate"), std::string::npos)
      << answer.status().message();
}

TEST_F(TlsTest, RefusesAServerOfAnUnknownAuthority) {
  const std::string other =
      Write("other.pem", net::testing::TestCertificates::Make().authority.certificate_pem);
  const auto client = Client::Make({.endpoints = {server->endpoint()}, .ca_file = other}).value();

  const auto answer = Range(*client, {.key = "a", .range_end = {}}, Soon(std::chrono::seconds(1)));

  EXPECT_TRUE(IsUnavailable(answer.status()));
  EXPECT_NE(answer.status().message().find("tls: failed to verify certificate: x509: "),
            std::string::npos)
      << answer.status().message();
}

TEST_F(TlsTest, ReadsItsFilesAgainForEachConnection) {
  const auto good = base::ReadFile(certificate_file).value();
  const auto client = Client::Make({.endpoints = {server->endpoint()},
                                    .ca_file = files.ca_file,
                                    .certificate_file = certificate_file,
                                    .key_file = key_file,
                                    .max_backoff = std::chrono::milliseconds(50)})
                          .value();
  ASSERT_TRUE(Put(*client, "a", "one").ok());
  Write("client.pem", "nothing");
  server->Kill();
  ASSERT_TRUE(server->Start());

  const auto refused =
      Range(*client, {.key = "a", .range_end = {}}, Soon(std::chrono::milliseconds(500)));
  Write("client.pem", good);
  const auto answer = Range(*client, {.key = "a", .range_end = {}});

  EXPECT_NE(refused.status().message().find("tls: failed to find any PEM data"), std::string::npos)
      << refused.status().message();
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->kvs[0].value, "one");
}

}  // namespace
}  // namespace portcullis::etcd
