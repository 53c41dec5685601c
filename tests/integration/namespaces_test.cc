// SPDX-License-Identifier: Apache-2.0

// A new namespace can be worked in at once.
#include <gtest/gtest.h>

#include <string>

#include "base/strings.h"
#include "harness/test_server.h"

namespace portcullis::testing {
namespace {

constexpr std::string_view kPod =
    R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})";

TEST(NamespacesTest, PodsFollowTheirNamespaceAtOnce) {
  TestServer server([](server::Options& options) { options.controllers = {"*"}; });
  for (int i = 0; i < 20; ++i) {
    const std::string name = base::StrCat("n", std::to_string(i));
    const std::string path = base::StrCat("/api/v1/namespaces/", name);
    const Answer made =
        server.Post("/api/v1/namespaces", base::StrCat(R"({"metadata":{"name":")", name, R"("}})"));
    ASSERT_EQ(made.status, 201) << made.body;

    const Answer pod = server.Post(path + "/pods", kPod);

    EXPECT_EQ(pod.status, 201) << pod.body;
    EXPECT_EQ(server.Get(path + "/serviceaccounts/default").status, 200);
    EXPECT_EQ(server.Get(path + "/configmaps/kube-root-ca.crt").status, 200);
  }
}

TEST(NamespacesTest, PodsFollowTheNamespaceThatTheyMake) {
  TestServer server([](server::Options& options) {
    options.controllers = {"*"};
    options.enable_admission_plugins = {"NamespaceAutoProvision"};
  });

  const Answer pod = server.Post("/api/v1/namespaces/fresh/pods", kPod);

  EXPECT_EQ(pod.status, 201) << pod.body;
}

TEST(NamespacesTest, WithoutControllersPodsAreRefused) {
  TestServer server;
  ASSERT_EQ(server.Post("/api/v1/namespaces", R"({"metadata":{"name":"bare"}})").status, 201);

  const Answer pod = server.Post("/api/v1/namespaces/bare/pods", kPod);

  EXPECT_EQ(pod.status, 403);
  EXPECT_EQ(pod.message(),
            "pods \"p\" is forbidden: error looking up service account bare/default: "
            "serviceaccount \"default\" not found");
}

}  // namespace
}  // namespace portcullis::testing
