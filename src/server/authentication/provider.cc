// SPDX-License-Identifier: Apache-2.0

#include "server/authentication/provider.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/gotext.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "controllers/identity_lease.h"
#include "json/reader.h"
#include "net/tls.h"
#include "server/authentication/freshness.h"

namespace portcullis::server::authentication {
namespace {

constexpr std::string_view kWellKnown = "/.well-known/openid-configuration";
constexpr std::chrono::seconds kTimeout{30};
constexpr std::chrono::seconds kGrace{5};  // of those who wait for a call that has kTimeout
// Keys that last less than this are fetched again for a token that none of them verifies.
constexpr std::chrono::seconds kMinFresh{30};
constexpr std::string_view kNoKey = "failed to verify id token signature";

base::Status Failed(std::string message) { return {base::Reason::kUnknown, std::move(message)}; }

// The body of an answer, as go-oidc reads JSON.
base::Result<json::Document> ReadJson(const net::Response& response) {
  auto parsed = json::ParseDocument(std::string(response.content()));
  if (parsed.ok()) return parsed;
  const std::string_view type = response.headers.Get("Content-Type");
  if (base::Trim(type.substr(0, type.find(';'))) == "application/json") {
    return Failed(
        base::StrCat("got Content-Type = application/json, but could not unmarshal as JSON: ",
                     parsed.status().message()));
  }
  return Failed(base::StrCat("expected Content-Type = application/json, got ", base::GoQuote(type),
                             ": ", parsed.status().message()));
}

std::string StatusLine(int status) {
  return base::StrCat(std::to_string(status), " ", net::StatusText(status));
}

struct KeySet {
  std::vector<authn::NamedJwtKey> keys;
  base::WallTime fresh_until;

  bool Verifies(const authn::Jwt& token) const {
    return std::any_of(keys.begin(), keys.end(), [&](const authn::NamedJwtKey& one) {
      return (token.key_id.empty() || token.key_id == one.id) && one.key != nullptr &&
             !token.has_unknown_critical && one.key->Verify(token);
    });
  }
};
using KeySetPtr = std::shared_ptr<const KeySet>;

class HttpProvider final : public Provider, public std::enable_shared_from_this<HttpProvider> {
 public:
  HttpProvider(std::shared_ptr<const JwtSettings> settings, const ProviderParts& parts,
               std::shared_ptr<const net::ClientTls> tls)
      : settings_(std::move(settings)),
        parts_(parts),
        tls_(std::move(tls)),
        issuer_hash_(HashLabel(settings_->issuer)),
        health_(Failed(base::StrCat("oidc: authenticator for issuer ",
                                    base::GoQuote(settings_->issuer), " is not initialized"))) {}

  void Discover() override {
    {
      base::MutexLock lock(mutex_);
      if (is_discovering_ || health_.ok()) return;
      is_discovering_ = true;
    }
    std::string url = settings_->discovery_url;
    if (url.empty()) {
      std::string_view issuer = settings_->issuer;
      if (issuer.ends_with('/')) issuer.remove_suffix(1);
      url = base::StrCat(issuer, kWellKnown);
    }
    const base::NeedsMemory needs;  // what has begun must end
    Get(std::move(url), [self = shared_from_this()](const net::CallResult& result) {
      const base::NeedsMemory needs_too;
      self->FinishDiscovery(self->ReadDiscovery(result));
    });
  }

  base::Status health() const override {
    base::MutexLock lock(mutex_);
    return health_;
  }

  base::Status Verify(const authn::Jwt& token, base::SteadyTime deadline) override {
    const KeySetPtr known = Keys();
    if (known != nullptr && known->Verifies(token)) return base::OkStatus();
    if (IsFresh(known)) return Failed(std::string(kNoKey));
    auto fetched = FetchKeys(deadline);
    if (!fetched.ok()) {
      return Failed(base::StrCat("fetching keys ", fetched.status().message()));
    }
    return (*fetched)->Verifies(token) ? base::OkStatus() : Failed(std::string(kNoKey));
  }

