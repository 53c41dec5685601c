// SPDX-License-Identifier: Apache-2.0

// Verification of service account tokens, step by step as kube-apiserver's JWTTokenAuthenticator: issuer,
// signature, audiences, times, objects.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "authn/jwt.h"
#include "authn/service_account.h"
#include "base/gotext.h"
#include "base/mutex.h"
#include "base/strings.h"

namespace portcullis::authn {
namespace {

constexpr std::string_view kLegacyIssuer = "kubernetes/serviceaccount";
// For clocks that differ, in seconds.
constexpr std::int64_t kLeeway = 60;

base::Status Refuse(std::string message) {
  return {base::Reason::kUnauthorized, std::move(message)};
}

// Claims that every token may have.
struct PublicClaims {
  std::string issuer;
  std::string subject;
  std::vector<std::string> audiences;
  std::optional<std::int64_t> expires_at;
  std::optional<std::int64_t> not_before;
  std::optional<std::int64_t> issued_at;
  std::string id;
};

std::string_view KindOf(json::Value value) {
  return value.is_bool()     ? "bool"
         : value.is_number() ? "number"
         : value.is_array()  ? "array"
         : value.is_object() ? "object"
                             : "string";
}

base::Status WrongType(json::Value value, std::string_view wanted) {
  return Refuse(
      base::StrCat("json: cannot unmarshal ", KindOf(value), " into Go value of type ", wanted));
}

base::Status Read(json::Value value, std::string& text) {
  if (value.is_null()) return base::OkStatus();
  if (!value.is_string()) return WrongType(value, "string");
  text = value.AsString();
  return base::OkStatus();
}

// Any number, cut off to whole seconds.
base::Status Read(json::Value value, std::optional<std::int64_t>& time) {
  if (value.is_null()) return base::OkStatus();
  if (!value.is_number()) {
    return Refuse("go-jose/go-jose/jwt: expected number value to unmarshal NumericDate");
  }
  const double seconds = value.AsDouble();
  constexpr double kMost = 9.2e18;
  time = std::abs(seconds) < kMost ? static_cast<std::int64_t>(seconds)
                                   : std::numeric_limits<std::int64_t>::min();
  return base::OkStatus();
}

// A list, or the single text RFC 7519 §4.1.3 allows in its place.
base::Status Read(const json::Document& claims, std::vector<std::string>& audiences) {
  constexpr const char* kWrong =
      "go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience";
  const json::Value value = claims["aud"];
  if (value.is_string()) {
    audiences.emplace_back(value.AsString());
    return base::OkStatus();
  }
  const bool is_given = std::any_of(claims.root().members().begin(), claims.root().members().end(),
                                    [](const auto& member) { return member.name() == "aud"; });
  if (is_given && !value.is_array()) return Refuse(kWrong);
  for (json::Value one : value.elements()) {
    if (!one.is_string()) return Refuse(kWrong);
    audiences.emplace_back(one.AsString());
  }
  return base::OkStatus();
}

base::Result<PublicClaims> ReadPublicClaims(const json::Document& json) {
  PublicClaims claims;
  TRY(Read(json["iss"], claims.issuer));
  TRY(Read(json["sub"], claims.subject));
  TRY(Read(json, claims.audiences));
  TRY(Read(json["exp"], claims.expires_at));
  TRY(Read(json["nbf"], claims.not_before));
  TRY(Read(json["iat"], claims.issued_at));
  TRY(Read(json["jti"], claims.id));
  return claims;
}

base::Status Read(json::Value value, ObjectRef& ref) {
  if (value.is_null()) return base::OkStatus();
  if (!value.is_object()) return WrongType(value, "serviceaccount.ref");
  TRY(Read(value["name"], ref.name));
  return Read(value["uid"], ref.uid);
}

base::Status Read(json::Value value, std::optional<ObjectRef>& ref) {
  return value.is_null() ? base::OkStatus() : Read(value, ref.emplace());
}

base::Result<ServiceAccountClaims> ReadBoundClaims(const json::Document& json) {
  ServiceAccountClaims claims;
  const json::Value bound = json["kubernetes.io"];
  if (!bound.is_null() && !bound.is_object()) return WrongType(bound, "serviceaccount.kubernetes");
  TRY(Read(bound["namespace"], claims.ns));
  TRY(Read(bound["serviceaccount"], claims.service_account));
  TRY(Read(bound["pod"], claims.pod));
  TRY(Read(bound["secret"], claims.secret));
  TRY(Read(bound["node"], claims.node));
  std::optional<std::int64_t> warn_after;
  TRY(Read(bound["warnafter"], warn_after));
  claims.warn_after = warn_after.value_or(0);  // since the epoch, as if it had been made then
  return claims;
}

base::Result<ServiceAccountClaims> ReadLegacyClaims(const json::Document& json) {
  ServiceAccountClaims claims;
  TRY(Read(json["kubernetes.io/serviceaccount/service-account.name"], claims.service_account.name));
  TRY(Read(json["kubernetes.io/serviceaccount/service-account.uid"], claims.service_account.uid));
  TRY(Read(json["kubernetes.io/serviceaccount/secret.name"], claims.secret.emplace().name));
  TRY(Read(json["kubernetes.io/serviceaccount/namespace"], claims.ns));
  return claims;
}

// Tokens whose signature has been found good, so that a client's next request does not pay for it
// again. Everything else about a token is judged each time.
class SignedTokens {
 public:
  std::shared_ptr<const Jwt> Find(std::string_view token) const {
    base::ReaderLock lock(mutex_);
    auto it = tokens_.find(token);
    return it == tokens_.end() ? nullptr : it->second;
  }
  void Add(std::string_view token, std::shared_ptr<const Jwt> jwt) {
    base::WriterLock lock(mutex_);
    // Starting over now and then is simpler than keeping an order, and costs one check per token.
    if (tokens_.size() >= kMost) tokens_.clear();
    tokens_.emplace(std::string(token), std::move(jwt));
  }

