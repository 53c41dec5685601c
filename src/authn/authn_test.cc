// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "authn/jwt.h"
#include "authn/methods.h"
#include "authn/service_account.h"
#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "json/reader.h"
#include "net/http.h"
#include "net/server.h"
#include "pki/certificates.h"

namespace portcullis::authn {
namespace {

using Strings = std::vector<std::string>;

TEST(TokenFile, GivesNameUidAndGroups) {
  auto file = ParseTokenFile("/t.csv", "secret,joe,7,\"a,b\"\nplain,ann,8\n,nobody,9\n", {});
  ASSERT_TRUE(file.ok());
  auto joe = (*file)->AuthenticateToken("secret", {}, {});
  ASSERT_TRUE(joe.ok() && joe->has_value());
  EXPECT_EQ((**joe).user.name, "joe");
  EXPECT_EQ((**joe).user.uid, "7");
  EXPECT_EQ((**joe).user.groups, (Strings{"a", "b"}));
  EXPECT_FALSE((*file)->AuthenticateToken("other", {}, {})->has_value());
  EXPECT_EQ(
      ParseTokenFile("/t.csv", "x,y\n", {}).status().message(),
      "token file '/t.csv' must have at least 3 columns (token, user name, user uid), found 2");
  EXPECT_EQ(LoadTokenFile("/none/t.csv", {}).status().message(),
            "open /none/t.csv: no such file or directory");
}

std::unique_ptr<Authenticator> Chain() {
  std::vector<std::shared_ptr<const TokenAuthenticator>> tokens;
  tokens.push_back(std::move(ParseTokenFile("f", "secret,joe,7\n", {})).value());
  std::vector<std::unique_ptr<Authenticator>> members;
  members.push_back(MakeClientCertificate());
  members.push_back(MakeBearerToken(std::move(tokens)));
  members.push_back(MakeAnonymous());
  return MakeUnion(std::move(members));
}

TEST(Union, TakesTheFirstThatKnowsTheUser) {
  auto chain = Chain();
  net::ClientCertificate certificate;
  certificate.common_name = "ann";
  certificate.organizations = {"devs"};
  certificate.sha256 = "abcd";
  const net::Headers none;
  auto ann = chain->Authenticate({none, &certificate, {}});
  ASSERT_TRUE(ann.ok() && ann->has_value());
  EXPECT_EQ((**ann).user.name, "ann");
  EXPECT_EQ((**ann).user.groups, (Strings{"devs", "system:authenticated"}));
  EXPECT_EQ((**ann).user.extra.at("authentication.kubernetes.io/credential-id"),
            Strings{"X509SHA256=abcd"});

  const net::Headers bearer{{"authorization", "bearer secret"}};
  EXPECT_EQ((**chain->Authenticate({bearer, nullptr, {}})).user.name, "joe");
  auto nobody = chain->Authenticate({none, nullptr, {}});
  EXPECT_EQ((**nobody).user.name, "system:anonymous");
  EXPECT_EQ((**nobody).user.groups, Strings{"system:unauthenticated"});
}

TEST(Union, WrongCredentialsAreNotAnonymous) {
  auto chain = Chain();
  const net::Headers bearer{{"Authorization", "Bearer wrong"}};
  auto wrong = chain->Authenticate({bearer, nullptr, {}});
  EXPECT_EQ(wrong.status().reason(), base::Reason::kUnauthorized);
  EXPECT_EQ(wrong.status().message(), "invalid bearer token");
  net::ClientCertificate certificate;
  certificate.common_name = "ann";
  certificate.error = "x509: certificate signed by unknown authority";
  const net::Headers none;
  EXPECT_FALSE(chain->Authenticate({none, &certificate, {}}).ok());
  const net::Headers basic{{"Authorization", "Basic xyz"}};
  EXPECT_EQ((**chain->Authenticate({basic, nullptr, {}})).user.name, "system:anonymous");
}

TEST(ClientCertificate, HasOneUidOrNone) {
  const auto identity = [](std::vector<std::string> uids) {
    net::ClientCertificate certificate;
    certificate.common_name = "ann";
    certificate.uids = std::move(uids);
    const net::Headers none;
    return MakeClientCertificate()->Authenticate({none, &certificate, {}});
  };
  EXPECT_EQ((**identity({})).user.uid, "");
  EXPECT_EQ((**identity({"u"})).user.uid, "u");
  EXPECT_EQ(identity({"u", "v"}).status().message(), "expected 1 UID, but found multiple: [u v]");
  EXPECT_EQ(identity({""}).status().message(), "UID cannot be an empty string");
}

class ServiceAccountToken : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "RS256") {
      key_ = *pki::MakeRsaKey();
    } else {
      key_ = pki::MakeAuthority("x", clock_.Now())->key_pem;
    }
    signer_ = std::move(MakeTokenSigner(key_, "https://issuer", {key_}, clock_)).value();
  }
  std::unique_ptr<TokenAuthenticator> Verifier(std::string issuer = "https://issuer",
                                               ClaimsCheck check = {}) {
    ServiceAccountTokenOptions options{{std::move(issuer)}, {key_}, {"api"}, std::move(check), {}};
    return std::move(MakeServiceAccountTokens(options, clock_)).value();
  }
  std::string Sign() {
    claims_.ns = "n";
    claims_.service_account = {"sa", "u1"};
    claims_.pod = ObjectRef{"p", "u2"};
    claims_.audiences = {"api"};
    return *signer_->Sign(claims_, std::chrono::hours(1));
  }

  base::FakeClock clock_;
  std::string key_;
  std::unique_ptr<TokenSigner> signer_;
  ServiceAccountClaims claims_;
};

