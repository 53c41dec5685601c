// SPDX-License-Identifier: Apache-2.0

#include "kubeconfig/client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "base/strings.h"
#include "net/testing/test_server.h"

namespace portcullis::kubeconfig {
namespace {

// Who asks a program for credentials tells it about the cluster of the kubeconfig.
TEST(ClientTest, TellsTheProgramWhichClusterCredentialsAreFor) {
  std::string authorization;
  net::testing::TestServer server([&](const std::shared_ptr<net::Exchange>& exchange) {
    authorization = exchange->request().headers.Get("Authorization");
    exchange->Respond({});
  });
  const std::string authority = base::Base64Encode(server.certificates.authority.certificate_pem);
  const std::string path = ::testing::TempDir() + "kubeconfig_" + std::to_string(getpid());
  std::ofstream(path) << "current-context: x\n"
                      << "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
                      << "clusters: [{name: c, cluster: {server: '" << server.Url("/")
                      << "', tls-server-name: localhost, "
                      << "certificate-authority-data: " << authority << R"(,
  extensions: [{name: other, extension: 1},
    {name: client.authentication.k8s.io/exec, extension: {b: '<', a: [2]}}]}}]
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: sh
      provideClusterInfo: true
      args:
      - -c
      - |
        told=$(printf %s "$KUBERNETES_EXEC_INFO" | base64 -w0)
        echo '{"apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"'$told'"}}'
)";
  const auto client = Client::Load(path, {}, server.client.get());
  unlink(path.c_str());
  ASSERT_TRUE(client.ok()) << client.status().message();

  const base::Status posted = client->Post(std::make_shared<const std::string>("{}"),
                                           [](const net::Response&) { return base::OkStatus(); });

  EXPECT_TRUE(posted.ok()) << posted.message();
  ASSERT_EQ(authorization.substr(0, 7), "Bearer ");
  EXPECT_EQ(base::Base64Decode(authorization.substr(7)).value_or("no base64"),
            base::StrCat(
                R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",)"
                R"("spec":{"cluster":{"server":")",
                server.Url("/"), R"(","tls-server-name":"localhost",)",
                R"("certificate-authority-data":")", authority,
                R"(","config":{"a":[2],"b":"\u003c"}},"interactive":false}})", "\n"));
}

TEST(ClientTest, TriesNoLongerThanTheDeadline) {
  std::atomic<int> asked{0};
  net::testing::TestServer server(
      [&](const std::shared_ptr<net::Exchange>& exchange) {
        ++asked;
        net::Response busy;
        busy.status = 429;
        exchange->Respond(std::move(busy));
      },
      {}, false);
  ClientConfig config;
  config.url = server.Url("");
  const auto client =
      Client::Create(config, {.first_wait = std::chrono::hours(1)}, server.client.get());
  ASSERT_TRUE(client.ok()) << client.status().message();

  const base::Status posted = client->Post(
      std::make_shared<const std::string>("{}"),
      [](const net::Response&) { return base::OkStatus(); },
      net::testing::TestServer::Soon(std::chrono::milliseconds(500)));

  EXPECT_FALSE(posted.ok());
  EXPECT_LE(asked, 1) << "the second try would begin in an hour";
}

}  // namespace
}  // namespace portcullis::kubeconfig
