// SPDX-License-Identifier: Apache-2.0

// Service account tokens that live in secrets, and what a server makes of their use. The answers are
// those of a kube-apiserver 1.36.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "authn/jwt.h"
#include "base/file.h"
#include "base/strings.h"
#include "harness/jumping_clock.h"
#include "harness/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TestServer;
using namespace std::chrono_literals;

constexpr std::string_view kSecrets = "/api/v1/namespaces/default/secrets";
constexpr std::string_view kAccounts = "/api/v1/namespaces/default/serviceaccounts";
constexpr std::string_view kLastUsed = "kubernetes.io/legacy-token-last-used";

class LegacyTokens : public ::testing::Test {
 protected:
  LegacyTokens() : server_({}, clock_) {
    // No test lasts until another day.
    const auto day = std::chrono::floor<std::chrono::days>(clock_.Now());
    if (day + 24h - clock_.Now() < 10min) clock_.JumpTo(10min);
    today_ = base::FormatTime(clock_.Now()).substr(0, 10);
    tomorrow_ = base::FormatTime(clock_.Now() + 24h).substr(0, 10);
    const Answer made = server_.Post(kAccounts, R"({"metadata":{"name":"old"}})");
    account_uid_ = made["metadata"]["uid"].AsString();
  }

  // A token, and the secret that holds it.
  std::string MakeToken(std::string_view secret, std::string_view labels = "{}") {
    const auto key = authn::ParseJwtSigningKey(*base::ReadFile(server_.folder() + "/pki/sa.key"));
    const std::string token = *authn::SignJwt(
        **key, base::StrCat(R"({"iss":"kubernetes/serviceaccount",)",
                            R"("kubernetes.io/serviceaccount/namespace":"default",)",
                            R"("kubernetes.io/serviceaccount/secret.name":")", secret,
                            R"(","kubernetes.io/serviceaccount/service-account.name":"old",)",
                            R"("kubernetes.io/serviceaccount/service-account.uid":")", account_uid_,
                            R"(","sub":"system:serviceaccount:default:old"})"));
    const Answer made = server_.Post(
        kSecrets, base::StrCat(R"({"metadata":{"name":")", secret, R"(","labels":)", labels,
                               R"(,"annotations":{"kubernetes.io/service-account.name":"old"}},)",
                               R"("type":"kubernetes.io/service-account-token","data":{"token":")",
                               base::Base64Encode(token), R"("}})"));
    EXPECT_EQ(made.status, 201) << made.body;
    return token;
  }
  Answer Use(std::string_view token) { return server_.As(token, "GET", "/api"); }
  // Until the secret has been labelled, which happens after the answer.
  void AwaitLabel(std::string_view name, const std::function<void()>& use) {
    const std::string path = base::StrCat(kSecrets, "?watch=1&timeoutSeconds=60&resourceVersion=",
                                          Secret(name)["metadata"]["resourceVersion"].AsString(),
                                          "&fieldSelector=metadata.name%3D", name);
    EXPECT_EQ(server_.Watch(path, 1, use).size(), 1U) << name;
  }
  Answer Secret(std::string_view name) { return server_.Get(base::StrCat(kSecrets, "/", name)); }
  std::string LastUsed(std::string_view name) {
    return std::string(Secret(name)["metadata"]["labels"][kLastUsed].AsString());
  }
  static std::string Label(std::string_view name, std::string_view value) {
    return base::StrCat(R"({")", name, R"(":")", value, R"("})");
  }

  testing::JumpingClock clock_;
  std::string today_;
  std::string tomorrow_;
  TestServer server_;
  std::string account_uid_;
};

TEST_F(LegacyTokens, TheDayOfTheLastUseIsALabelOfTheSecret) {
  const std::string token = MakeToken("manual");
  EXPECT_EQ(LastUsed("manual"), "");
  AwaitLabel("manual", [&] {
    const Answer used = Use(token);
    EXPECT_EQ(used.status, 200) << used.body;
    EXPECT_THAT(used.warnings(), IsEmpty());
  });
  EXPECT_EQ(LastUsed("manual"), today_);
  EXPECT_EQ(Secret("manual")["metadata"]["managedFields"][0]["manager"].AsString(),
            "kube-apiserver");
  Use(token);
  clock_.Pass(24h);
  AwaitLabel("manual", [&] { Use(token); });  // the next change is that of the next day
  EXPECT_EQ(LastUsed("manual"), tomorrow_);
}

TEST_F(LegacyTokens, ALabelOfTomorrowStays) {
  const std::string token = MakeToken("ahead", Label(kLastUsed, tomorrow_));
  EXPECT_EQ(Use(token).status, 200);
  const std::string odd = MakeToken("odd", Label(kLastUsed, "x"));
  AwaitLabel("odd", [&] { Use(odd); });  // labelled one after the other
  EXPECT_EQ(LastUsed("odd"), today_);
  EXPECT_EQ(LastUsed("ahead"), tomorrow_);
}

TEST_F(LegacyTokens, ReviewsCountAsUses) {
  const std::string token = MakeToken("reviewed");
  AwaitLabel("reviewed", [&] {
    const Answer review = server_.Post("/apis/authentication.k8s.io/v1/tokenreviews",
                                       base::StrCat(R"({"spec":{"token":")", token, R"("}})"));
    EXPECT_TRUE(review["status"]["authenticated"].AsBool()) << review.body;
  });
  EXPECT_EQ(LastUsed("reviewed"), today_);
}

TEST_F(LegacyTokens, ThoseOfGeneratedSecretsAreWarnedOf) {
  const std::string token = MakeToken("auto");
  server_.Patch(base::StrCat(kAccounts, "/old"), "application/merge-patch+json",
                R"({"secrets":[{"name":"auto"}]})");
  EXPECT_THAT(Use(token).warnings(),
              Contains("299 - \"Use tokens from the TokenRequest API or manually created "
                       "secret-based tokens instead of auto-generated secret-based tokens.\""));
  EXPECT_THAT(server_.Get("/metrics").body,
              HasSubstr("serviceaccount_legacy_auto_token_uses_total 1\n"));
  // Written on an I/O thread, then by a worker, because a quota concerns it: warned of all the same.
  server_.Post("/api/v1/namespaces/default/resourcequotas",
               R"({"metadata":{"name":"q"},"spec":{"hard":{"configmaps":"9"}}})");
  server_.Post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
               R"({"metadata":{"name":"old"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io",)"
               R"("kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":)"
               R"("ServiceAccount","namespace":"default","name":"old"}]})");
  const Answer made = server_.As(token, "POST", "/api/v1/namespaces/default/configmaps",
                                 R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.warnings().size(), 1U);
}

TEST_F(LegacyTokens, InvalidOnesAreRefusedAndTheirUseIsNoted) {
  const std::string token =
      MakeToken("invalid", Label("kubernetes.io/legacy-token-invalid-since", "2020-01-01"));
  AwaitLabel("invalid", [&] {
    const Answer refused = Use(token);
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(refused.message(), "Unauthorized");
  });
  EXPECT_EQ(LastUsed("invalid"), today_);
}

}  // namespace
}  // namespace portcullis
