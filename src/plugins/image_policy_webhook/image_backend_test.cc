// SPDX-License-Identifier: Apache-2.0

// The backend against a real HTTPS server, reached through a kubeconfig file.
#include "plugins/image_policy_webhook/image_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "base/strings.h"
#include "json/reader.h"
#include "net/testing/test_server.h"

namespace portcullis::plugins::image_policy_webhook {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

class ImageBackendTest : public ::testing::Test {
 protected:
  ImageBackendTest() : folder_(base::StrCat("/tmp/image-backend-test-", std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~ImageBackendTest() override { std::filesystem::remove_all(folder_); }

  // A kubeconfig that leads to `cluster`.
  base::Result<ImageBackend> Make(std::string_view cluster, std::string_view current = "x") {
    const std::string path = folder_ + "/kubeconfig";
    std::ofstream(path) << "clusters: [{name: c, cluster: {" << cluster << "}}]\n"
                        << "contexts: [{name: x, context: {cluster: c}}]\n"
                        << "current-context: " << current << "\n";
    ImagePolicyConfig config;
    config.kubeconfig_file = path;
    admission::PluginContext context;
    context.https = server_.client.get();
    return ImageBackend::Create(config, context);
  }

  // What is made of an answer: "allowed", "denied: <reason>", or the error.
  std::string Ask(int status, std::string_view type, std::string_view body) {
    {
      const std::lock_guard lock(mutex_);
      calls_ = 0;
      answer_.status = status;
      answer_.headers.Set("Content-Type", std::string(type));
      answer_.body = body;
    }
    const auto backend =
        Make(base::StrCat("server: '", server_.Url("/images"), "', certificate-authority-data: ",
                          base::Base64Encode(server_.certificates.authority.certificate_pem)));
    if (!backend.ok()) return backend.status().message();
    json::Arena arena;
    const auto answer = backend->Ask(arena, json::MakeObject(arena, {}));
    if (!answer.ok()) return answer.status().message();
    return answer->allowed ? "allowed" : base::StrCat("denied: ", answer->reason);
  }
  std::string Ask(std::string_view body) { return Ask(200, "application/json", body); }

  int calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  const std::string folder_;
  std::mutex mutex_;
  net::Response answer_;
  int calls_ = 0;
  net::testing::TestServer server_{[this](const std::shared_ptr<net::Exchange>& exchange) {
    net::Response answer;
    {
      const std::lock_guard lock(mutex_);
      ++calls_;
      answer = answer_;
    }
    if (exchange->request().target == "/moved") {
      answer.status = 200;
      answer.body = base::StrCat(R"({"status":{"allowed":false,"reason":")",
                                 exchange->request().method, R"("}})");
    }
    exchange->Respond(std::move(answer));
  }};
};

TEST_F(ImageBackendTest, AnswersNeedNotTellTheirKind) {
  EXPECT_EQ(Ask(R"({"status":{"allowed":true}})"), "allowed");
  EXPECT_EQ(Ask("status: {allowed: false, reason: old}"), "denied: old");
}

TEST_F(ImageBackendTest, OtherKindsAreNoAnswer) {
  EXPECT_THAT(Ask(R"({"kind":"Foo"})"), StartsWith("no kind \"Foo\" is registered for version "
                                                   "\"imagepolicy.k8s.io/v1alpha1\" in scheme "));
  EXPECT_EQ(Ask(R"({"apiVersion":"v1","kind":"Status"})"),
            "converting (v1.Status) to (v1alpha1.ImageReview): unknown conversion");
}

TEST_F(ImageBackendTest, AnswersAreDecodedAsGoDoes) {
  EXPECT_EQ(Ask(R"({"status":{"allowed":"yes"}})"),
            "json: cannot unmarshal string into Go struct field ImageReviewStatus.status.allowed "
            "of type bool");
  EXPECT_EQ(Ask("{"), "couldn't get version/kind; json parse error: unexpected end of JSON input");
  EXPECT_EQ(Ask(""), "0-length response with status code: 200 and content type: application/json");
}

TEST_F(ImageBackendTest, TriesAgainWhereItMayHelp) {
  EXPECT_THAT(Ask(500, "text/plain", "oops"),
              EndsWith("has prevented the request from succeeding"));
  EXPECT_EQ(calls(), 5);
  EXPECT_EQ(Ask(200, "foo bar", "{}"),
            "Internal error occurred: mime: expected slash after first token");
  EXPECT_EQ(calls(), 5);
  EXPECT_EQ(Ask(400, "text/plain", "x"), "the server rejected our request for an unknown reason");
  EXPECT_EQ(calls(), 1);
}

TEST_F(ImageBackendTest, FollowsRedirectsAsGoDoes) {
  answer_.headers.Set("Location", "/moved");
  EXPECT_EQ(Ask(302, "text/plain", ""), "denied: GET");
  EXPECT_EQ(Ask(307, "text/plain", ""), "denied: POST");
  EXPECT_EQ(calls(), 2);
}

TEST_F(ImageBackendTest, SaysWhatIsWrongWithTheKubeconfig) {
  EXPECT_EQ(Make("server: ''").status().message(),
            "invalid configuration: no server found for cluster \"c\"");
  EXPECT_EQ(Make("server: 'https://a'", "z").status().message(),
            "invalid configuration: [context was not found for specified context: z, cluster has "
            "no server defined]");
  EXPECT_EQ(Make("server: 'https://a', certificate-authority: gone.pem").status().message(),
            base::StrCat("invalid configuration: unable to read certificate-authority ", folder_,
                         "/gone.pem for c due to open ", folder_,
                         "/gone.pem: no such file or directory"));
}

}  // namespace
}  // namespace portcullis::plugins::image_policy_webhook
