// SPDX-License-Identifier: Apache-2.0

#include "server/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/testing/fake_clock.h"

namespace portcullis::server {
namespace {

namespace fs = std::filesystem;

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest() : folder_(fs::path(::testing::TempDir()) / Name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    options_.data_dir = folder_.string();
  }
  ~CredentialsTest() override { fs::remove_all(folder_); }

  static std::string Name() {
    return std::string("credentials_") +
           ::testing::UnitTest::GetInstance()->current_test_info()->name() +
           std::to_string(getpid());
  }

  void Write(const std::string& name, const pki::KeyPair& pair) const {
    fs::create_directories(folder_ / "pki");
    std::ofstream(folder_ / "pki" / (name + ".crt")) << pair.certificate_pem;
    std::ofstream(folder_ / "pki" / (name + ".key")) << pair.key_pem;
  }
  std::string Read(const std::string& name) const {
    return base::ReadFile((folder_ / "pki" / name).string()).value();
  }
  base::Result<Credentials> Prepare() { return PrepareCredentials(options_, "10.0.0.1", clock_); }

  const fs::path folder_;
  base::FakeClock clock_;
  Options options_;
};

TEST_F(CredentialsTest, RenewsWhatItHasMade) {
  ASSERT_TRUE(Prepare().ok());
  const std::string first = Read("server.crt");
  ASSERT_TRUE(Prepare().ok());
  EXPECT_EQ(Read("server.crt"), first);
  clock_.Advance(std::chrono::hours(24 * 340));
  ASSERT_TRUE(Prepare().ok());
  EXPECT_NE(Read("server.crt"), first);
}

TEST_F(CredentialsTest, ReplacesWhatItHasMadeWhileTheClockWasAhead) {
  ASSERT_TRUE(Prepare().ok());
  const std::string server = Read("server.crt");
  const std::string authority = Read("ca.crt");
  clock_.Advance(-std::chrono::hours(24 * 365));
  ASSERT_TRUE(Prepare().ok());
  EXPECT_NE(Read("server.crt"), server);
  EXPECT_NE(Read("ca.crt"), authority);
}

TEST_F(CredentialsTest, NeverReplacesTheAuthorityOfSomebodyElse) {
  const pki::KeyPair theirs = pki::MakeAuthority("corporate-ca", clock_.Now(), 20).value();
  Write("ca", theirs);
  ASSERT_TRUE(Prepare().ok());
  EXPECT_EQ(Read("ca.crt"), theirs.certificate_pem);
  EXPECT_EQ(Read("ca.key"), theirs.key_pem);

  clock_.Advance(std::chrono::hours(24 * 21));
  const auto expired = Prepare();
  ASSERT_FALSE(expired.ok());
  EXPECT_THAT(expired.status().message(),
              ::testing::MatchesRegex(
                  ".*/pki/ca.crt: the certificate has expired at 2026-01-21T00:00:00Z and is not "
                  "replaced, because it was not made by Portcullis: renew it, or choose another "
                  "folder"));
  EXPECT_EQ(Read("ca.key"), theirs.key_pem);
}

TEST_F(CredentialsTest, AFolderInTheWayIsAnErrorAndNotTheEnd) {
  std::ofstream(folder_ / "file") << "x";
  options_.cert_dir = (folder_ / "file").string();
  EXPECT_THAT(Prepare().status().message(), ::testing::HasSubstr("mkdir "));
  // A loop of links cannot be looked through, not even by root.
  options_.cert_dir = "";
  fs::create_directories(folder_ / "pki");
  fs::create_symlink("ca.crt", folder_ / "pki" / "ca.crt");
  EXPECT_THAT(Prepare().status().message(),
              ::testing::EndsWith("/pki/ca.crt: too many levels of symbolic links"));
}

TEST_F(CredentialsTest, WithoutADataFolderNothingIsWritten) {
  options_.data_dir = "";
  const auto credentials = Prepare();
  ASSERT_TRUE(credentials.ok()) << credentials.status().message();
  EXPECT_NE(credentials->serving.certificate_pem, "");
  EXPECT_NE(credentials->signing_key_pem, "");
  EXPECT_FALSE(fs::exists("pki"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(CredentialsTest, ThePairOfTheCertificateDirectoryServes) {
  options_.cert_dir = folder_.string();
  EXPECT_EQ(WithPairOfCertDir(options_).tls_cert_file, "");
  std::ofstream(folder_ / "apiserver.crt") << "";
  EXPECT_EQ(WithPairOfCertDir(options_).tls_cert_file, (folder_ / "apiserver.crt").string());
  EXPECT_EQ(WithPairOfCertDir(options_).tls_private_key_file, (folder_ / "apiserver.key").string());
  options_.tls_cert_file = "named.crt";
  EXPECT_EQ(WithPairOfCertDir(options_).tls_cert_file, "named.crt");
}

}  // namespace
}  // namespace portcullis::server
