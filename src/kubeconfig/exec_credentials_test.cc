// SPDX-License-Identifier: Apache-2.0

#include "kubeconfig/exec_credentials.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "base/testing/fake_clock.h"

namespace portcullis::kubeconfig {
namespace {

constexpr char kVersion[] = "client.authentication.k8s.io/v1";

// A plugin that is a line of shell.
ExecConfig Shell(std::string script) {
  ExecConfig plugin;
  plugin.command = "sh";
  plugin.arguments = {"-c", std::move(script)};
  plugin.environment = {{"WHO", "anna"}};
  plugin.api_version = kVersion;
  plugin.interactive_mode = "Never";
  return plugin;
}

std::string Printing(std::string_view status) {
  return "echo '{\"apiVersion\":\"" + std::string(kVersion) +
         "\",\"status\":" + std::string(status) + "}'";
}

std::string ErrorOf(ExecConfig plugin) {
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
  ExecConfig absent = Shell("");
  absent.command = "no-such-plugin";
  absent.install_hint = "Ask Anna.";
  EXPECT_EQ(ErrorOf(absent).substr(0, 42), "exec: executable no-such-plugin not found\n");
  EXPECT_THAT(ErrorOf(absent), ::testing::EndsWith("-credential-plugins\n\nAsk Anna."));
  EXPECT_EQ(ErrorOf(Shell("true")).substr(0, 17), "decoding stdout: ");
  EXPECT_EQ(ErrorOf(Shell("echo '{\"apiVersion\":\"v9\"}'")),
            "exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin "
            "returned version v9");
  EXPECT_EQ(ErrorOf(Shell(Printing("null"))), "exec plugin didn't return a status field");
  EXPECT_EQ(ErrorOf(Shell(Printing("{}"))), "exec plugin didn't return a token or cert/key pair");
  EXPECT_EQ(ErrorOf(Shell(Printing("{\"clientKeyData\":\"x\"}"))),
            "exec plugin returned only certificate or key, not both");
}

TEST(ExecCredentialsTest, LimitsWhatTheProgramPrints) {
  EXPECT_EQ(ErrorOf(Shell("exec yes")), "exec: executable sh printed more than 1048576 bytes");
  EXPECT_EQ(ErrorOf(Shell("yes & wait")), "exec: executable sh printed more than 1048576 bytes");
}

TEST(ExecCredentialsTest, OneRunAnswersAllWhoWaitForIt) {
  const std::string file = ::testing::TempDir() + "exec_shared_" + std::to_string(getpid());
  const std::string gate = file + ".gate";
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  ExecCredentials credentials(
      Shell("echo x >> " + file + "; cat " + gate + " >/dev/null; exit $(wc -l < " + file + ")"),
      base::SystemClock());
  std::vector<std::thread> callers;
  std::vector<std::string> errors(8);
  for (std::string& error : errors) {
    callers.emplace_back([&] { error = credentials.Get().status().message(); });
  }
  // The program runs now. Forget does not wait for it.
  const int writer = open(gate.c_str(), O_WRONLY | O_CLOEXEC);
  credentials.Forget();
  // A run that begins from now on finds an empty file at the gate, which does not hold it up.
  const std::string empty = file + ".empty";
  close(open(empty.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(rename(empty.c_str(), gate.c_str()), 0);
  close(writer);
  for (std::thread& caller : callers) caller.join();
  // A caller that came late has made it run once more, all others share an outcome.
  for (const std::string& error : errors) {
    EXPECT_THAT(error, ::testing::StartsWith("exec: executable sh failed with exit code "));
  }
  unlink(gate.c_str());
  unlink(file.c_str());
}

TEST(ExecCredentialsTest, CanAskNobody) {
  ExecConfig plugin = Shell("true");
  plugin.interactive_mode = "Always";
  EXPECT_EQ(ErrorOf(plugin),
            "exec plugin cannot support interactive mode: standard input is not a terminal");
  plugin.interactive_mode = "";
  EXPECT_EQ(ErrorOf(plugin),
            "exec plugin cannot support interactive mode: unknown interactiveMode: \"\"");
}

// A program that gives back what it has been asked.
ExecConfig Repeating(bool provides_cluster_info) {
  ExecConfig plugin =
      Shell(Printing("{\"token\":\"'$(printf %s \"$KUBERNETES_EXEC_INFO\" | base64 -w0)'\"}"));
  plugin.provides_cluster_info = provides_cluster_info;
  return plugin;
}

std::string Asked(ExecCredentials& credentials) {
  const auto credential = credentials.Get();
  if (!credential.ok()) return credential.status().message();
  return base::Base64Decode(credential->token).value_or("no base64");
}

TEST(ExecProgramTest, TellsWhichServerCredentialsAreForIfAskedTo) {
  ExecProgram program(Repeating(true), base::SystemClock());
  ExecCluster cluster;
  cluster.server = "https://hook.example:8443";
  EXPECT_EQ(Asked(*program.For(cluster)),
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":)"
            R"({"cluster":{"server":"https://hook.example:8443","config":null},)"
            "\"interactive\":false}}\n");
  cluster.tls_server_name = "a&b";
  cluster.insecure_skip_tls_verify = true;
  cluster.certificate_authority_pem = "pem\n";
  cluster.proxy_url = "socks5://proxy";
  cluster.disable_compression = true;
  cluster.config = R"({"audience":"x"})";
  EXPECT_EQ(Asked(*program.For(cluster)),
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":)"
            R"({"cluster":{"server":"https://hook.example:8443","tls-server-name":"a\u0026b",)"
            R"("insecure-skip-tls-verify":true,"certificate-authority-data":"cGVtCg==",)"
            R"("proxy-url":"socks5://proxy","disable-compression":true,)"
            R"("config":{"audience":"x"}},)"
            "\"interactive\":false}}\n");
}

TEST(ExecProgramTest, SharesCredentialsThatAreTheSame) {
  ExecProgram one(Repeating(false), base::SystemClock());
  ExecProgram each(Repeating(true), base::SystemClock());
  ExecCluster a;
  a.server = "https://a";
  ExecCluster b;
  b.server = "https://b";
  const auto credentials = one.For(a);
  const auto told = each.For(a);

  EXPECT_EQ(one.For(b), credentials);
  EXPECT_EQ(each.For(a), told);
  EXPECT_NE(each.For(b), told);
  EXPECT_EQ(Asked(*credentials),
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":)"
            "{\"interactive\":false}}\n");
}

}  // namespace
}  // namespace portcullis::kubeconfig
