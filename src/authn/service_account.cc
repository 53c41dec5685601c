#include "authn/service_account.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "api/selector/label_selector.h"
#include "authn/jwt.h"
#include "base/gotext.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::authn {
namespace {

constexpr std::string_view kUserPrefix = "system:serviceaccount:";
constexpr std::string_view kPrivate = "kubernetes.io";

std::int64_t Seconds(base::WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

base::Status Refuse(std::string message) {
  return {base::Reason::kUnauthorized, std::move(message)};
}

json::Value RefToJson(json::Arena& arena, const ObjectRef& ref) {
  json::ObjectBuilder out(arena);
  out.Set("name", std::string_view(ref.name));
  if (!ref.uid.empty()) out.Set("uid", std::string_view(ref.uid));
  return out.Build();
}

ObjectRef RefFromJson(json::Value ref) {
  return {std::string(ref["name"].AsString()), std::string(ref["uid"].AsString())};
}

// A list, or the single text RFC 7519 §4.1.3 allows in its place.
std::vector<std::string> Audiences(json::Value aud) {
  std::vector<std::string> out;
  if (aud.is_string()) out.emplace_back(aud.AsString());
  for (json::Value one : aud.elements()) out.emplace_back(one.AsString());
  return out;
}

// Members in alphabetical order, as the library Kubernetes uses prints them.
std::string ClaimsJson(const ServiceAccountClaims& claims, std::string_view issuer) {
  json::Arena arena;
  json::ArrayBuilder audiences(arena);
  for (const std::string& audience : claims.audiences) audiences.Add(std::string_view(audience));
  json::ObjectBuilder bound(arena);
  bound.Set("namespace", std::string_view(claims.ns));
  if (!claims.node.empty()) bound.Set("node", RefToJson(arena, claims.node));
  if (!claims.pod.empty()) bound.Set("pod", RefToJson(arena, claims.pod));
  if (!claims.secret.empty()) bound.Set("secret", RefToJson(arena, claims.secret));
  bound.Set("serviceaccount", RefToJson(arena, claims.service_account));
  if (claims.warn_after > 0) bound.Set("warnafter", claims.issued_at + claims.warn_after);
  json::ObjectBuilder all(arena);
  all.Set("aud", audiences.Build());
  all.Set("exp", claims.expires_at).Set("iat", claims.issued_at).Set("iss", issuer);
  all.Set("jti", std::string_view(claims.id));
  all.Set(kPrivate, bound.Build());
  all.Set("nbf", claims.issued_at);
  const std::string user = ServiceAccountUser(claims.ns, claims.service_account.name);
  all.Set("sub", std::string_view(user));
  return json::ToString(all.Build());
}

ServiceAccountClaims ClaimsFromJson(const json::Document& json) {
  const json::Value bound = json[kPrivate];
  ServiceAccountClaims claims;
  claims.ns = bound["namespace"].AsString();
  claims.service_account = RefFromJson(bound["serviceaccount"]);
  claims.pod = RefFromJson(bound["pod"]);
  claims.secret = RefFromJson(bound["secret"]);
  claims.node = RefFromJson(bound["node"]);
  claims.audiences = Audiences(json["aud"]);
  claims.issued_at = json["iat"].AsInt();
  claims.expires_at = json["exp"].AsInt();
  claims.id = json["jti"].AsString();
  return claims;
}

class Signer final : public TokenSigner {
 public:
  Signer(std::shared_ptr<const JwtKey> key, std::string issuer, const base::Clock& clock)
      : key_(std::move(key)), issuer_(std::move(issuer)), clock_(clock) {}

  base::Result<std::string> Sign(ServiceAccountClaims& claims,
                                 base::Duration lifetime) const override {
    claims.issued_at = Seconds(clock_.Now());
    claims.expires_at =
        claims.issued_at + std::chrono::duration_cast<std::chrono::seconds>(lifetime).count();
    claims.id = base::Uuid();
    return SignJwt(*key_, ClaimsJson(claims, issuer_));
  }
  std::string KeySetJson() const override {
    return base::StrCat(R"({"keys":[)", key_->JsonWebKey(), "]}");
  }

 private:
  const std::shared_ptr<const JwtKey> key_;
  const std::string issuer_;
  const base::Clock& clock_;
};

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

class Verifier final : public TokenAuthenticator {
 public:
  Verifier(ServiceAccountTokenOptions options, std::vector<std::shared_ptr<const JwtKey>> keys,
           const base::Clock& clock)
      : options_(std::move(options)), keys_(std::move(keys)), clock_(clock) {}

  base::Result<std::optional<Identity>> AuthenticateToken(
      std::string_view token, const std::vector<std::string>& audiences) const override {
    std::shared_ptr<const Jwt> jwt = cache_.Find(token);
    if (jwt == nullptr) {
      auto parsed = ParseJwt(token);
      // Not ours: another authenticator may know it.
      if (!parsed.ok() || !IsIssuer(parsed->claims["iss"].AsString())) {
        return std::optional<Identity>();
      }
      if (!IsSigned(*parsed)) return Refuse("invalid signature");
      jwt = std::make_shared<const Jwt>(std::move(*parsed));
      cache_.Add(token, jwt);
    }
    ServiceAccountClaims claims = ClaimsFromJson(jwt->claims);
    Identity identity;
    identity.audiences = TRY(CheckAudiences(claims, audiences));
    TRY(CheckTimes(jwt->claims));
    TRY(CheckSubject(jwt->claims, claims));
    if (options_.check) TRY(options_.check(claims));
    identity.user = UserOf(claims);
    return std::optional<Identity>(std::move(identity));
  }

 private:
  bool IsIssuer(std::string_view issuer) const {
    return std::find(options_.issuers.begin(), options_.issuers.end(), issuer) !=
           options_.issuers.end();
  }

  bool IsSigned(const Jwt& jwt) const {
    for (const auto& key : keys_) {
      if (!jwt.key_id.empty() && jwt.key_id != key->id()) continue;
      if (key->Verify(jwt)) return true;
    }
    return false;
  }

  base::Result<std::vector<std::string>> CheckAudiences(
      const ServiceAccountClaims& claims, const std::vector<std::string>& asked) const {
    const std::vector<std::string>& wanted = asked.empty() ? options_.api_audiences : asked;
    // A token without audiences is good for the API server.
    const std::vector<std::string>& has =
        claims.audiences.empty() ? options_.api_audiences : claims.audiences;
    std::vector<std::string> common;
    for (const std::string& audience : wanted) {
      if (std::find(has.begin(), has.end(), audience) != has.end()) common.push_back(audience);
    }
    if (common.empty() && !wanted.empty()) {
      return Refuse(base::StrCat("token audiences ", base::GoQuotedList(has),
                                 " is invalid for the target audiences ",
                                 base::GoQuotedList(wanted)));
    }
    return common;
  }

  base::Status CheckTimes(const json::Document& claims) const {
    const double now = static_cast<double>(Seconds(clock_.Now()));
    if (!claims["exp"].is_number() || now > claims["exp"].AsDouble()) {
      return Refuse("service account token has expired");
    }
    if (claims["nbf"].is_number() && now < claims["nbf"].AsDouble()) {
      return Refuse("service account token is not valid yet");
    }
    return base::OkStatus();
  }

  static base::Status CheckSubject(const json::Document& json, const ServiceAccountClaims& claims) {
    const std::string user = ServiceAccountUser(claims.ns, claims.service_account.name);
    if (claims.ns.empty() || claims.service_account.empty() || json["sub"].AsString() != user) {
      return Refuse("token could not be validated due to missing or contradicting claims");
    }
    return base::OkStatus();
  }

  static api::UserInfo UserOf(const ServiceAccountClaims& claims) {
    api::UserInfo user;
    user.name = ServiceAccountUser(claims.ns, claims.service_account.name);
    user.uid = claims.service_account.uid;
    user.groups = {"system:serviceaccounts", base::StrCat("system:serviceaccounts:", claims.ns)};
    auto add = [&](std::string_view kind, const ObjectRef& ref) {
      if (ref.empty()) return;
      user.extra[base::StrCat("authentication.kubernetes.io/", kind, "-name")] = {ref.name};
      if (ref.uid.empty()) return;
      user.extra[base::StrCat("authentication.kubernetes.io/", kind, "-uid")] = {ref.uid};
    };
    add("pod", claims.pod);
    add("node", claims.node);
    if (!claims.id.empty()) {
      user.extra[std::string(kCredentialId)] = {base::StrCat("JTI=", claims.id)};
    }
    return user;
  }

  const ServiceAccountTokenOptions options_;
  const std::vector<std::shared_ptr<const JwtKey>> keys_;
  const base::Clock& clock_;
  mutable SignedTokens cache_;
};

}  // namespace

base::Result<std::unique_ptr<TokenSigner>> MakeTokenSigner(std::string_view private_key_pem,
                                                           std::string issuer,
                                                           const base::Clock& clock) {
  auto key = TRY(ParseJwtSigningKey(private_key_pem));
  return std::unique_ptr<TokenSigner>(
      std::make_unique<Signer>(std::move(key), std::move(issuer), clock));
}

base::Result<std::unique_ptr<TokenAuthenticator>> MakeServiceAccountTokens(
    ServiceAccountTokenOptions options, const base::Clock& clock) {
  std::vector<std::shared_ptr<const JwtKey>> keys;
  for (const std::string& pem : options.public_keys) {
    for (auto& key : TRY(ParseJwtKeys(pem))) keys.push_back(std::move(key));
  }
  return std::unique_ptr<TokenAuthenticator>(
      std::make_unique<Verifier>(std::move(options), std::move(keys), clock));
}

std::string ServiceAccountUser(std::string_view ns, std::string_view name) {
  return base::StrCat(kUserPrefix, ns, ":", name);
}

bool SplitServiceAccountUser(std::string_view user, std::string_view& ns, std::string_view& name) {
  if (!user.starts_with(kUserPrefix)) return false;
  const auto parts = base::Cut(user.substr(kUserPrefix.size()), ":");
  if (!parts || !api::IsDns1123Label(parts->first).empty() ||
      !api::IsDns1123Subdomain(parts->second).empty()) {
    return false;
  }
  ns = parts->first;
  name = parts->second;
  return true;
}

}  // namespace portcullis::authn
