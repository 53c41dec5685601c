// SPDX-License-Identifier: Apache-2.0

#include "kubeconfig/client_config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "net/url.h"

namespace portcullis::kubeconfig {
namespace {

constexpr std::string_view kContext =
    "current-context: x\n"
    "contexts: [{name: x, context: {cluster: c, user: u, namespace: ns}}, {name: other, context: "
    "{cluster: d}}]\n";

class ResolveTest : public ::testing::Test {
 protected:
  ResolveTest() : folder_(::testing::TempDir() + "resolve_test_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/empty").flush();
    std::ofstream(folder_ + "/some") << "some";
  }
  ~ResolveTest() override { std::filesystem::remove_all(folder_); }

  base::Result<ClientConfig> Make(std::string_view text, std::string_view context = {}) {
    return Resolve(Parse(base::StrCat(kContext, text), folder_).value(), context);
  }
  base::Result<ClientConfig> Cluster(std::string_view cluster) {
    return Make(base::StrCat("clusters: [{name: c, cluster: {", cluster, "}}]"));
  }
  std::string UserError(std::string_view user) {
    return Make(base::StrCat("clusters: [{name: c, cluster: {server: 'https://a'}}]\n"
                             "users: [{name: u, user: {",
                             user, "}}]"))
        .status()
        .message();
  }

  const std::string folder_;
};

TEST_F(ResolveTest, GivesWhatTheContextNames) {
  const auto config = Make(
      "clusters: [{name: c, cluster: {server: 'https://a:1//b/../c/?x=1', tls-server-name: s, "
      "certificate-authority: some, proxy-url: 'socks5://127.0.0.1:1'}}]\n"
      "users: [{name: u, user: {token: t}}]");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->url, "https://a:1/c");
  EXPECT_EQ(config->tls.server_name, "s");
  EXPECT_EQ(config->tls.ca_pem, "some");
  EXPECT_EQ(config->user.token, "t");
  EXPECT_EQ(config->namespace_name, "ns");
  EXPECT_EQ(config->proxies->For(net::ParseUrl("https://localhost").value())->ToString(),
            "socks5://127.0.0.1:1");
}

TEST_F(ResolveTest, TakesTheContextThatIsAskedFor) {
  constexpr std::string_view kTwo =
      "clusters: [{name: c, cluster: {server: 'https://c'}}, {name: d, cluster: {server: d}}]";
  EXPECT_EQ(Make(kTwo)->url, "https://c");
  EXPECT_EQ(Make(kTwo, "other")->url, "http://d");
  EXPECT_EQ(Make(kTwo, "other")->namespace_name, "default");
  EXPECT_EQ(Make(kTwo, "z").status().message(), "context \"z\" does not exist");
}

TEST_F(ResolveTest, SendsNoCredentialsWithoutTls) {
  const auto config = Make(
      "clusters: [{name: c, cluster: {server: 'http://a'}}]\n"
      "users: [{name: u, user: {token: t, as: bob}}]");
  EXPECT_EQ(config->user.token, "");
  EXPECT_EQ(config->user.as, "bob");
}

struct Case {
  std::string_view text;
  std::string_view error;  // ~ stands for the folder
};

// What clientcmd of v1.36 says.
TEST_F(ResolveTest, SaysWhatIsWrongWithTheCluster) {
  constexpr Case kCases[] = {
      {"server: ''", "invalid configuration: no server found for cluster \"c\""},
      {"server: 'https://a', certificate-authority: gone",
       "invalid configuration: unable to read certificate-authority ~/gone for c due to open "
       "~/gone: no such file or directory"},
      {"server: 'https://a', certificate-authority: some, certificate-authority-data: YQ==",
       "invalid configuration: certificate-authority-data and certificate-authority are both "
       "specified for c. certificate-authority-data will override."},
      {"server: 'https://a', proxy-url: 'ftp://x'",
       "invalid configuration: invalid 'proxy-url' \"ftp://x\" for cluster \"c\": unsupported "
       "scheme \"ftp\", must be http, https, or socks5"},
      {"server: 'https://a', proxy-url: x",
       "invalid configuration: invalid 'proxy-url' \"x\" for cluster \"c\": unsupported scheme "
       "\"\", must be http, https, or socks5"},
      {"server: 'https://a', proxy-url: 'http://[::1'",
       "invalid configuration: invalid 'proxy-url' \"http://[::1\" for cluster \"c\": could not "
       "parse: http://[::1"},
      {"server: a/b", "host must be a URL or a host:port pair: \"a/b\""},
      {"server: 'https://[a'", "host must be a URL or a host:port pair: \"https://[a\""},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(Cluster(c.text).status().message(), base::ReplaceAll(c.error, "~", folder_))
        << c.text;
  }
}

