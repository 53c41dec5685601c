// SPDX-License-Identifier: Apache-2.0

#include "authn/service_account.h"

#include <chrono>
#include <utility>

#include "api/selector/label_selector.h"
#include "authn/jwt.h"
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

json::Value RefToJson(json::Arena& arena, const ObjectRef& ref) {
  json::ObjectBuilder out(arena);
  out.Set("name", std::string_view(ref.name));
  if (!ref.uid.empty()) out.Set("uid", std::string_view(ref.uid));
  return out.Build();
}

// Members in alphabetical order, as the library Kubernetes uses prints them.
std::string ClaimsJson(const ServiceAccountClaims& claims, std::string_view issuer) {
  json::Arena arena;
  json::ArrayBuilder audiences(arena);
  for (const std::string& audience : claims.audiences) audiences.Add(std::string_view(audience));
  json::ObjectBuilder bound(arena);
  bound.Set("namespace", std::string_view(claims.ns));
  if (claims.node) bound.Set("node", RefToJson(arena, *claims.node));
  if (claims.pod) bound.Set("pod", RefToJson(arena, *claims.pod));
  if (claims.secret) bound.Set("secret", RefToJson(arena, *claims.secret));
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

class Signer final : public TokenSigner {
 public:
  Signer(std::shared_ptr<const JwtKey> key, std::string issuer, std::string key_set,
         const base::Clock& clock)
      : key_(std::move(key)),
        issuer_(std::move(issuer)),
        key_set_(std::move(key_set)),
        clock_(clock) {}

  base::Result<std::string> Sign(ServiceAccountClaims& claims,
                                 base::Duration lifetime) const override {
    claims.issued_at = Seconds(clock_.Now());
    claims.expires_at =
        claims.issued_at + std::chrono::duration_cast<std::chrono::seconds>(lifetime).count();
    claims.id = base::Uuid();
    return SignJwt(*key_, ClaimsJson(claims, issuer_));
  }
  const std::string& KeySetJson() const override { return key_set_; }

 private:
  const std::shared_ptr<const JwtKey> key_;
  const std::string issuer_;
  const std::string key_set_;
  const base::Clock& clock_;
};

}  // namespace

base::Result<std::unique_ptr<TokenSigner>> MakeTokenSigner(
    std::string_view private_key_pem, std::string issuer,
    const std::vector<std::string>& public_keys, const base::Clock& clock) {
  auto key = TRY(ParseJwtSigningKey(private_key_pem));
  std::vector<std::string> published;
  for (const std::string& pem : public_keys) {
    for (const auto& one : TRY(ParseJwtKeys(pem))) published.push_back(one->JsonWebKey());
  }
  return std::unique_ptr<TokenSigner>(std::make_unique<Signer>(
      std::move(key), std::move(issuer),
      base::StrCat(R"({"keys":[)", base::Join(published, ","), "]}"), clock));
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
