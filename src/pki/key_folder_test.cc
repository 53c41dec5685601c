// SPDX-License-Identifier: Apache-2.0

#include "pki/key_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"

namespace portcullis::pki {
namespace {

using namespace std::chrono_literals;

class KeyFolderTest : public ::testing::Test {
 protected:
  ~KeyFolderTest() override { std::filesystem::remove_all(path_); }

  KeyFolder Open(base::WallTime now, std::string_view authority = "ours") const {
    return KeyFolder::Open(path_, authority, now).value();
  }
  static CertificateRequest Server() {
    return {.common_name = "server", .dns_names = {"localhost"}, .server = true, .valid_days = 90};
  }

  const std::string path_ = ::testing::TempDir() + "key_folder_" + std::to_string(getpid());
  const base::WallTime now_ = base::SystemClock().Now();
};

TEST_F(KeyFolderTest, KeepsWhatItHasMade) {
  const KeyPair made = Open(now_).Certificate("server", Server()).value();
  EXPECT_TRUE(CheckKeyPair(made.certificate_pem, made.key_pem).ok());
  EXPECT_EQ(ParseCertificates(made.certificate_pem)->front().issuer_common_name, "ours");
  const std::string key = Open(now_).Key("sa").value();

  const KeyFolder again = Open(now_ + 24h);
  EXPECT_EQ(again.Certificate("server", Server())->certificate_pem, made.certificate_pem);
  EXPECT_EQ(again.Key("sa").value(), key);
  EXPECT_EQ(base::ReadFile(path_ + "/server.key").value(), made.key_pem);
  struct stat info {};
  ASSERT_EQ(stat((path_ + "/server.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(KeyFolderTest, RenewsAMonthBeforeTheEnd) {
  const KeyPair made = Open(now_).Certificate("server", Server()).value();
  EXPECT_EQ(Open(now_ + 24h * 50).Certificate("server", Server())->certificate_pem,
            made.certificate_pem);
  EXPECT_NE(Open(now_ + 24h * 70).Certificate("server", Server())->certificate_pem,
            made.certificate_pem);
}

TEST_F(KeyFolderTest, NeverReplacesWhatOthersHaveMade) {
  const KeyFolder folder = Open(now_);
  const KeyPair theirs = MakeSelfSigned(Server(), now_).value();
  ASSERT_TRUE(base::WriteFile(path_ + "/server.crt", theirs.certificate_pem).ok());
  ASSERT_TRUE(base::WriteFile(path_ + "/server.key", theirs.key_pem).ok());

  EXPECT_EQ(Open(now_ + 24h * 89).Certificate("server", Server())->certificate_pem,
            theirs.certificate_pem);
  const std::string error =
      Open(now_ + 24h * 91).Certificate("server", Server()).status().message();
  EXPECT_TRUE(error.starts_with(path_ + "/server.crt: the certificate has expired at ")) << error;
}

}  // namespace
}  // namespace portcullis::pki
