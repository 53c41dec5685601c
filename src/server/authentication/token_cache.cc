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

// Counts one more while it lives.
class Counted {
 public:
  explicit Counted(metrics::Gauge& gauge) : gauge_(gauge) { gauge_.Add(1); }
  ~Counted() { gauge_.Add(-1); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  metrics::Gauge& gauge_;
};

struct CacheMetrics {
  explicit CacheMetrics(metrics::Registry& registry)
      : durations(registry.AddHistogram({"authentication_token_cache_request_duration_seconds", ""},
                                        {"status"},
                                        {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10})),
        requests(registry.AddCounter({"authentication_token_cache_request_total", ""}, {"status"})),
        fetches(registry.AddCounter({"authentication_token_cache_fetch_total", ""}, {"status"})),
        active(
            registry.AddGauge({"authentication_token_cache_active_fetch_count", ""}, {"status"})) {}

  // In whole milliseconds, as kube-apiserver tells them.
  void Count(std::string_view status, base::Duration took) const {
    requests.With({status}).Increment();
    const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(took);
    durations.With({status}).Observe(static_cast<double>(whole.count()) / 1000);
  }

  metrics::Family<metrics::Histogram>& durations;  // status: hit, miss
  metrics::Family<metrics::Counter>& requests;     // likewise
  metrics::Family<metrics::Counter>& fetches;      // ok, error
  metrics::Family<metrics::Gauge>& active;         // in_flight, blocked
};

class TokenCache final : public authn::TokenAuthenticator {
 public:
  using Outcome = base::Result<std::optional<authn::Identity>>;

  TokenCache(std::shared_ptr<const authn::TokenAuthenticator> tokens, const CacheTimes& times,
             const base::Clock& clock, metrics::Registry& metrics)
      : tokens_(std::move(tokens)), times_(times), clock_(clock), metrics_(metrics) {}

  Outcome AuthenticateToken(std::string_view token, const std::vector<std::string>& audiences,
                            base::SteadyTime deadline) const override {
    const std::string key = KeyOf(token, audiences);
    const base::SteadyTime begin = clock_.Steady();
    if (auto known = Known(key)) return *std::move(known);
    const Counted blocked(metrics_.active.With({"blocked"}));
    auto outcome = lookups_.Do(key, deadline, [&]() -> std::optional<Outcome> {
      if (auto known = cache_.Find(key, clock_.Steady())) return *std::move(known);
      const base::SteadyTime end = std::min(deadline, clock_.Steady() + kLookupLimit);
      const Counted in_flight(metrics_.active.With({"in_flight"}));
      Outcome found = tokens_->AuthenticateToken(token, audiences, end);
      metrics_.fetches.With({found.ok() ? "ok" : "error"}).Increment();
      // Others may have more time than this request had.
      if (!found.ok()) return clock_.Steady() < deadline ? std::optional(found) : std::nullopt;
      const base::Duration ttl = found->has_value() ? times_.known : times_.unknown;
      if (ttl.count() > 0) cache_.Put(key, *found, clock_.Steady() + ttl);
      return found;
    });
    metrics_.Count("miss", clock_.Steady() - begin);
    if (outcome) return *std::move(outcome);
    return base::Status(base::Reason::kUnknown, "context deadline exceeded");
  }

  std::optional<Outcome> AuthenticateAtOnce(
      std::string_view token, const std::vector<std::string>& audiences) const override {
    if (auto known = Known(KeyOf(token, audiences))) return known;
    return tokens_->AuthenticateAtOnce(token, audiences);
  }

 private:
  // What is kept of a token; counts as a hit.
  std::optional<Outcome> Known(const std::string& key) const {
    const base::SteadyTime begin = clock_.Steady();
    auto known = cache_.Find(key, begin);
    if (!known) return std::nullopt;
    metrics_.Count("hit", clock_.Steady() - begin);
    return Outcome(*std::move(known));
  }

  const std::shared_ptr<const authn::TokenAuthenticator> tokens_;
  const CacheTimes times_;
  const base::Clock& clock_;
  const CacheMetrics metrics_;
  mutable base::ExpiringCache<std::optional<authn::Identity>> cache_{kMost};
  mutable base::SingleFlight<Outcome> lookups_;
};

}  // namespace

std::shared_ptr<const authn::TokenAuthenticator> MakeTokenCache(
    std::shared_ptr<const authn::TokenAuthenticator> tokens, const CacheTimes& times,
    const base::Clock& clock, metrics::Registry& metrics) {
  return std::make_shared<TokenCache>(std::move(tokens), times, clock, metrics);
}

}  // namespace portcullis::server::authentication