TEST_P(ServiceAccountToken, IsRecognizedAgain) {
  const std::string token = Sign();
  auto jwt = ParseJwt(token);
  ASSERT_TRUE(jwt.ok());
  EXPECT_EQ(jwt->algorithm, GetParam());
  EXPECT_EQ(jwt->claims["sub"].AsString(), "system:serviceaccount:n:sa");
  EXPECT_EQ(jwt->claims["kubernetes.io"]["serviceaccount"]["uid"].AsString(), "u1");

  auto identity = Verifier()->AuthenticateToken(token, {}, {});
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  ASSERT_TRUE(identity->has_value());
  const api::UserInfo& user = (**identity).user;
  EXPECT_EQ(user.name, "system:serviceaccount:n:sa");
  EXPECT_EQ(user.uid, "u1");
  EXPECT_EQ(user.groups, (Strings{"system:serviceaccounts", "system:serviceaccounts:n"}));
  EXPECT_EQ(user.extra.at("authentication.kubernetes.io/pod-name"), Strings{"p"});
  EXPECT_EQ(user.extra.at("authentication.kubernetes.io/credential-id"),
            Strings{"JTI=" + claims_.id});
  EXPECT_EQ((**identity).audiences, Strings{"api"});
}

TEST_P(ServiceAccountToken, ExpiresAndIsBoundToAudienceAndObjects) {
  const std::string token = Sign();
  EXPECT_EQ(Verifier()->AuthenticateToken(token, {"other"}, {}).status().message(),
            R"(token audiences ["api"] is invalid for the target audiences ["other"])");
  EXPECT_FALSE(Verifier("https://else")->AuthenticateToken(token, {}, {})->has_value());
  auto gone = Verifier("https://issuer", [](const ServiceAccountClaims& claims) {
    return base::NotFound(claims.pod->name + " is gone");
  });
  EXPECT_EQ(gone->AuthenticateToken(token, {}, {}).status().message(), "p is gone");
  clock_.Advance(std::chrono::hours(2));
  EXPECT_EQ(Verifier()->AuthenticateToken(token, {}, {}).status().message(),
            "service account token has expired");
}

// As by a kube-apiserver 1.36.
TEST_P(ServiceAccountToken, IsNotedWhenItShouldHaveBeenRenewed) {
  claims_.warn_after = 100;
  const std::string token = Sign();
  std::vector<std::int64_t> seen;
  const auto verifier = Verifier("https://issuer", [&](const ServiceAccountClaims& claims) {
    seen.push_back(claims.warn_after - claims_.issued_at);
    return base::OkStatus();
  });
  const auto notes = [&] {
    return (**verifier->AuthenticateToken(token, {}, {})).notes.audit_annotations;
  };
  clock_.Advance(std::chrono::seconds(99));
  EXPECT_TRUE(notes().empty());
  clock_.Advance(std::chrono::seconds(8));
  const auto noted = notes();
  ASSERT_EQ(noted.size(), 1U);
  EXPECT_EQ(noted[0].first, "authentication.k8s.io/stale-token");
  EXPECT_EQ(noted[0].second,
            "subject: system:serviceaccount:n:sa, seconds after warning threshold: 7");
  EXPECT_EQ(seen, (std::vector<std::int64_t>{100, 100}));
}

TEST_P(ServiceAccountToken, IsRefusedWhenChanged) {
  const std::string token = Sign();
  auto verifier = Verifier();
  for (std::size_t i = token.find('.') + 1; i + 1 < token.size(); i += 7) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    auto identity = verifier->AuthenticateToken(changed, {}, {});
    EXPECT_FALSE(identity.ok() && identity->has_value()) << "at " << i;
  }
  const std::string none = base::Base64UrlEncode(R"({"alg":"none"})") +
                           token.substr(token.find('.'), token.rfind('.') - token.find('.') + 1);
  EXPECT_FALSE(verifier->AuthenticateToken(none, {}, {}).ok());
}

