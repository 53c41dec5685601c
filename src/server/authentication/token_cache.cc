// SPDX-License-Identifier: Apache-2.0

#include "server/authentication/token_cache.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/expiring_cache.h"
#include "base/strings.h"

namespace portcullis::server::authentication {
namespace {

constexpr std::size_t kMost = 8192;

// Tokens themselves are not kept. Lengths stand before the texts, so that no two lists look the same.
std::string KeyOf(std::string_view token, const std::vector<std::string>& audiences) {
  std::string text = base::StrCat(std::to_string(token.size()), ":", token);
  for (const std::string& audience : audiences) {
    text += base::StrCat(std::to_string(audience.size()), ":", audience);
  }
  return base::Sha256Hex(text);
}

class TokenCache final : public authn::TokenAuthenticator {
 public:
  using Outcome = std::optional<authn::Identity>;

  TokenCache(std::shared_ptr<const authn::TokenAuthenticator> tokens, const CacheTimes& times,
             const base::Clock& clock)
      : tokens_(std::move(tokens)), times_(times), clock_(clock) {}

  base::Result<Outcome> AuthenticateToken(
      std::string_view token, const std::vector<std::string>& audiences) const override {
    std::string key = KeyOf(token, audiences);
    if (auto known = cache_.Find(key, clock_.Steady())) return *std::move(known);
    auto outcome = tokens_->AuthenticateToken(token, audiences);
    if (!outcome.ok()) return outcome;
    const base::Duration ttl = outcome->has_value() ? times_.known : times_.unknown;
    if (ttl.count() > 0) cache_.Put(std::move(key), *outcome, clock_.Steady() + ttl);
    return outcome;
  }

  std::optional<base::Result<Outcome>> AuthenticateAtOnce(
      std::string_view token, const std::vector<std::string>& audiences) const override {
    if (auto known = cache_.Find(KeyOf(token, audiences), clock_.Steady())) {
      return base::Result<Outcome>(*std::move(known));
    }
    return tokens_->AuthenticateAtOnce(token, audiences);
  }

 private:
  const std::shared_ptr<const authn::TokenAuthenticator> tokens_;
  const CacheTimes times_;
  const base::Clock& clock_;
  mutable base::ExpiringCache<Outcome> cache_{kMost};
};

}  // namespace

std::shared_ptr<const authn::TokenAuthenticator> MakeTokenCache(
    std::shared_ptr<const authn::TokenAuthenticator> tokens, const CacheTimes& times,
    const base::Clock& clock) {
  return std::make_shared<TokenCache>(std::move(tokens), times, clock);
}

}  // namespace portcullis::server::authentication
