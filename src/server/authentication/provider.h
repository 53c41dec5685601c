// SPDX-License-Identifier: Apache-2.0

// Provider: an OpenID Connect issuer as the server sees it: its discovery document, found out in the
// background, and its keys, fetched when a token needs them (github.com/coreos/go-oidc).
#pragma once

#include <memory>
#include <string>

#include "authn/jwt.h"
#include "base/clock.h"
#include "base/status.h"
#include "metrics/metrics.h"
#include "net/client.h"
#include "server/authentication/authentication_file.h"

namespace portcullis::server::authentication {

// Of all issuers, by their hash.
struct ProviderMetrics {
  explicit ProviderMetrics(metrics::Registry& registry);

  metrics::Family<metrics::Histogram>& latency;  // result, jwt_issuer_hash
  metrics::Family<metrics::Gauge>& fetched;      // result, jwt_issuer_hash, apiserver_id_hash
  metrics::Family<metrics::Gauge>& key_sets;     // jwt_issuer_hash, apiserver_id_hash, hash
  const std::string server;                      // its identity, hashed
};
// "sha256:…", or "" of nothing.
std::string HashLabel(std::string_view text);

struct ProviderParts {
  net::HttpsClient& https;
  const base::Clock& clock;
  std::shared_ptr<const ProviderMetrics> metrics;
};

// Thread-safe. What is given by reference outlives it, and so does the client its calls.
class Provider {
 public:
  virtual ~Provider() = default;
  // The error is about the certificate authority.
  static base::Result<std::shared_ptr<Provider>> Create(std::shared_ptr<const JwtSettings> settings,
                                                        const ProviderParts& parts);

  // Begins to ask for the discovery document, unless it is known or asked for already.
  virtual void Discover() = 0;
  // OK as soon as it is known; else why it is not.
  virtual base::Status health() const = 0;
  bool is_initialized() const { return health().ok(); }

  // Whether a key of the issuer has made the signature. Waits for the keys until `deadline` if they are to be
  // fetched. REQUIRES: is_initialized().
  virtual base::Status Verify(const authn::Jwt& token, base::SteadyTime deadline) = 0;
};

}  // namespace portcullis::server::authentication