INSTANTIATE_TEST_SUITE_P(All, ServiceAccountToken, ::testing::Values("RS256", "ES256"),
                         [](const auto& test) { return test.param; });

TEST(TokenSigner, PublishesAllKeysThatVerify) {
  base::FakeClock clock;
  const std::string key = *pki::MakeRsaKey();
  auto signer = MakeTokenSigner(key, "i", {*pki::MakeEcKey(), key}, clock);
  ASSERT_TRUE(signer.ok());
  const std::string& keys = (*signer)->KeySetJson();
  EXPECT_EQ(keys.substr(0, 37), R"({"keys":[{"use":"sig","kty":"EC","kid)");
  EXPECT_NE(keys.find(R"("},{"use":"sig","kty":"RSA","kid)"), std::string::npos);
  EXPECT_NE(keys.find(R"("e":"AQAB"}]})"), std::string::npos);
  EXPECT_EQ(MakeTokenSigner("garbage", "i", {}, clock).status().message(),
            "data does not contain a valid RSA or ECDSA private key");
}

TEST(ServiceAccountUser, SplitsIntoNamespaceAndName) {
  std::string_view ns, name;
  EXPECT_TRUE(SplitServiceAccountUser("system:serviceaccount:a:b", ns, name));
  EXPECT_EQ(ns, "a");
  EXPECT_EQ(name, "b");
  for (std::string_view wrong :
       {"joe", "system:serviceaccount:a", "system:serviceaccount::b", "system:serviceaccount:a:b:c",
        "system:serviceaccount:A:b", "system:serviceaccount:a.a:b", "system:serviceaccount:a:b_"}) {
    EXPECT_FALSE(SplitServiceAccountUser(wrong, ns, name)) << wrong;
  }
}

TEST(Anonymous, IsForItsPathsOnly) {
  const auto everywhere = MakeAnonymous();
  const auto health = MakeAnonymous({"/livez"});
  const net::Headers none;
  const auto is_known = [&none](const Authenticator& anonymous, std::string_view path) {
    RequestView view{none};
    view.path = path;
    return anonymous.Authenticate(view)->has_value();
  };
  EXPECT_TRUE(is_known(*everywhere, "/api"));
  EXPECT_TRUE(is_known(*health, "/livez"));
  EXPECT_FALSE(is_known(*health, "/livez/etcd"));
}

// The handshake is answered with what is left of the protocols.
TEST(WebSocketToken, IsTakenOutOfTheProtocols) {
  const auto authenticator = [] {
    TokenAuthenticators tokens;
    tokens.push_back(ParseTokenFile("f", "secret,joe,7\n", {}).value());
    return MakeWebSocketToken(std::move(tokens));
  }();
  constexpr std::string_view kToken = "base64url.bearer.authorization.k8s.io.c2VjcmV0";
  struct Case {
    std::string protocols;
    std::string rest;  // or the error
  };
  for (const auto& [protocols, rest] :
       {Case{base::StrCat(kToken, ", a"), "a"}, Case{base::StrCat("a,b , ", kToken), "a,b"},
        Case{std::string(kToken), "missing additional subprotocol"},
        Case{base::StrCat(kToken, ",a,", kToken),
             "multiple base64.bearer.authorization tokens specified"}}) {
    const net::Headers headers{
        {"Connection", "Upgrade"}, {"Upgrade", "websocket"}, {"Sec-WebSocket-Protocol", protocols}};
    const auto identity = authenticator->Authenticate({headers});
    EXPECT_EQ(identity.ok() ? (**identity).notes.protocols : identity.status().message(), rest);
  }
  const net::Headers no_handshake{{"Sec-WebSocket-Protocol", base::StrCat(kToken, ", a")}};
  EXPECT_FALSE(authenticator->Authenticate({no_handshake})->has_value());
}

// Knows every token, but has to ask.
class Distant final : public TokenAuthenticator {
 public:
  base::Result<std::optional<Identity>> AuthenticateToken(std::string_view,
                                                          const std::vector<std::string>&,
                                                          base::SteadyTime) const override {
    Identity identity;
    identity.user.name = "far";
    return std::optional<Identity>(std::move(identity));
  }
  std::optional<base::Result<std::optional<Identity>>> AuthenticateAtOnce(
      std::string_view, const std::vector<std::string>&) const override {
    return std::nullopt;
  }
};

