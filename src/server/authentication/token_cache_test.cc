// SPDX-License-Identifier: Apache-2.0

#include "server/authentication/token_cache.h"

#include <gtest/gtest.h>

#include "base/testing/fake_clock.h"

namespace portcullis::server::authentication {
namespace {

// Knows "good", has an error for "ill", and counts.
class Tokens final : public authn::TokenAuthenticator {
 public:
  base::Result<std::optional<authn::Identity>> AuthenticateToken(
      std::string_view token, const std::vector<std::string>& audiences) const override {
    ++asked;
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
};

class TokenCacheTest : public ::testing::Test {
 protected:
  std::shared_ptr<const authn::TokenAuthenticator> Make(std::chrono::seconds known,
                                                        std::chrono::seconds unknown) {
    return MakeTokenCache(tokens_, {.known = known, .unknown = unknown}, clock_);
  }

  base::FakeClock clock_;
  const std::shared_ptr<Tokens> tokens_ = std::make_shared<Tokens>();
};

TEST_F(TokenCacheTest, AsksAgainWhenTheTimeIsOver) {
  const auto cache = Make(std::chrono::seconds(10), std::chrono::seconds(5));
  EXPECT_FALSE(cache->AuthenticateAtOnce("good", {}));
  EXPECT_EQ((**cache->AuthenticateToken("good", {})).user.name, "ann");
  EXPECT_TRUE(cache->AuthenticateAtOnce("good", {}));
  EXPECT_FALSE(cache->AuthenticateAtOnce("good", {"a"}));
  EXPECT_FALSE(cache->AuthenticateToken("bad", {})->has_value());
  clock_.Advance(std::chrono::seconds(5));
  EXPECT_TRUE(cache->AuthenticateAtOnce("good", {}));
  EXPECT_FALSE(cache->AuthenticateAtOnce("bad", {}));
  EXPECT_EQ((**cache->AuthenticateToken("good", {})).user.name, "ann");
  EXPECT_EQ(tokens_->asked, 2);
  clock_.Advance(std::chrono::seconds(5));
  EXPECT_FALSE(cache->AuthenticateAtOnce("good", {}));
}

TEST_F(TokenCacheTest, EachAudienceIsAQuestionOfItsOwn) {
  const auto cache = Make(std::chrono::seconds(10), std::chrono::seconds(0));
  EXPECT_EQ((**cache->AuthenticateToken("good", {"a", "b"})).audiences.size(), 2U);
  EXPECT_EQ((**cache->AuthenticateToken("good", {"ab"})).audiences.size(), 1U);
  EXPECT_EQ(tokens_->asked, 2);
}

TEST_F(TokenCacheTest, NeverKeepsErrors) {
  const auto cache = Make(std::chrono::seconds(10), std::chrono::seconds(10));
  EXPECT_FALSE(cache->AuthenticateToken("ill", {}).ok());
  EXPECT_FALSE(cache->AuthenticateToken("ill", {}).ok());
  EXPECT_EQ(tokens_->asked, 2);
}

}  // namespace
}  // namespace portcullis::server::authentication
