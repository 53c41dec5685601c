// SPDX-License-Identifier: Apache-2.0

// Webhooks and requests in versions that Kubernetes has dropped (docs/legacy.md): what a webhook on
// one version sees of a request in another. Scenarios D-1, D-2, D-5, D-6.

#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "harness/admission_review.h"
#include "harness/test_server.h"
#include "json/reader.h"
#include "json/writer.h"
#include "net/testing/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

constexpr std::string_view kBody = R"({"metadata":{"name":"d"},"spec":{"rollbackTo":{"revision":3},
    "template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})";

class LegacyVersions : public ::testing::Test {
 protected:
  LegacyVersions() {
    server_.emplace([](server::Options& options) {
      for (const char* version : {"extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"}) {
        options.runtime_config[version] = "true";
      }
    });
  }

  // A webhook for new deployments in that group and version.
  void Configure(std::string_view name, std::string_view group, std::string_view version,
                 std::string_view policy) {
    const Answer made =
        server_->Post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
                      base::StrCat(R"({"metadata":{"name":")", name, R"("},"webhooks":[{"name":")",
                                   name, R"(.example.com","clientConfig":{"url":")", hook_.Url("/"),
                                   R"(","caBundle":")",
                                   base::Base64Encode(hook_.certificates.authority.certificate_pem),
                                   R"("},"matchPolicy":")", policy,
                                   R"(","rules":[{"operations":["CREATE"],"apiGroups":[")", group,
                                   R"("],"apiVersions":[")", version,
                                   R"("],"resources":["deployments"]}],"sideEffects":"None",
            "admissionReviewVersions":["v1"]}]})"));
    ASSERT_EQ(made.status, 201) << made.body;
  }
  Answer Create(std::string_view group_version) {
    return server_->Post(base::StrCat("/apis/", group_version, "/namespaces/default/deployments"),
                         kBody);
  }
  std::vector<json::Document> reviews() {
    const std::lock_guard lock(mutex_);
    return std::exchange(reviews_, {});
  }

  std::optional<TestServer> server_;

 private:
  void Judge(const std::shared_ptr<net::Exchange>& exchange) {
    const std::lock_guard lock(mutex_);
    reviews_.push_back(json::ParseDocument(exchange->request().body).value());
    exchange->Respond(testing::Allow(reviews_.back().root()));
  }

  std::mutex mutex_;
  std::vector<json::Document> reviews_;
  net::testing::TestServer hook_{
      [this](const std::shared_ptr<net::Exchange>& exchange) { Judge(exchange); }};
};

TEST_F(LegacyVersions, AnEquivalentRuleSeesTheVersionThatItNames) {
  Configure("current", "apps", "v1", "Equivalent");
  const Answer made = Create("extensions/v1beta1");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made["spec"]["rollbackTo"]["revision"].AsInt(), 3);
  const auto seen = reviews();
  ASSERT_EQ(seen.size(), 1U);
  const json::Value request = seen[0]["request"];
  EXPECT_EQ(json::ToString(request["kind"]),
            R"({"group":"apps","version":"v1","kind":"Deployment"})");
  EXPECT_EQ(json::ToString(request["requestKind"]),
            R"({"group":"extensions","version":"v1beta1","kind":"Deployment"})");
  const json::Value object = request["object"];
  EXPECT_EQ(object["apiVersion"].AsString(), "apps/v1");
  EXPECT_EQ(object["metadata"]["annotations"]["deprecated.deployment.rollback.to"].AsString(), "3");
  EXPECT_FALSE(object["spec"].Has("rollbackTo"));
  EXPECT_EQ(object["spec"]["strategy"]["rollingUpdate"]["maxSurge"].AsInt(), 1);
  EXPECT_EQ(object["spec"]["revisionHistoryLimit"].AsInt(), 2147483647);
}

TEST_F(LegacyVersions, AnExactRuleSeesItsOwnVersionAlone) {
  Configure("current", "apps", "v1", "Exact");
  ASSERT_EQ(Create("extensions/v1beta1").status, 201);
  EXPECT_EQ(reviews().size(), 0U);
}

TEST_F(LegacyVersions, ARuleOnAnOldVersionSeesNewRequestsInIt) {
  Configure("old", "extensions", "v1beta1", "Equivalent");
  ASSERT_EQ(Create("apps/v1beta1").status, 201);
  const auto seen = reviews();
  ASSERT_EQ(seen.size(), 1U);
  const json::Value object = seen[0]["request"]["object"];
  EXPECT_EQ(object["apiVersion"].AsString(), "extensions/v1beta1");
  EXPECT_EQ(object["spec"]["rollbackTo"]["revision"].AsInt(), 3);
  EXPECT_EQ(object["spec"]["revisionHistoryLimit"].AsInt(), 2);
}

}  // namespace
}  // namespace portcullis