 private:
  static constexpr std::size_t kMost = 4096;
  mutable base::SharedMutex mutex_;
  std::map<std::string, std::shared_ptr<const Jwt>, std::less<>> tokens_ PC_GUARDED_BY(mutex_);
};

using Keys = std::vector<std::shared_ptr<const JwtKey>>;

class Verifier : public TokenAuthenticator {
 public:
  Verifier(std::vector<std::string> issuers, std::vector<std::string> api_audiences, Keys keys)
      : issuers_(std::move(issuers)),
        api_audiences_(std::move(api_audiences)),
        keys_(std::move(keys)) {}

  base::Result<std::optional<Identity>> AuthenticateToken(std::string_view token,
                                                          const std::vector<std::string>& audiences,
                                                          base::SteadyTime) const override {
    std::shared_ptr<const Jwt> jwt = cache_.Find(token);
    if (jwt == nullptr) {
      auto parsed = ParseJwt(token);
      // Not a token of this issuer: another authenticator may accept it.
      if (!parsed.ok() || !IsOfIssuer(parsed->claims)) return std::optional<Identity>();
      TRY(CheckSignature(*parsed));
      jwt = std::make_shared<const Jwt>(*std::move(parsed));
      cache_.Add(token, jwt);
    }
    if (!jwt->duplicate_claim.empty()) {
      return Refuse(base::StrCat("json: duplicate key '", jwt->duplicate_claim, "' in object"));
    }
    const PublicClaims claims = TRY(ReadPublicClaims(jwt->claims));
    const ServiceAccountClaims own = TRY(OwnClaims(jwt->claims));
    if (!IsIssuer(claims.issuer)) {
      return Refuse(base::StrCat("token issuer ", base::GoQuote(claims.issuer), " is invalid"));
    }
    Identity identity;
    identity.audiences = TRY(CommonAudiences(claims.audiences, audiences));
    identity.user = TRY(Validate(token, claims, own, identity.notes));
    return std::optional<Identity>(std::move(identity));
  }

