// SPDX-License-Identifier: Apache-2.0

#include "kubeconfig/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace portcullis::kubeconfig {
namespace {

TEST(ConfigTest, ReadsEveryField) {
  const auto config = Parse(R"(apiVersion: v1
kind: Config
current-context: x
unknown: {kept: no}
contexts: [{name: x, context: {cluster: c, user: u, namespace: prod}}]
clusters:
- name: c
  cluster:
    server: https://a
    tls-server-name: b
    insecure-skip-tls-verify: true
    certificate-authority: ca.crt
    proxy-url: socks5://p
    disable-compression: true
    extensions: [{name: other, extension: 1}, {name: client.authentication.k8s.io/exec, extension: {b: 1, a: 2}}]
users:
- name: u
  user:
    token: t
    tokenFile: token
    username: me
    password: p
    client-certificate: /abs.crt
    client-key-data: a2V5
    as: bob
    as-uid: "7"
    as-groups: [g, h]
    as-user-extra: {k: [v, w]}
    auth-provider: {name: oidc}
    exec:
      command: bin/login
      args: [-a]
      env: [{name: E, value: "1"}]
      apiVersion: client.authentication.k8s.io/v1beta1
      installHint: install it
      provideClusterInfo: true
)",
                            "/folder");
  ASSERT_TRUE(config.ok()) << config.status().message();

  const Cluster cluster = {"https://a", "b",          true, "/folder/ca.crt",
                           "",          "socks5://p", true, R"({"a":2,"b":1})"};
  EXPECT_EQ(config->clusters.at("c"), cluster);
  EXPECT_EQ(config->contexts.at("x"), (Context{"c", "u", "prod"}));
  EXPECT_EQ(config->current_context, "x");
  User user;
  user.token = "t";
  user.token_file = "/folder/token";
  user.username = "me";
  user.password = "p";
  user.client_certificate = "/abs.crt";
  user.client_key_data = "key";
  user.as = "bob";
  user.as_uid = "7";
  user.as_groups = {"g", "h"};
  user.as_user_extra = {{"k", {"v", "w"}}};
  user.auth_provider = "oidc";
  user.exec = {
      "/folder/bin/login", {"-a"},        {{"E", "1"}}, "client.authentication.k8s.io/v1beta1",
      "install it",        "IfAvailable", true};
  EXPECT_EQ(config->users.at("u"), user);
}

TEST(ConfigTest, ABareCommandIsLookedUpInThePath) {
  const auto config = Parse(
      "users: [{name: u, user: {exec: {command: login, apiVersion: "
      "client.authentication.k8s.io/v1}}}]",
      "/f");
  EXPECT_EQ(config->users.at("u").exec->command, "login");
  EXPECT_EQ(config->users.at("u").exec->interactive_mode, "");
}

TEST(ConfigTest, AnEmptyFileIsAnEmptyConfig) { EXPECT_EQ(Parse("", "/").value(), Config()); }

struct Case {
  std::string_view text;
  std::string_view error;
};

// What clientcmd of v1.36 says, the places in front of it being ours.
TEST(ConfigTest, SaysWhatIsWrongAndWhere) {
  constexpr Case kCases[] = {
      {"users: {a: b}",
       "line 1, column 1: json: cannot unmarshal object into Go struct field Config.users of type "
       "[]v1.NamedAuthInfo"},
      {"users:\n- name: a\n  user: {token: t}\n- name: b\n  user:\n    token: 5\n",
       "line 6, column 5: json: cannot unmarshal number into Go struct field "
       "AuthInfo.users.user.token of type string"},
      {"users: [{name: a, user: {exec: {env: [{value: 1}]}}}]",
       "line 1, column 40: json: cannot unmarshal number into Go struct field "
       "ExecEnvVar.users.user.exec.env.value of type string"},
      {"users: [{name: a, user: {client-key-data: '#'}}]",
       "line 1, column 26: illegal base64 data at input byte 0"},
      {"preferences: 5",
       "line 1, column 1: json: cannot unmarshal number into Go struct field Config.preferences of "
       "type v1.Preferences"},
      {"clusters: [{name: c, cluster: {extensions: 5}}]",
       "line 1, column 32: json: cannot unmarshal number into Go struct field "
       "Cluster.clusters.cluster.extensions of type []v1.NamedExtension"},
      {"kind: Pod",
       "no kind \"Pod\" is registered for version \"v1\" in scheme "
       "\"k8s.io/client-go/tools/clientcmd/api/latest/latest.go:50\""},
      {"kind: 5",
       "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct "
       "field .kind of type string"},
      {"a: [", "yaml: line 1: did not find expected node content"},
      {"users: [{name: a, user: {token: secret}},\n  {name: a}]",
       "line 2, column 3: error converting *[]NamedAuthInfo into *map[string]*api.AuthInfo: "
       "duplicate name \"a\" in list"},
      {"clusters: [{name: a},{name: a}]",
       "line 1, column 22: error converting *[]NamedCluster into *map[string]*api.Cluster: "
       "duplicate name \"a\" in list"},
      {"contexts: [{name: a},{name: a}]",
       "line 1, column 22: error converting *[]NamedContext into *map[string]*api.Context: "
       "duplicate name \"a\" in list"},
  };
  for (const Case& c : kCases) EXPECT_EQ(Parse(c.text, "/").status().message(), c.error) << c.text;
}

TEST(LoadTest, NamesTheFile) {
  EXPECT_EQ(Load("/nonexistent").status().message(),
            "stat /nonexistent: no such file or directory");
  EXPECT_EQ(Load("/tmp").status().message(),
            "error loading config file \"/tmp\": read /tmp: is a directory");
  const std::string path = ::testing::TempDir() + "config_test_" + std::to_string(getpid());
  std::ofstream(path) << "kind: Config\nusers: 5\n";
  EXPECT_EQ(Load(path).status().message(),
            "error loading config file \"" + path +
                "\": line 2, column 1: json: cannot unmarshal number into Go struct field "
                "Config.users of type []v1.NamedAuthInfo");
  std::ofstream(path) << "users: [{name: u, user: {tokenFile: t}}]";
  EXPECT_EQ(Load(path)->users.at("u").token_file, ::testing::TempDir() + "t");
  unlink(path.c_str());
}

}  // namespace
}  // namespace portcullis::kubeconfig
