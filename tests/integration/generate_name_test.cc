// SPDX-License-Identifier: Apache-2.0

// Names that the server makes: what happens when one is taken already. Texts are kube-apiserver's.

#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/strings.h"
#include "harness/admission_review.h"
#include "harness/test_server.h"
#include "json/reader.h"
#include "net/testing/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

constexpr std::string_view kConfigMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kNotUnique =
    " already exists, the server was not able to generate a unique name for the object";

// A validating webhook that takes the name of each object it is asked about before it allows it.
class NameThief : public ::testing::Test {
 protected:
  void Start(const std::string& version) {
    server_.emplace([&](server::Options& options) { options.kubernetes_version = version; });
    const Answer configured = server_->Post(
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        base::StrCat(R"({"metadata":{"name":"thief"},"webhooks":[{"name":"thief.example.com",
            "clientConfig":{"url":")",
                     hook_.Url("/"), R"(","caBundle":")",
                     base::Base64Encode(hook_.certificates.authority.certificate_pem),
                     R"("},"objectSelector":{"matchLabels":{"wanted":"yes"}},
            "rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],
            "resources":["configmaps"]}],"sideEffects":"None",
            "admissionReviewVersions":["v1"]}]})"));
    ASSERT_EQ(configured.status, 201) << configured.body;
  }
  Answer Create() {
    return server_->Post(kConfigMaps,
                         R"({"metadata":{"generateName":"a-","labels":{"wanted":"yes"}}})");
  }
  std::vector<std::string> names() {
    const std::lock_guard lock(mutex_);
    return names_;
  }

  std::size_t honest_after_ = 100;  // it then takes no name any more

 private:
  void Judge(const std::shared_ptr<net::Exchange>& exchange) {
    const json::Document review = json::ParseDocument(exchange->request().body).value();
    const std::string name(review["request"]["name"].AsString());
    std::size_t count = 0;
    {
      const std::lock_guard lock(mutex_);
      names_.push_back(name);
      count = names_.size();
    }
    if (count <= honest_after_) {
      server_->Post(kConfigMaps, base::StrCat(R"({"metadata":{"name":")", name, R"("}})"));
    }
    exchange->Respond(testing::Allow(review.root()));
  }

  std::mutex mutex_;
  std::vector<std::string> names_;
  std::optional<TestServer> server_;
  net::testing::TestServer hook_{
      [this](const std::shared_ptr<net::Exchange>& exchange) { Judge(exchange); }};
};

TEST_F(NameThief, AnotherNameIsTriedSevenTimes) {
  Start("1.36");

  const Answer refused = Create();

  ASSERT_EQ(names().size(), 8u);
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_EQ(refused["reason"].AsString(), "AlreadyExists");
  EXPECT_EQ(refused.message(), base::StrCat("configmaps \"", names().back(), "\"", kNotUnique));
  EXPECT_EQ(refused["details"]["name"].AsString(), names().back());
  EXPECT_EQ(refused["details"]["retryAfterSeconds"].AsInt(), 1);
}

TEST_F(NameThief, AFreeNameIsFoundInTheEnd) {
  honest_after_ = 7;
  Start("1.36");

  const Answer made = Create();

  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(names().size(), 8u);
  EXPECT_EQ(made["metadata"]["name"].AsString(), names().back());
}

// Releases before v1.31 left it to the client.
TEST_F(NameThief, OldReleasesTryOneName) {
  Start("1.30");

  const Answer refused = Create();

  ASSERT_EQ(names().size(), 1u);
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_EQ(refused.message(), base::StrCat("configmaps \"", names().front(), "\"", kNotUnique));
  EXPECT_EQ(refused["details"]["retryAfterSeconds"].AsInt(), 1);
}

TEST(GenerateNameTest, AGivenNameIsTheOnlyOneTried) {
  TestServer server;
  const std::string both = R"({"metadata":{"name":"a","generateName":"a-","finalizers":["x/y"]}})";
  ASSERT_EQ(server.Post(kConfigMaps, both).status, 201);

  const std::string conflict = base::StrCat("configmaps \"a\"", kNotUnique);
  EXPECT_EQ(server.Post(kConfigMaps, both).message(), conflict);
  EXPECT_EQ(server.Post(base::StrCat(kConfigMaps, "?dryRun=All"), both).message(), conflict);
  EXPECT_EQ(server.Post(kConfigMaps, R"({"metadata":{"name":"a"}})").message(),
            "configmaps \"a\" already exists");
  server.Delete(base::StrCat(kConfigMaps, "/a"));
  EXPECT_EQ(server.Post(kConfigMaps, both).message(),
            base::StrCat("object is being deleted: ", conflict));
}

}  // namespace
}  // namespace portcullis
