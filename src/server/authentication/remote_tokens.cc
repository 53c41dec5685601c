// SPDX-License-Identifier: Apache-2.0

#include "server/authentication/remote_tokens.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "api/field_error.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/mutex.h"
#include "base/published.h"
#include "base/strings.h"
#include "server/authentication/jwt_tokens.h"
#include "server/authentication/token_cache.h"
#include "server/authentication/token_webhook.h"
#include "server/reload_metrics.h"

namespace portcullis::server::authentication {
namespace {

constexpr std::chrono::seconds kLookEvery{1};
constexpr std::chrono::seconds kAskIssuersEvery{10};
constexpr std::chrono::minutes kNewIssuersHave{1};  // to answer
// How long a token that is found good is not looked at again.
constexpr std::chrono::seconds kTokensCount{10};

// Whichever issuers are in force.
class CurrentTokens final : public authn::TokenAuthenticator {
 public:
  base::Result<std::optional<authn::Identity>> AuthenticateToken(
      std::string_view token, const std::vector<std::string>& audiences,
      base::SteadyTime deadline) const override {
    return current_.Get()->AuthenticateToken(token, audiences, deadline);
  }
  std::optional<base::Result<std::optional<authn::Identity>>> AuthenticateAtOnce(
      std::string_view token, const std::vector<std::string>& audiences) const override {
    return current_.Get()->AuthenticateAtOnce(token, audiences);
  }
  void Set(std::shared_ptr<const JwtTokens> tokens) { current_.Set(std::move(tokens)); }

 private:
  base::Published<JwtTokens> current_;
};

class ByOthers final : public RemoteTokens {
 public:
  ByOthers(const Options& options, Parts parts)
      : options_(options),
        parts_(std::move(parts)),
        file_(options.authentication_config),
        provider_metrics_(std::make_shared<const ProviderMetrics>(parts_.metrics)) {
    anonymous_.enabled = options.anonymous_auth;
  }
  ~ByOthers() override {
    {
      base::MutexLock lock(mutex_);
      stopping_ = true;
      wake_.NotifyAll();
    }
    if (thread_.joinable()) thread_.join();
  }

  base::Status Begin() {
    if (!file_.empty() || !options_.oidc_issuer_url.empty()) TRY(BeginIssuers());
    if (!options_.authentication_token_webhook_config_file.empty()) TRY(BeginWebhook());
    return base::OkStatus();
  }

  const authn::TokenAuthenticators& tokens() const override { return tokens_; }
  const AnonymousSettings& anonymous() const override { return anonymous_; }

 private:
  base::Status BeginIssuers() {
    json::Document document;
    if (file_.empty()) {
      document = TRY(ConfigurationOfFlags(options_));
    } else {
      auto parsed = ReadFile();
      if (!parsed.ok()) {
        return parsed.status().Annotate(base::StrCat(
            "failed to load authentication configuration from file ", base::GoQuote(file_)));
      }
      document = *std::move(parsed);
    }
    if (document["anonymous"].is_object() && options_.anonymous_auth_given) {
      return base::ConfigError(
          api::Forbidden(api::FieldPath("anonymous"),
                         "--anonymous-auth flag cannot be set when anonymous field is configured "
                         "in authentication configuration file")
              .ToString());
    }
    auto configuration = ReadConfiguration(document, {});
    if (!configuration.ok()) {
      return configuration.status().Annotate("invalid authentication configuration");
    }
    TRY(CheckIssuers(*configuration, parts_.service_account_issuers));
    file_anonymous_ = configuration->anonymous;
    if (file_anonymous_) anonymous_ = *file_anonymous_;
    issuers_ = TRY(Make(*configuration));
    current_ = std::make_shared<CurrentTokens>();
    current_->Set(issuers_);
    tokens_.push_back(
        MakeTokenCache(current_, {.known = kTokensCount}, parts_.clock, parts_.metrics));
    if (!file_.empty()) {
      reload_metrics_.emplace(parts_.metrics, "authentication", provider_metrics_->server);
      reload_metrics_->Note(HashLabel(text_));
    }
    if (file_.empty() && configuration->jwt.empty()) return base::OkStatus();
    issuers_->Discover();
    thread_ = std::thread([this] { Run(); });
    return base::OkStatus();
  }

  base::Status BeginWebhook() {
    TokenWebhookOptions options;
    options.kubeconfig = options_.authentication_token_webhook_config_file;
    options.version = options_.authentication_token_webhook_version;
    options.api_audiences = parts_.api_audiences;
    const base::Duration ttl = options_.authentication_token_webhook_cache_ttl;
    auto webhook = TRY(MakeTokenWebhook(options, parts_.https));
    if (ttl.count() > 0 && ttl < kTokensCount) {
      base::LogWarning(base::StrCat("the webhook cache ttl of ", base::FormatDuration(ttl),
                                    " is shorter than the overall cache ttl of ",
                                    base::FormatDuration(kTokensCount),
                                    " for successful token authentication attempts."));
    }
    const CacheTimes times{.known = std::max<base::Duration>(ttl, kTokensCount), .unknown = ttl};
    tokens_.push_back(MakeTokenCache(std::move(webhook), times, parts_.clock, parts_.metrics));
    return base::OkStatus();
  }