 private:
  // One fetch, which all wait for that need it.
  struct Fetch {
    bool is_done = false;
    base::Result<KeySetPtr> keys = KeySetPtr();
  };

  void Get(std::string url, net::HttpsClient::Done done) const {
    net::ClientRequest request;
    request.method = "GET";
    request.url = std::move(url);
    request.tls = tls_;
    request.max_redirects = 10;
    request.headers.Add("User-Agent", "Go-http-client/1.1");
    parts_.https.Begin(std::move(request), parts_.clock.Steady() + kTimeout, std::move(done));
  }

  // The address of the keys.
  base::Result<std::string> ReadDiscovery(const net::CallResult& result) const {
    if (!result.ok()) return Failed(result.failure->message);
    const net::Response& response = result.response;
    if (response.status != 200) {
      return Failed(base::StrCat(StatusLine(response.status), ": ", response.content()));
    }
    const auto document = ReadJson(response);
    if (!document.ok()) {
      return Failed(base::StrCat("oidc: failed to decode provider discovery object: ",
                                 document.status().message()));
    }
    const std::string_view issuer = (*document)["issuer"].AsString();
    if (issuer != settings_->issuer) {
      return Failed(
          base::StrCat("oidc: issuer did not match the issuer returned by provider, expected ",
                       base::GoQuote(settings_->issuer), " got ", base::GoQuote(issuer)));
    }
    std::string keys((*document)["jwks_uri"].AsString());
    if (keys.empty()) return Failed("provider did not return JWKS URL");
    return keys;
  }

  void FinishDiscovery(base::Result<std::string> keys_url) {
    if (!keys_url.ok()) {
      base::LogError("oidc authenticator: initializing plugin",
                     {{"issuer", settings_->issuer}, {"error", keys_url.status().message()}});
    }
    base::MutexLock lock(mutex_);
    is_discovering_ = false;
    health_ = keys_url.status();
    if (keys_url.ok()) keys_url_ = *std::move(keys_url);
  }

  KeySetPtr Keys() const {
    base::MutexLock lock(mutex_);
    return keys_;
  }

  bool IsFresh(const KeySetPtr& keys) const {
    return keys != nullptr && parts_.clock.Now() + kMinFresh <= keys->fresh_until;
  }

  base::Result<KeySetPtr> FetchKeys(base::SteadyTime deadline) {
    std::shared_ptr<Fetch> fetch;
    bool is_first = false;
    std::string url;
    {
      base::MutexLock lock(mutex_);
      is_first = fetch_ == nullptr;
      if (is_first) fetch_ = std::make_shared<Fetch>();
      fetch = fetch_;
      url = keys_url_;
    }
    if (is_first) {
      const base::NeedsMemory needs;  // others wait for it
      Get(url, [self = shared_from_this(), fetch](const net::CallResult& result) {
        const base::NeedsMemory needs_too;
        self->FinishFetch(*fetch, self->ReadKeys(result));
      });
    }
    const base::SteadyTime end = parts_.clock.Steady() + kTimeout + kGrace;
    base::MutexLock lock(mutex_);
    while (!fetch->is_done) {
      if (fetched_.WaitUntil(mutex_, std::min(end, deadline))) continue;
      if (fetch_ == fetch && end <= deadline) fetch_ = nullptr;
      return Failed("context deadline exceeded");
    }
    return fetch->keys;
  }

  base::Result<KeySetPtr> ReadKeys(const net::CallResult& result) const {
    if (!result.ok())
      return Failed(base::StrCat("oidc: get keys failed ", result.failure->message));
    const net::Response& response = result.response;
    if (response.status != 200) {
      return Failed(base::StrCat("oidc: get keys failed: ", StatusLine(response.status), " ",
                                 response.content()));
    }
    auto document = ReadJson(response);
    auto keys = document.ok() ? authn::ParseJsonWebKeySet(*document)
                              : base::Result<std::vector<authn::NamedJwtKey>>(document.status());
    if (!keys.ok()) {
      return Failed(base::StrCat("oidc: failed to decode keys: ", keys.status().message(), " ",
                                 response.content()));
    }
    auto set = std::make_shared<KeySet>();
    set->keys = *std::move(keys);
    set->fresh_until = parts_.clock.Now() + FreshFor(response.headers, parts_.clock.Now());
    NoteKeySet(HashLabel(response.content()));
    return KeySetPtr(std::move(set));
  }

