// SPDX-License-Identifier: Apache-2.0

#include "server/authentication/token_cache.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "base/testing/fake_clock.h"

namespace portcullis::server::authentication {
namespace {

constexpr base::SteadyTime kNever = base::SteadyTime::max();

// Knows "good", has an error for "ill", and counts.
class Tokens final : public authn::TokenAuthenticator {
 public:
  base::Result<std::optional<authn::Identity>> AuthenticateToken(
      std::string_view token, const std::vector<std::string>& audiences,
      base::SteadyTime deadline) const override {
    ++asked;
    time = deadline;
    if (const auto run = std::exchange(meanwhile, nullptr)) run();
    if (token == "ill") return base::Status(base::Reason::kUnauthorized, "ill");
    if (token != "good") return std::optional<authn::Identity>();
    authn::Identity identity;
    identity.user.name = "ann";
    identity.audiences = audiences;
    return std::optional<authn::Identity>(std::move(identity));
  }
  std::optional<base::Result<std::optional<authn::Identity>>> AuthenticateAtOnce(
      std::string_view, const std::vector<std::string>&) const override {
    return std::nullopt;
  }

  mutable int asked = 0;
  mutable base::SteadyTime time;            // for the last question
  mutable std::function<void()> meanwhile;  // during the next question
};

class TokenCacheTest : public ::testing::Test {
 protected:
  std::shared_ptr<const authn::TokenAuthenticator> Make(std::chrono::seconds known,
                                                        std::chrono::seconds unknown) {
    return MakeTokenCache(tokens_, {.known = known, .unknown = unknown}, clock_, metrics_);
  }

  base::FakeClock clock_;
  metrics::Registry metrics_;
  const std::shared_ptr<Tokens> tokens_ = std::make_shared<Tokens>();
};

TEST_F(TokenCacheTest, AsksAgainWhenTheTimeIsOver) {
  const auto cache = Make(std::chrono::seconds(10), std::chrono::seconds(5));
  EXPECT_FALSE(cache->AuthenticateAtOnce("good", {}));
  EXPECT_EQ((**cache->AuthenticateToken("good", {}, kNever)).user.name, "ann");
  EXPECT_TRUE(cache->AuthenticateAtOnce("good", {}));
  EXPECT_FALSE(cache->AuthenticateAtOnce("good", {"a"}));
  EXPECT_FALSE(cache->AuthenticateToken("bad", {}, kNever)->has_value());
  clock_.Advance(std::chrono::seconds(5));
  EXPECT_TRUE(cache->AuthenticateAtOnce("good", {}));
  EXPECT_FALSE(cache->AuthenticateAtOnce("bad", {}));
  EXPECT_EQ((**cache->AuthenticateToken("good", {}, kNever)).user.name, "ann");
  EXPECT_EQ(tokens_->asked, 2);
  clock_.Advance(std::chrono::seconds(5));
  EXPECT_FALSE(cache->AuthenticateAtOnce("good", {}));
}

TEST_F(TokenCacheTest, CountsHitsMissesAndQuestions) {
  const auto cache = Make(std::chrono::seconds(10), std::chrono::seconds(5));
  EXPECT_FALSE(cache->AuthenticateAtOnce("good", {}));
  for (const char* token : {"good", "good", "ill"})
    (void)cache->AuthenticateToken(token, {}, kNever);
  EXPECT_TRUE(cache->AuthenticateAtOnce("good", {}));
  const std::string page = metrics_.Expose();
  for (const char* line :
       {"authentication_token_cache_request_total{status=\"hit\"} 2\n",
        "authentication_token_cache_request_total{status=\"miss\"} 2\n",
        "authentication_token_cache_request_duration_seconds_count{status=\"miss\"} 2\n",
        "authentication_token_cache_fetch_total{status=\"error\"} 1\n",
        "authentication_token_cache_fetch_total{status=\"ok\"} 1\n",
        "authentication_token_cache_active_fetch_count{status=\"blocked\"} 0\n",
        "authentication_token_cache_active_fetch_count{status=\"in_flight\"} 0\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << page;
  }
}

TEST_F(TokenCacheTest, EachAudienceIsAQuestionOfItsOwn) {
  const auto cache = Make(std::chrono::seconds(10), std::chrono::seconds(0));
  EXPECT_EQ((**cache->AuthenticateToken("good", {"a", "b"}, kNever)).audiences.size(), 2U);
  EXPECT_EQ((**cache->AuthenticateToken("good", {"ab"}, kNever)).audiences.size(), 1U);
  EXPECT_EQ(tokens_->asked, 2);
}

TEST_F(TokenCacheTest, NeverKeepsErrors) {
  const auto cache = Make(std::chrono::seconds(10), std::chrono::seconds(10));
  EXPECT_FALSE(cache->AuthenticateToken("ill", {}, kNever).ok());
  EXPECT_FALSE(cache->AuthenticateToken("ill", {}, kNever).ok());
  EXPECT_EQ(tokens_->asked, 2);
}

TEST_F(TokenCacheTest, GivesAQuestionHalfAMinuteOrTheTimeOfTheRequest) {
  const auto cache = Make(std::chrono::seconds(10), std::chrono::seconds(10));
  const base::SteadyTime start = clock_.Steady();
  EXPECT_TRUE(cache->AuthenticateToken("good", {}, kNever).ok());
  EXPECT_EQ(tokens_->time, start + std::chrono::seconds(30));
  EXPECT_TRUE(cache->AuthenticateToken("bad", {}, start + std::chrono::seconds(5)).ok());
  EXPECT_EQ(tokens_->time, start + std::chrono::seconds(5));
}

TEST_F(TokenCacheTest, DoesNotAskWhatIsAskedAlready) {
  const auto cache = Make(std::chrono::seconds(10), std::chrono::seconds(10));
  std::string other;
  tokens_->meanwhile = [&] {
    other = cache->AuthenticateToken("good", {}, clock_.Steady()).status().message();
  };
  EXPECT_EQ((**cache->AuthenticateToken("good", {}, kNever)).user.name, "ann");
  EXPECT_EQ(other, "context deadline exceeded") << "its time was over before the answer came";
  EXPECT_EQ(tokens_->asked, 1);
}

}  // namespace
}  // namespace portcullis::server::authentication
