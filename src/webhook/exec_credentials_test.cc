#include "webhook/exec_credentials.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/testing/fake_clock.h"

namespace portcullis::webhook {
namespace {

constexpr char kVersion[] = "client.authentication.k8s.io/v1";

// A plugin that is a line of shell.
ExecPlugin Shell(std::string script) {
  return {"sh", {"-c", std::move(script)}, {{"WHO", "anna"}}, kVersion};
}

std::string Printing(std::string_view status) {
  return "echo '{\"apiVersion\":\"" + std::string(kVersion) +
         "\",\"status\":" + std::string(status) + "}'";
}

std::string ErrorOf(ExecPlugin plugin) {
  ExecCredentials credentials(std::move(plugin), base::SystemClock());
  return credentials.Get().status().message();
}

TEST(ExecCredentialsTest, TakesWhatTheProgramPrints) {
  ExecCredentials credentials(Shell("test -z \"$(cat)\" && echo \"$KUBERNETES_EXEC_INFO\" | sed "
                                    "'s/\"spec\":.*/\"status\":{\"token\":\"'$WHO'\"}}/'"),
                              base::SystemClock());
  const auto credential = credentials.Get();
  ASSERT_TRUE(credential.ok()) << credential.status().message();
  EXPECT_EQ(credential->token, "anna");
}

TEST(ExecCredentialsTest, RunsAgainWhenTheyHaveExpired) {
  const std::string file = ::testing::TempDir() + "exec_" + std::to_string(getpid());
  base::FakeClock clock;
  ExecCredentials credentials(
      Shell("echo x >> " + file + "; " + "echo '{\"apiVersion\":\"" + kVersion +
            "\",\"status\":{\"token\":\"'$(wc -l < " + file + ")'\",\"expirationTimestamp\":\"" +
            base::FormatTime(clock.Now() + std::chrono::minutes(1)) + "\"}}'"),
      clock);
  EXPECT_EQ(credentials.Get()->token, "1");
  EXPECT_EQ(credentials.Get()->token, "1");
  clock.Advance(std::chrono::minutes(2));
  EXPECT_EQ(credentials.Get()->token, "2");
  credentials.Forget();
  EXPECT_EQ(credentials.Get()->token, "3");
  unlink(file.c_str());
}

TEST(ExecCredentialsTest, SaysWhatIsWrongAsClientGoDoes) {
  EXPECT_EQ(ErrorOf(Shell("exit 3")), "exec: executable sh failed with exit code 3");
  EXPECT_EQ(ErrorOf({"no-such-plugin", {}, {}, kVersion}).substr(0, 42),
            "exec: executable no-such-plugin not found\n");
  EXPECT_EQ(ErrorOf(Shell("true")).substr(0, 17), "decoding stdout: ");
  EXPECT_EQ(ErrorOf(Shell("echo '{\"apiVersion\":\"v9\"}'")),
            "exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin "
            "returned version v9");
  EXPECT_EQ(ErrorOf(Shell(Printing("null"))), "exec plugin didn't return a status field");
  EXPECT_EQ(ErrorOf(Shell(Printing("{}"))), "exec plugin didn't return a token or cert/key pair");
  EXPECT_EQ(ErrorOf(Shell(Printing("{\"clientKeyData\":\"x\"}"))),
            "exec plugin returned only certificate or key, not both");
}

}  // namespace
}  // namespace portcullis::webhook