TEST(BearerToken, IsNotShownToOthersWhereNothingMayWait) {
  TokenAuthenticators tokens;
  tokens.push_back(ParseTokenFile("f", "secret,joe,7\n", {}).value());
  tokens.push_back(std::make_shared<Distant>());
  std::vector<std::unique_ptr<Authenticator>> members;
  members.push_back(MakeBearerToken(std::move(tokens)));
  members.push_back(MakeAnonymous());
  const auto chain = MakeUnion(std::move(members));
  for (const std::string_view token : {"secret", "other"}) {
    const net::Headers bearer{{"Authorization", base::StrCat("Bearer ", token)}};
    bool would_wait = false;
    RequestView view{bearer};
    view.would_wait = &would_wait;
    const auto here = chain->Authenticate(view);
    EXPECT_EQ(would_wait, token == "other");
    if (token == "secret") {
      EXPECT_EQ((**here).user.name, "joe");
    }
    view.would_wait = nullptr;
    EXPECT_EQ((**chain->Authenticate(view)).user.name, token == "other" ? "far" : "joe");
  }
}

TEST(JsonWebKeySet, HasTheKeysThatVerify) {
  for (const std::string& pem : {pki::MakeRsaKey().value(), pki::MakeEcKey().value()}) {
    const auto key = ParseJwtSigningKey(pem).value();
    const std::string token = SignJwt(*key, R"({"iss":"a"})").value();
    const auto set = json::ParseDocument(
        base::StrCat(R"({"keys":[{"kty":"oct","kid":"o","k":"eA"},)", key->JsonWebKey(), "]}"));
    const auto keys = ParseJsonWebKeySet(*set);
    ASSERT_TRUE(keys.ok()) << keys.status().message();
    ASSERT_EQ(keys->size(), 2U);
    EXPECT_EQ((*keys)[0].key, nullptr);
    EXPECT_EQ((*keys)[1].id, key->id());
    EXPECT_TRUE((*keys)[1].key->Verify(*ParseJwt(token)));
    EXPECT_EQ(UntrustedIssuer(token), "a");
  }
}

TEST(JsonWebKeySet, HasNoRsaKeysThatGoRefuses) {
  const auto with = [](std::string modulus, std::string_view exponent) {
    const auto set = json::ParseDocument(base::StrCat(R"({"keys":[{"kty":"RSA","n":")",
                                                      base::Base64UrlEncode(modulus), R"(","e":")",
                                                      exponent, R"("}]})"));
    return ParseJsonWebKeySet(*set).value().at(0).key;
  };
  const std::string odd(256, '\xff');
  EXPECT_NE(with(odd, "AQAB"), nullptr);
  EXPECT_EQ(with(std::string(64, '\xff'), "AQAB"), nullptr);  // 512 bits
  EXPECT_EQ(with(odd.substr(1) + '\xfe', "AQAB"), nullptr);
  EXPECT_EQ(with(odd, "AQ"), nullptr);      // 1
  EXPECT_EQ(with(odd, "Ag"), nullptr);      // 2
  EXPECT_EQ(with(odd, "_____w"), nullptr);  // 2^32 - 1
}

TEST(JsonWebKeySet, SaysWhatGoJoseSays) {
  constexpr std::pair<std::string_view, std::string_view> kRows[] = {
      {R"({"kty":"x"})", "unknown json web key type 'x'"},
      {R"({})", "unknown json web key type ''"},
      {R"({"kty":"RSA","n":"AQ"})", "invalid RSA key, missing n/e values"},
      {R"({"kty":"EC","crv":"P-1"})", "unsupported elliptic curve 'P-1'"},
      {R"({"kty":"EC","crv":"P-256","x":"AQ"})", "invalid EC key, missing x/y values"},
      {R"({"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"})",
       "invalid EC public key, wrong length for x"},
      {R"({"kty":"EC","crv":"P-256","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",)"
       R"("y":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"})",
       "invalid EC key, X/Y are not on declared curve"}};
  for (const auto& [key, error] : kRows) {
    const auto set = json::ParseDocument(base::StrCat(R"({"keys":[)", key, "]}"));
    EXPECT_EQ(ParseJsonWebKeySet(*set).status().message(),
              base::StrCat("go-jose/go-jose: ", error));
  }
}

TEST(UntrustedIssuer, IsOfCompactTokensOnly) {
  const auto token = [](std::string_view claims) {
    return base::StrCat("e30.", base::Base64UrlEncode(claims), ".eA");
  };
  EXPECT_EQ(UntrustedIssuer(token(R"({"ISS":"b"})")), "b");
  EXPECT_EQ(UntrustedIssuer(token(R"({"iss":"accounts.google.com"})")),
            "https://accounts.google.com");
  EXPECT_EQ(UntrustedIssuer(token("{}")), "");
  EXPECT_EQ(UntrustedIssuer(token("[]")), std::nullopt);
  EXPECT_EQ(UntrustedIssuer(token(R"({"iss":5})")), std::nullopt);
  EXPECT_EQ(UntrustedIssuer("a.b"), std::nullopt);
  EXPECT_EQ(UntrustedIssuer(""), std::nullopt);
}

}  // namespace
}  // namespace portcullis::authn