  void FinishFetch(Fetch& fetch, base::Result<KeySetPtr> keys) {
    const ProviderMetrics& metrics = *parts_.metrics;
    metrics.fetched.With({keys.ok() ? "success" : "failure", issuer_hash_, metrics.server})
        .Set(std::chrono::duration<double>(parts_.clock.Now().time_since_epoch()).count());
    base::MutexLock lock(mutex_);
    if (keys.ok()) keys_ = *keys;
    fetch.keys = std::move(keys);
    fetch.is_done = true;
    if (fetch_.get() == &fetch) fetch_ = nullptr;
    fetched_.NotifyAll();
  }

  void NoteKeySet(std::string hash) const {
    const ProviderMetrics& metrics = *parts_.metrics;
    base::MutexLock lock(mutex_);
    if (hash == key_set_hash_) return;
    if (!key_set_hash_.empty()) {
      metrics.key_sets.Remove({issuer_hash_, metrics.server, key_set_hash_});
    }
    metrics.key_sets.With({issuer_hash_, metrics.server, hash}).Set(1);
    key_set_hash_ = std::move(hash);
  }

  const std::shared_ptr<const JwtSettings> settings_;
  const ProviderParts parts_;
  const std::shared_ptr<const net::ClientTls> tls_;  // null: the system's roots
  const std::string issuer_hash_;

  mutable base::Mutex mutex_;
  base::CondVar fetched_;
  base::Status health_ PC_GUARDED_BY(mutex_);
  bool is_discovering_ PC_GUARDED_BY(mutex_) = false;
  std::string keys_url_ PC_GUARDED_BY(mutex_);
  KeySetPtr keys_ PC_GUARDED_BY(mutex_);
  std::shared_ptr<Fetch> fetch_ PC_GUARDED_BY(mutex_);  // under way
  mutable std::string key_set_hash_ PC_GUARDED_BY(mutex_);
};

}  // namespace

std::string HashLabel(std::string_view text) {
  return text.empty() ? "" : "sha256:" + base::Sha256Hex(text);
}

ProviderMetrics::ProviderMetrics(metrics::Registry& registry)
    : latency(registry.AddHistogram(
          {"apiserver_authentication_jwt_authenticator_latency_seconds",
           "Latency of jwt authentication operations in seconds. This is the time spent "
           "authenticating a token for cache miss only (i.e. when the token is not found in the "
           "cache)."},
          {"result", "jwt_issuer_hash"},
          {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10})),
      fetched(registry.AddGauge(
          {"apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds",
           "Timestamp of the last successful or failed JWKS fetch split by result, api server "
           "identity and jwt issuer for the JWT authenticator."},
          {"result", "jwt_issuer_hash", "apiserver_id_hash"})),
      key_sets(registry.AddGauge(
          {"apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info",
           "Information about the last JWKS fetched by the JWT authenticator with hash as label, "
           "split by api server identity and jwt issuer."},
          {"jwt_issuer_hash", "apiserver_id_hash", "hash"})),
      server(HashLabel(controllers::OwnServerIdentity())) {}

base::Result<std::shared_ptr<Provider>> Provider::Create(
    std::shared_ptr<const JwtSettings> settings, const ProviderParts& parts) {
  std::shared_ptr<const net::ClientTls> tls;
  if (!settings->certificate_authority.empty()) {
    net::ClientTlsOptions options;
    options.ca_pem = settings->certificate_authority;
    options.protocols = net::ClientProtocols::kHttp2OrHttp1;
    tls = TRY(net::ClientTls::Create(options));
  }
  return std::shared_ptr<Provider>(
      std::make_shared<HttpProvider>(std::move(settings), parts, std::move(tls)));
}

}  // namespace portcullis::server::authentication
