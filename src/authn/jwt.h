// SPDX-License-Identifier: Apache-2.0

// JSON Web Tokens in compact form: taking apart, signing, verifying (RFC 7515, 7518, 7519).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::authn {

// A token taken apart; nothing of it is verified.
struct Jwt {
  std::string algorithm;  // header's alg
  std::string key_id;     // header's kid
  // An extension that changes what the signature means is demanded and not known.
  bool has_unknown_critical = false;
  json::Document claims;  // an object or null
  // A member of the claims that stands there twice, "" if none.
  std::string duplicate_claim;
  std::string signed_part;  // encoded anew
  std::string signature;
};

// The issuer that claims name, as Go's encoding/json reads it: the case of the name does not matter and
// the last one counts. No value if it is no text.
std::optional<std::string_view> IssuerOf(const json::Document& claims);

// The issuer of claims or of a compact token of which nothing is verified, with the name that Google has for
// itself made whole. No value if it is no such token.
std::optional<std::string> UntrustedIssuer(const json::Document& claims);
std::optional<std::string> UntrustedIssuer(std::string_view token);

// Takes what go-jose v2 takes: white space is left out, header members are not to be there twice.
base::Result<Jwt> ParseJwt(std::string_view token);

// A key that signs or verifies. Immutable after construction.
class JwtKey {
 public:
  virtual ~JwtKey() = default;
  // RS256 for RSA, ES256, ES384, ES512 by curve.
  virtual std::string_view algorithm() const = 0;
  // The base64url SHA-256 of the DER of the public key, as Kubernetes identifies keys.
  virtual const std::string& id() const = 0;
  // By any algorithm of the kind of key: RS and PS for RSA, ES for curves, 256, 384 and 512 each.
  virtual bool Verify(const Jwt& token) const = 0;
  // The signature of header and claims as `alg` wants it. REQUIRES: made from a private key.
  virtual base::Result<std::string> Sign(std::string_view signed_part) const = 0;
  // The public key as a JSON Web Key (RFC 7517).
  virtual std::string JsonWebKey() const = 0;
};

// Every key of a PEM text: private keys, public keys, certificates. `error data does not contain
// any valid RSA or ECDSA public keys` if there is none.
base::Result<std::vector<std::shared_ptr<const JwtKey>>> ParseJwtKeys(std::string_view pem);
base::Result<std::shared_ptr<const JwtKey>> ParseJwtSigningKey(std::string_view pem);

// A key of a JSON Web Key Set.
struct NamedJwtKey {
  std::string id;                     // kid
  std::shared_ptr<const JwtKey> key;  // null: of a kind that signs no tokens here (oct, Ed25519)
};
// Errors are go-jose's: `go-jose/go-jose: unknown json web key type 'x'`.
base::Result<std::vector<NamedJwtKey>> ParseJsonWebKeySet(const json::Document& set);

// header.claims.signature
base::Result<std::string> SignJwt(const JwtKey& key, std::string_view claims_json);

}  // namespace portcullis::authn
