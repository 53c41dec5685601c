// SPDX-License-Identifier: Apache-2.0

#include "server/authentication/authentication.h"

#include <string_view>
#include <utility>
#include <vector>

#include "authn/methods.h"
#include "authn/request_header.h"
#include "base/strings.h"
#include "server/bootstrap_tokens.h"
#include "server/token_objects.h"

namespace portcullis::server {
namespace {

// Counts the uses of tokens that were to be renewed, as kube-apiserver does.
authn::ClaimsCheck CheckOfBound(const store::Reader& store, const base::Clock& clock,
                                metrics::Registry& metrics) {
  const auto counter = [&metrics](std::string_view name, std::string_view what) {
    return &metrics
                .AddCounter({base::StrCat("serviceaccount_", name, "_tokens_total"),
                             base::StrCat("Cumulative ", what, " service account tokens used"),
                             metrics::Stability::kAlpha},
                            {})
                .With({});
  };
  return [objects = TokenObjects(store, clock), &clock, stale = counter("stale", "stale projected"),
          valid = counter("valid", "valid projected")](const authn::ServiceAccountClaims& claims) {
    TRY(objects.Check(claims));
    if (claims.warn_after == 0) return base::OkStatus();
    (authn::IsStale(claims, clock.Now()) ? stale : valid)->Increment();
    return base::OkStatus();
  };
}

}  // namespace

base::Result<Authentication> MakeAuthentication(const Options& options,
                                                const Credentials& credentials,
                                                net::HttpsClient& https, const store::Reader& store,
                                                const base::Clock& clock,
                                                metrics::Registry& metrics) {
  Authentication made;
  std::vector<std::unique_ptr<authn::Authenticator>> members;
  if (!options.requestheader_client_ca_file.empty()) {
    members.push_back(TRY(authn::MakeRequestHeader(TRY(FrontProxiesOf(options)), clock)));
  }
  members.push_back(authn::MakeClientCertificate());
  made.signer =
      TRY(authn::MakeTokenSigner(credentials.signing_key_pem, options.service_account_issuer,
                                 credentials.verifying_keys_pem, clock));
  authn::ServiceAccountTokenOptions accounts;
  accounts.issuers = IssuersOf(options);
  accounts.public_keys = credentials.verifying_keys_pem;
  accounts.api_audiences = ApiAudiencesOf(options);
  accounts.check = CheckOfBound(store, clock, metrics);
  if (options.service_account_lookup) {
    made.legacy_tokens = std::make_unique<LegacyTokens>(store, clock, metrics);
    accounts.legacy_check = [legacy = made.legacy_tokens.get()](
                                const authn::ServiceAccountClaims& claims, std::string_view token) {
      return legacy->Check(claims, token);
    };
  }
  authn::TokenAuthenticators tokens;
  if (!options.token_auth_file.empty()) {
    const std::string& file = options.token_auth_file;
    auto loaded = authn::LoadTokenFile(file, accounts.api_audiences);
    if (!loaded.ok()) return loaded.status().Annotate(base::StrCat("--token-auth-file=", file));
    tokens.emplace_back(*std::move(loaded));
  }
  tokens.emplace_back(TRY(authn::MakeLegacyServiceAccountTokens(accounts)));
  tokens.emplace_back(TRY(authn::MakeServiceAccountTokens(accounts, clock)));
  if (options.bootstrap_tokens) {
    tokens.emplace_back(MakeBootstrapTokens(store, accounts.api_audiences, clock));
  }
  made.remote = TRY(authentication::MakeRemoteTokens(
      options, {https, clock, metrics, accounts.api_audiences, accounts.issuers}));
  const authn::TokenAuthenticators& remote = made.remote->tokens();
  tokens.insert(tokens.end(), remote.begin(), remote.end());
  members.push_back(authn::MakeBearerToken(tokens));
  members.push_back(authn::MakeWebSocketToken(std::move(tokens)));
  if (const auto& anonymous = made.remote->anonymous(); anonymous.enabled) {
    members.push_back(authn::MakeAnonymous(anonymous.paths));
  }
  made.authenticator = authn::MakeUnion(std::move(members));
  made.reviewer = authn::MakeTokenReviewer(*made.authenticator, !remote.empty());
  return made;
}

}  // namespace portcullis::server