  base::Result<json::Document> ReadFile() {
    text_ = TRY(base::ReadFile(file_));
    return ParseConfiguration(text_);
  }

  base::Result<std::shared_ptr<JwtTokens>> Make(const Configuration& configuration) const {
    std::vector<std::string> algorithms = options_.oidc_signing_algs;
    if (algorithms.empty()) algorithms = {"RS256"};
    if (!file_.empty()) algorithms.assign(SigningAlgorithms().begin(), SigningAlgorithms().end());
    return JwtTokens::Create(configuration, {{parts_.https, parts_.clock, provider_metrics_},
                                             std::move(algorithms),
                                             parts_.api_audiences});
  }

  void Run() {
    const base::NeedsMemory needs;
    base::SteadyTime ask = parts_.clock.Steady() + kAskIssuersEvery;
    base::MutexLock lock(mutex_);
    while (!stopping_) {
      const base::SteadyTime now = parts_.clock.Steady();
      if (wake_.WaitUntil(mutex_, file_.empty() ? ask : now + kLookEvery)) continue;
      if (!file_.empty()) Look();
      if (parts_.clock.Steady() < ask) continue;
      ask += kAskIssuersEvery;
      issuers_->Discover();
      if (next_ != nullptr) next_->Discover();
    }
  }

  // What the file holds is tried until it is in force or can never be.
  void Look() {
    std::string text;
    if (auto read = base::ReadFile(file_); read.ok()) {
      text = *std::move(read);
    } else {
      if (std::exchange(is_unreadable_, true)) return;
      return Fail("failed to read authentication config file", read.status());
    }
    is_unreadable_ = false;
    if (text != text_) {
      text_ = std::move(text);
      next_ = nullptr;
      BeginNext();
    }
    if (next_ == nullptr) return;
    const base::Status health = next_->health();
    if (health.ok()) {
      issuers_ = std::exchange(next_, nullptr);
      current_->Set(issuers_);
      base::LogInfo("reloaded authentication config");
      reload_metrics_->Count("success", parts_.clock);
      reload_metrics_->Note(HashLabel(text_));
    } else if (parts_.clock.Steady() > next_deadline_) {
      Fail("failed to update authentication config", health);
      next_deadline_ += kNewIssuersHave;
    }
  }

  // The issuers of a changed file are asked; those of the last one stay in force meanwhile.
  void BeginNext() {
    const auto document = ParseConfiguration(text_);
    if (!document.ok()) return Fail("failed to load authentication config", document.status());
    auto configuration = ReadConfiguration(*document, parts_.service_account_issuers);
    if (configuration.ok() && configuration->anonymous != file_anonymous_) {
      configuration = base::ConfigError(
          api::Forbidden(api::FieldPath("anonymous"), "changed from initial configuration file")
              .ToString());
    }
    if (!configuration.ok()) {
      return Fail("failed to validate authentication config", configuration.status());
    }
    const base::Status issuers = CheckIssuers(*configuration, parts_.service_account_issuers);
    auto made =
        issuers.ok() ? Make(*configuration) : base::Result<std::shared_ptr<JwtTokens>>(issuers);
    if (!made.ok()) return Fail("failed to update authentication config", made.status());
    next_ = *std::move(made);
    next_->Discover();
    next_deadline_ = parts_.clock.Steady() + kNewIssuersHave;
  }

  void Fail(std::string_view what, const base::Status& status) {
    base::LogError(what, {{"error", status.message()}});
    reload_metrics_->Count("failure", parts_.clock);
  }

  const Options& options_;
  const Parts parts_;
  const std::string file_;
  const std::shared_ptr<const ProviderMetrics> provider_metrics_;
  std::optional<ReloadMetrics> reload_metrics_;  // with a file
  AnonymousSettings anonymous_;
  std::optional<AnonymousSettings> file_anonymous_;
  authn::TokenAuthenticators tokens_;
  std::shared_ptr<CurrentTokens> current_;

  // After the start the thread's.
  std::string text_;  // of the file
  bool is_unreadable_ = false;
  std::shared_ptr<JwtTokens> issuers_;
  std::shared_ptr<JwtTokens> next_;  // asked, not in force yet
  base::SteadyTime next_deadline_;

  base::Mutex mutex_;
  base::CondVar wake_;
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace

base::Result<std::unique_ptr<RemoteTokens>> MakeRemoteTokens(const Options& options,
                                                             const Parts& parts) {
  auto made = std::make_unique<ByOthers>(options, parts);
  const base::Status begun = made->Begin();
  if (!begun.ok()) return begun;
  return std::unique_ptr<RemoteTokens>(std::move(made));
}

}  // namespace portcullis::server::authentication