 private:
  // The claims of this kind of token; an error if one has the wrong type.
  virtual base::Result<ServiceAccountClaims> OwnClaims(const json::Document& claims) const = 0;
  virtual base::Result<api::UserInfo> Validate(std::string_view token, const PublicClaims& claims,
                                               const ServiceAccountClaims& own,
                                               Notes& notes) const = 0;

  bool IsIssuer(std::string_view issuer) const {
    return std::find(issuers_.begin(), issuers_.end(), issuer) != issuers_.end();
  }

  bool IsOfIssuer(const json::Document& claims) const {
    const auto issuer = IssuerOf(claims);
    return issuer && IsIssuer(*issuer);
  }

  base::Status CheckSignature(const Jwt& jwt) const {
    bool has_key = false;
    for (const auto& key : keys_) {
      if (!jwt.key_id.empty() && jwt.key_id != key->id()) continue;
      has_key = true;
      if (!jwt.has_unknown_critical && key->Verify(jwt)) return base::OkStatus();
    }
    return Refuse(has_key ? "go-jose/go-jose: error in cryptographic primitive"
                          : "invalid signature, no keys found");
  }

  base::Result<std::vector<std::string>> CommonAudiences(
      const std::vector<std::string>& of_token, const std::vector<std::string>& asked) const {
    const std::vector<std::string>& wanted = asked.empty() ? api_audiences_ : asked;
    // A token without audiences is good for the API server.
    const std::vector<std::string>& has = of_token.empty() ? api_audiences_ : of_token;
    std::vector<std::string> common;
    for (const std::string& audience : has) {
      if (std::find(wanted.begin(), wanted.end(), audience) != wanted.end()) {
        common.push_back(audience);
      }
    }
    if (common.empty() && !api_audiences_.empty()) {
      return Refuse(base::StrCat("token audiences ", base::GoQuotedList(has),
                                 " is invalid for the target audiences ",
                                 base::GoQuotedList(wanted)));
    }
    return common;
  }

  const std::vector<std::string> issuers_;
  const std::vector<std::string> api_audiences_;
  const Keys keys_;
  mutable SignedTokens cache_;
};

api::UserInfo UserOf(const ServiceAccountClaims& claims) {
  api::UserInfo user;
  user.name = ServiceAccountUser(claims.ns, claims.service_account.name);
  user.uid = claims.service_account.uid;
  user.groups = {"system:serviceaccounts", base::StrCat("system:serviceaccounts:", claims.ns)};
  return user;
}

class BoundTokens final : public Verifier {
 public:
  BoundTokens(const ServiceAccountTokenOptions& options, Keys keys, const base::Clock& clock)
      : Verifier(options.issuers, options.api_audiences, std::move(keys)),
        check_(options.check),
        clock_(clock) {}

 private:
  base::Result<ServiceAccountClaims> OwnClaims(const json::Document& claims) const override {
    return ReadBoundClaims(claims);
  }

  base::Result<api::UserInfo> Validate(std::string_view, const PublicClaims& claims,
                                       const ServiceAccountClaims& own,
                                       Notes& notes) const override {
    TRY(CheckTimes(claims));
    if (check_) TRY(check_(own));
    const base::WallTime now = clock_.Now();
    if (IsStale(own, now)) {
      const auto since = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
      const auto late = since.count() - own.warn_after;
      notes.audit_annotations.emplace_back(
          "authentication.k8s.io/stale-token",
          base::StrCat("subject: ", claims.subject,
                       ", seconds after warning threshold: ", std::to_string(late)));
    }
    api::UserInfo user = UserOf(own);
    const auto add = [&user](std::string_view what, const std::string& value) {
      user.extra[base::StrCat("authentication.kubernetes.io/", what)] = {value};
    };
    if (own.pod && !own.pod->name.empty() && !own.pod->uid.empty()) {
      add("pod-name", own.pod->name);
      add("pod-uid", own.pod->uid);
    }
    if (own.node && !own.node->name.empty()) {
      add("node-name", own.node->name);
      if (!own.node->uid.empty()) add("node-uid", own.node->uid);
    }
    if (!claims.id.empty()) {
      user.extra[std::string(kCredentialId)] = {base::StrCat("JTI=", claims.id)};
    }
    return user;
  }