TEST_F(ResolveTest, RefusesAnEmptyBundleInsteadOfTrustingTheSystem) {
  EXPECT_EQ(Cluster("server: 'https://a', certificate-authority: empty").status().message(),
            "unable to load root certificates: unable to parse bytes as PEM block");
}

TEST_F(ResolveTest, SaysWhatIsMissing) {
  constexpr std::string_view kNone =
      "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER "
      "environment variable";
  EXPECT_EQ(Resolve(Config()).status().message(), kNone);
  EXPECT_EQ(Make("").status().message(), kNone);
  EXPECT_EQ(Resolve(Parse("clusters: [{name: c, cluster: {server: 'https://a'}}]", "/").value())
                .status()
                .message(),
            kNone);
  EXPECT_EQ(Resolve(Parse("current-context: z", "/").value()).status().message(),
            "invalid configuration: [context was not found for specified context: z, cluster has "
            "no server defined]");
}

// What clientcmd of v1.36 says.
TEST_F(ResolveTest, SaysWhatIsWrongWithTheUser) {
  constexpr Case kCases[] = {
      {"token: t, username: u",
       "invalid configuration: more than one authentication method found for u; found [token "
       "basicAuth], only one is allowed"},
      {"client-certificate: gone",
       "invalid configuration: [client-key-data or client-key must be specified for u to use the "
       "clientCert authentication method., unable to read client-cert ~/gone for u due to open "
       "~/gone: no such file or directory]"},
      {"client-certificate: some, client-key: gone",
       "invalid configuration: unable to read client-key ~/gone for u due to open ~/gone: no such "
       "file or directory"},
      {"client-certificate-data: YQ==, client-certificate: some, client-key: some, "
       "client-key-data: YQ==",
       "invalid configuration: [client-cert-data and client-cert are both specified for u. "
       "client-cert-data will override., client-key-data and client-key are both specified for u; "
       "client-key-data will override]"},
      {"exec: {}",
       "invalid configuration: [command must be specified for u to use exec authentication plugin, "
       "apiVersion must be specified for u to use exec authentication plugin, interactiveMode must "
       "be specified for u to use exec authentication plugin]"},
      {"exec: {command: x, apiVersion: v9, interactiveMode: Sometimes, env: [{value: '1'}]}",
       "invalid configuration: [env variable name must be specified for u to use exec "
       "authentication plugin, invalid interactiveMode for u: \"Sometimes\"]"},
      {"exec: {command: x, apiVersion: v9, interactiveMode: Never}, auth-provider: {name: p}",
       "invalid configuration: authProvider cannot be provided in combination with an exec plugin "
       "for u"},
      {"auth-provider: {name: p}", "no Auth Provider found for name \"p\""},
      {"as-groups: [g]",
       "invalid configuration: requesting uid, groups or user-extra for u without impersonating a "
       "user"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(UserError(c.text), base::ReplaceAll(c.error, "~", folder_)) << c.text;
  }
}

TEST_F(ResolveTest, InstallHintsCannotDriveATerminal) {
  const auto config = Make(
      "clusters: [{name: c, cluster: {server: 'https://a'}}]\n"
      "users: [{name: u, user: {exec: {command: x, apiVersion: client.authentication.k8s.io/v1, "
      "interactiveMode: Never, installHint: \"a\\e[1mb\\n\\u00fc\"}}}]");
  EXPECT_EQ(config->user.exec->install_hint, "aU+001B[1mb\n\u00fc");
}

}  // namespace
}  // namespace portcullis::kubeconfig
