// SPDX-License-Identifier: Apache-2.0

// A token webhook that takes its time: whom it holds up, and for how long.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/strings.h"
#include "harness/test_server.h"
#include "net/testing/test_server.h"

namespace portcullis {
namespace {

using net::testing::ExchangeQueue;
using testing::Answer;
using testing::TestServer;

constexpr std::string_view kNamespaces = "/api/v1/namespaces";

class TokenWebhook : public ::testing::Test {
 protected:
  static net::Response Says(std::string_view status) {
    net::Response response;
    response.headers.Set("Content-Type", "application/json");
    response.body = base::StrCat(
        R"({"apiVersion":"authentication.k8s.io/v1beta1","kind":"TokenReview","status":)", status,
        "}");
    return response;
  }

  std::string Kubeconfig() const {
    std::string path = ::testing::TempDir() + "token_webhook_" + std::to_string(getpid());
    std::ofstream(path)
        << "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
        << "users: [{name: u, user: {}}]\nclusters: [{name: c, cluster: {server: '"
        << webhook_.Url("/") << "'}}]\n";
    return path;
  }

  ExchangeQueue asked_;
  const net::testing::TestServer webhook_{
      [this](std::shared_ptr<net::Exchange> exchange) { asked_.Push(std::move(exchange)); },
      {},
      false};
  TestServer server_{[this](server::Options& options) {
    options.authentication_token_webhook_config_file = Kubeconfig();
  }};
};

TEST_F(TokenWebhook, HoldsARequestUpUntilItsDeadline) {
  const Answer late = server_.As("slow", "GET", base::StrCat(kNamespaces, "?timeout=100ms"));
  EXPECT_EQ(late.status, 504);
  EXPECT_EQ(late.message(), "Timeout: request did not complete within the allotted timeout");
}

TEST_F(TokenWebhook, IsAskedAgainIfARequestHadTooLittleTime) {
  (void)server_.As("slow", "GET", base::StrCat(kNamespaces, "?timeout=100ms"));
  (void)asked_.Take();
  Answer answer;
  std::thread client([&] { answer = server_.As("slow", "GET", "/version"); });
  asked_.Take()->Respond(Says(R"({"authenticated":true,"user":{"username":"ann"}})"));
  client.join();
  EXPECT_EQ(answer.status, 200);
}

TEST_F(TokenWebhook, IsNotBelievedWhenItsAnswerIsOfOtherTypes) {
  const std::pair<std::string_view, int> cases[] = {
      {R"({"authenticated":true,"user":{"username":"ann"}})", 200},
      {R"({"authenticated":true,"user":{"username":"ann"},"audiences":"elsewhere"})", 401},
      {R"({"authenticated":true,"user":{"username":"ann"},"audiences":[1]})", 401},
      {R"({"authenticated":true,"user":{"username":"ann","groups":"a"}})", 401},
      {R"({"authenticated":true,"user":[]})", 401}};
  for (const auto& [status, code] : cases) {
    Answer answer;
    std::thread client(
        [&, token = status] { answer = server_.As(base::HexEncode(token), "GET", "/version"); });
    asked_.Take()->Respond(Says(status));
    client.join();
    EXPECT_EQ(answer.status, code) << status;
  }
}

TEST_F(TokenWebhook, DoesNotHoldUpTheEndOfTheServer) {
  Answer answer;
  std::thread client([&] { answer = server_.As("slow", "GET", kNamespaces); });
  const auto exchange = asked_.Take();
  ASSERT_NE(exchange, nullptr);
  const base::SteadyTime start = base::SystemClock().Steady();

  server_.Stop();

  client.join();
  EXPECT_EQ(answer.status, 0);
  // It has half a minute to answer.
  EXPECT_LT(base::SystemClock().Steady() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace portcullis