  base::Status CheckTimes(const PublicClaims& claims) const {
    const auto since = clock_.Now().time_since_epoch();
    const std::int64_t now = std::chrono::floor<std::chrono::seconds>(since).count();
    const bool is_whole = std::chrono::seconds(now) == since;
    if (claims.not_before && now + kLeeway < *claims.not_before) {
      return Refuse("service account token is not valid yet");
    }
    if (claims.expires_at && (now - kLeeway > *claims.expires_at ||
                              (now - kLeeway == *claims.expires_at && !is_whole))) {
      return Refuse("service account token has expired");
    }
    if (claims.issued_at && now + kLeeway < *claims.issued_at) {
      return Refuse("service account token is issued in the future");
    }
    return base::OkStatus();
  }

  const ClaimsCheck check_;
  const base::Clock& clock_;
};

class LegacyTokens final : public Verifier {
 public:
  LegacyTokens(const ServiceAccountTokenOptions& options, Keys keys)
      : Verifier({std::string(kLegacyIssuer)}, options.api_audiences, std::move(keys)),
        check_(options.legacy_check) {}

 private:
  base::Result<ServiceAccountClaims> OwnClaims(const json::Document& claims) const override {
    return ReadLegacyClaims(claims);
  }

  base::Result<api::UserInfo> Validate(std::string_view token, const PublicClaims& claims,
                                       const ServiceAccountClaims& own,
                                       Notes& notes) const override {
    if (claims.subject.empty()) return Refuse("sub claim is missing");
    if (own.ns.empty()) return Refuse("namespace claim is missing");
    if (own.secret->name.empty()) return Refuse("secretName claim is missing");
    if (own.service_account.name.empty()) return Refuse("serviceAccountName claim is missing");
    if (own.service_account.uid.empty()) return Refuse("serviceAccountUID claim is missing");
    std::string_view ns, name;
    if (!SplitServiceAccountUser(claims.subject, ns, name) || ns != own.ns ||
        name != own.service_account.name) {
      return Refuse("sub claim is invalid");
    }
    if (check_) notes = TRY(check_(own, token));
    return UserOf(own);
  }

  const LegacyClaimsCheck check_;
};

base::Result<Keys> ParseKeys(const std::vector<std::string>& pems) {
  Keys keys;
  for (const std::string& pem : pems) {
    for (auto& key : TRY(ParseJwtKeys(pem))) keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace

bool IsStale(const ServiceAccountClaims& claims, base::WallTime now) {
  return claims.warn_after != 0 && now.time_since_epoch() > std::chrono::seconds(claims.warn_after);
}

base::Result<std::unique_ptr<TokenAuthenticator>> MakeServiceAccountTokens(
    const ServiceAccountTokenOptions& options, const base::Clock& clock) {
  Keys keys = TRY(ParseKeys(options.public_keys));
  return std::unique_ptr<TokenAuthenticator>(
      std::make_unique<BoundTokens>(options, std::move(keys), clock));
}

base::Result<std::unique_ptr<TokenAuthenticator>> MakeLegacyServiceAccountTokens(
    const ServiceAccountTokenOptions& options) {
  Keys keys = TRY(ParseKeys(options.public_keys));
  return std::unique_ptr<TokenAuthenticator>(
      std::make_unique<LegacyTokens>(options, std::move(keys)));
}

}  // namespace portcullis::authn
