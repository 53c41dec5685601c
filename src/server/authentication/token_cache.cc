// SPDX-License-Identifier: Apache-2.0

#include "server/authentication/token_cache.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/expiring_cache.h"
#include "base/single_flight.h"
#include "base/strings.h"

namespace portcullis::server::authentication {
namespace {

constexpr std::size_t kMost = 8192;
constexpr std::chrono::seconds kLookupLimit{30};

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
  using Outcome = base::Result<std::optional<authn::Identity>>;

  TokenCache(std::shared_ptr<const authn::TokenAuthenticator> tokens, const CacheTimes& times,
             const base::Clock& clock)
      : tokens_(std::move(tokens)), times_(times), clock_(clock) {}

  Outcome AuthenticateToken(std::string_view token, const std::vector<std::string>& audiences,
                            base::SteadyTime deadline) const override {
    const std::string key = KeyOf(token, audiences);
    auto outcome = lookups_.Do(key, deadline, [&]() -> std::optional<Outcome> {
      if (auto known = cache_.Find(key, clock_.Steady())) return *std::move(known);
      const base::SteadyTime end = std::min(deadline, clock_.Steady() + kLookupLimit);
      Outcome found = tokens_->AuthenticateToken(token, audiences, end);
      // Others may have more time than this request had.
      if (!found.ok()) return clock_.Steady() < deadline ? std::optional(found) : std::nullopt;
      const base::Duration ttl = found->has_value() ? times_.known : times_.unknown;
      if (ttl.count() > 0) cache_.Put(key, *found, clock_.Steady() + ttl);
      return found;
    });
    if (outcome) return *std::move(outcome);
    return base::Status(base::Reason::kUnknown, "context deadline exceeded");
  }

  std::optional<Outcome> AuthenticateAtOnce(
      std::string_view token, const std::vector<std::string>& audiences) const override {
    if (auto known = cache_.Find(KeyOf(token, audiences), clock_.Steady())) {
      return Outcome(*std::move(known));
    }
    return tokens_->AuthenticateAtOnce(token, audiences);
  }

 private:
  const std::shared_ptr<const authn::TokenAuthenticator> tokens_;
  const CacheTimes times_;
  const base::Clock& clock_;
  mutable base::ExpiringCache<std::optional<authn::Identity>> cache_{kMost};
  mutable base::SingleFlight<Outcome> lookups_;
};

}  // namespace

std::shared_ptr<const authn::TokenAuthenticator> MakeTokenCache(
    std::shared_ptr<const authn::TokenAuthenticator> tokens, const CacheTimes& times,
    const base::Clock& clock) {
  return std::make_shared<TokenCache>(std::move(tokens), times, clock);
}

}  // namespace portcullis::server::authentication
