// SPDX-License-Identifier: Apache-2.0

// Service account tokens: JWTs that the server signs on TokenRequest and later recognizes.
//
// Claims as Kubernetes writes them: iss, sub "system:serviceaccount:<ns>:<name>", aud, exp, iat,
// nbf, jti and "kubernetes.io" with namespace, serviceaccount and optionally pod, secret or node.
// RS256 and ES256 (P-256). Immutable after construction. Source: Kubernetes docs, "Managing Service
// Accounts"; RFC 7515, RFC 7519.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authn/authenticator.h"
#include "base/clock.h"
#include "base/status.h"

namespace portcullis::authn {

struct ObjectRef {
  std::string name;
  std::string uid;
};

// What a token says beside its times.
struct ServiceAccountClaims {
  std::string ns;
  ObjectRef service_account;
  std::optional<ObjectRef> pod;
  std::optional<ObjectRef> secret;
  std::optional<ObjectRef> node;
  std::vector<std::string> audiences;
  std::int64_t issued_at = 0;   // seconds since the epoch; filled by Sign
  std::int64_t expires_at = 0;  // likewise
  // When use of a token that lives longer is a mistake to be noted; 0 for never. For Sign, seconds from now; of
  // a token that has been verified, seconds since the epoch.
  std::int64_t warn_after = 0;
  std::string id;  // jti; filled by Sign
};

// Whether a token that has been verified should have been renewed by now.
bool IsStale(const ServiceAccountClaims& claims, base::WallTime now);

class TokenSigner {
 public:
  virtual ~TokenSigner() = default;
  // The token; fills issued_at, expires_at and id of the claims.
  virtual base::Result<std::string> Sign(ServiceAccountClaims& claims,
                                         base::Duration lifetime) const = 0;
  // The JSON Web Key Set for /openid/v1/jwks: all keys that tokens are verified with.
  virtual const std::string& KeySetJson() const = 0;
};

// Makes a signer from a private key in PEM (RSA or EC P-256). `public_keys`: see ServiceAccountTokenOptions.
base::Result<std::unique_ptr<TokenSigner>> MakeTokenSigner(
    std::string_view private_key_pem, std::string issuer,
    const std::vector<std::string>& public_keys, const base::Clock& clock);

// Checks the objects a verified token is bound to: an error if the service account (or pod, secret,
// node) is gone or has another uid.
using ClaimsCheck = std::function<base::Status(const ServiceAccountClaims&)>;
// The same for a token of a secret: `claims.secret` has no uid; the secret has to hold `token`.
using LegacyClaimsCheck =
    std::function<base::Result<Notes>(const ServiceAccountClaims& claims, std::string_view token)>;

struct ServiceAccountTokenOptions {
  std::vector<std::string> issuers;        // --service-account-issuer; the first one signs
  std::vector<std::string> public_keys;    // PEM texts: public keys, certificates or private keys
  std::vector<std::string> api_audiences;  // --api-audiences
  ClaimsCheck check;                       // may be empty
  LegacyClaimsCheck legacy_check;          // empty: --service-account-lookup=false
};

// Tokens of the TokenRequest API. Verdicts and texts as kube-apiserver's, which leaves a minute for
// clocks that differ, asks neither for an end nor for a subject, and refuses a claim of another type
// or one that stands there twice.
base::Result<std::unique_ptr<TokenAuthenticator>> MakeServiceAccountTokens(
    const ServiceAccountTokenOptions& options, const base::Clock& clock);
// Tokens that controllers once put into secrets, of the issuer "kubernetes/serviceaccount". They
// do not end.
base::Result<std::unique_ptr<TokenAuthenticator>> MakeLegacyServiceAccountTokens(
    const ServiceAccountTokenOptions& options);

// Group and user names: "system:serviceaccount:ns:name", "system:serviceaccounts:ns".
std::string ServiceAccountUser(std::string_view ns, std::string_view name);

// True and the parts if `user` is a service account's.
bool SplitServiceAccountUser(std::string_view user, std::string_view& ns, std::string_view& name);

}  // namespace portcullis::authn
