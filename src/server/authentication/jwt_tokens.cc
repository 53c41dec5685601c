// SPDX-License-Identifier: Apache-2.0

#include "server/authentication/jwt_tokens.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "api/field_error.h"
#include "api/schema/decode.h"
#include "api/schema/go_types.h"
#include "authn/jwt.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/time.h"
#include "json/go_errors.h"
#include "json/reader.h"

namespace portcullis::server::authentication {
namespace {

using Outcome = base::Result<std::optional<authn::Identity>>;

constexpr std::int64_t kLeeway = 60;  // seconds, for tokens that are not valid yet
constexpr std::string_view kNotTexts = "expression must return a string or a list of strings";

// What go-oidc reads of every token; audiences and times have readers of their own.
constexpr std::string_view kTokenTypes = R"(
oidc.idToken: iss string, sub string, aud any, exp any, iat any, nbf any, nonce string, at_hash string, _claim_names map[string]string, _claim_sources map[string]oidc.claimSource
oidc.claimSource: endpoint string, access_token string)";

base::Status Refuse(std::string message) {
  return {base::Reason::kUnauthorized, std::move(message)};
}

base::Status WrongType(json::Value value, std::string_view type) {
  return Refuse(base::StrCat("json: cannot unmarshal ", json::GoTypeName(value),
                             " into Go value of type ", type));
}

base::Status WrongField(json::Value value, std::string_view field, std::string_view type) {
  return Refuse(base::StrCat("json: cannot unmarshal ", json::GoTypeName(value),
                             " into Go struct field idToken.", field, " of type ", type));
}

// json.Unmarshal into a string, a bool, and a list or a single text.
base::Result<std::string> ReadText(json::Value value) {
  if (!value.is_string() && !value.is_null()) return WrongType(value, "string");
  return std::string(value.AsString());
}

base::Result<bool> ReadBool(json::Value value) {
  if (!value.is_bool() && !value.is_null()) return WrongType(value, "bool");
  return value.AsBool();
}

std::optional<std::vector<std::string>> ReadList(json::Value value) {
  std::vector<std::string> texts;
  for (const json::Value& element : value.elements()) {
    if (!element.is_string() && !element.is_null()) return std::nullopt;
    texts.emplace_back(element.AsString());
  }
  return texts;
}

base::Result<std::vector<std::string>> ReadGroups(json::Value value) {
  if (value.is_null()) return std::vector<std::string>();
  if (value.is_array()) {
    auto list = ReadList(value);
    if (list) return *std::move(list);
  }
  return std::vector<std::string>{TRY(ReadText(value))};
}

base::Result<std::vector<std::string>> ReadAudiences(const json::Document& claims) {
  if (!claims.root().Has("aud")) return std::vector<std::string>();
  const json::Value value = claims["aud"];
  if (value.is_string() || value.is_null()) {
    return std::vector<std::string>{std::string(value.AsString())};
  }
  if (!value.is_array()) return WrongField(value, "aud", "[]string");
  for (const json::Value& element : value.elements()) {
    if (!element.is_string() && !element.is_null()) return WrongField(element, "aud", "string");
  }
  return *ReadList(value);
}

// time.Unix counts from the year 1, and goes round where that does not fit: the last seconds of an int64 are long
// past.
std::int64_t AsGoTime(std::int64_t seconds) {
  constexpr std::int64_t kYearOne = 62135596800;  // seconds before 1970
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max() - kYearOne;
  return seconds <= kLast ? seconds : std::numeric_limits<std::int64_t>::min();
}

// A time in seconds, also in quotes; the zero time of Go if it is not there.
base::Result<std::int64_t> ReadTime(const json::Document& claims, std::string_view name) {
  const json::Value* value = claims.root().Find(name);
  if (value == nullptr) return golang::FromCivil(1, 1, 1, 0, 0, 0);
  if (value->is_int()) return value->AsInt();
  double seconds = value->AsDouble();
  if (value->is_null()) return Refuse("strconv.ParseFloat: parsing \"\": invalid syntax");
  if (value->is_string()) {
    json::Arena arena;
    const auto parsed = json::Parse(arena, value->AsString());
    if (!parsed.ok() || !parsed->is_number()) {
      return Refuse(base::StrCat("json: invalid number literal, trying to unmarshal ",
                                 base::GoQuote(base::StrCat("\"", value->AsString(), "\"")),
                                 " into Number"));
    }
    seconds = parsed->AsDouble();
  } else if (!value->is_double()) {
    return WrongField(*value, name, "json.Number");
  }
  constexpr double kMost = 0x1p63;
  return std::abs(seconds) < kMost ? static_cast<std::int64_t>(seconds)
                                   : std::numeric_limits<std::int64_t>::min();
}

// What goes round is written as the last second.
std::string TimeText(std::int64_t seconds) {
  using Limits = std::numeric_limits<std::int64_t>;
  return golang::TimeText({seconds == Limits::min() ? Limits::max() : seconds, 0});
}

// The claims of one token on their way to a user.
class Mapper {
 public:
  Mapper(const JwtSettings& settings, const json::Document& claims)
      : settings_(settings), root_(claims.root()), value_(ClaimsValue(arena_, &root_)) {}

  base::Result<api::UserInfo> Map() {
    api::UserInfo user;
    user.name = TRY(Username());
    user.groups = TRY(Groups());
    user.uid = TRY(Uid());
    TRY(AddExtra(user));
    TRY(CheckClaims());
    TRY(CheckUser(user));
    return user;
  }

 private:
  base::Result<std::string> Claim(std::string_view name) const {
    const json::Value* value = root_.Find(name);
    if (value == nullptr) return Refuse("claim not present");
    return ReadText(*value);
  }

  // What the value of a mapping stands for: empty texts count as none.
  base::Result<std::vector<std::string>> TextsOf(const Expression& expression, cel::Value value) {
    std::vector<std::string> texts;
    if (value.kind() == cel::Kind::kNull) return texts;
    if (value.is_string()) {
      if (!value.text().empty()) texts.emplace_back(value.text());
      return texts;
    }
    if (!value.is_list() || expression.MakesGoStrings()) return Refuse(std::string(kNotTexts));
    for (std::size_t i = 0; i < value.size(); ++i) {
      const cel::Value element = value.At(arena_, i);
      if (!element.is_string()) return Refuse(std::string(kNotTexts));
      if (!element.text().empty()) texts.emplace_back(element.text());
    }
    return texts;
  }

  base::Result<std::string> Username() {
    constexpr std::string_view kEvaluating = "oidc: error evaluating username claim expression";
    const Mapping& mapping = settings_.username;
    if (mapping.expression != nullptr) {
      const auto value = mapping.expression->Evaluate(arena_, value_);
      if (!value.ok()) return value.status().Annotate(kEvaluating);
      if (!value->is_string()) {
        return Refuse("username claim expression must return a string").Annotate(kEvaluating);
      }
      if (value->text().empty()) {
        return Refuse("oidc: empty username via CEL expression is not allowed");
      }
      return std::string(value->text());
    }
    const auto claim = Claim(mapping.claim);
    if (!claim.ok()) {
      return claim.status().Annotate(
          base::StrCat("oidc: parse username claims ", base::GoQuote(mapping.claim)));
    }
    if (mapping.claim == "email" && root_.Has("email_verified")) {
      const auto is_verified = ReadBool(root_["email_verified"]);
      if (!is_verified.ok()) {
        return is_verified.status().Annotate("oidc: parse 'email_verified' claim");
      }
      if (!*is_verified) return Refuse("oidc: email not verified");
    }
    return base::StrCat(mapping.prefix, *claim);
  }

  base::Result<std::vector<std::string>> Groups() {
    constexpr std::string_view kEvaluating = "oidc: error evaluating group claim expression";
    const Mapping& mapping = settings_.groups;
    if (!mapping.claim.empty()) {
      const json::Value* value = root_.Find(mapping.claim);
      if (value == nullptr) return std::vector<std::string>();
      auto groups = ReadGroups(*value);
      if (!groups.ok()) {
        return groups.status().Annotate(
            base::StrCat("oidc: parse groups claim ", base::GoQuote(mapping.claim)));
      }
      for (std::string& group : *groups) group.insert(0, mapping.prefix);
      return groups;
    }
    if (mapping.expression == nullptr) return std::vector<std::string>();
    const auto value = mapping.expression->Evaluate(arena_, value_);
    if (!value.ok()) return value.status().Annotate(kEvaluating);
    auto groups = TextsOf(*mapping.expression, *value);
    return groups.ok() ? groups : groups.status().Annotate(kEvaluating);
  }

  base::Result<std::string> Uid() {
    constexpr std::string_view kEvaluating = "oidc: error evaluating uid claim expression";
    const Mapping& mapping = settings_.uid;
    if (!mapping.claim.empty()) {
      auto uid = Claim(mapping.claim);
      if (uid.ok()) return uid;
      return uid.status().Annotate(
          base::StrCat("oidc: parse uid claim ", base::GoQuote(mapping.claim)));
    }
    if (mapping.expression == nullptr) return std::string();
    const auto value = mapping.expression->Evaluate(arena_, value_);
    if (!value.ok()) return value.status().Annotate(kEvaluating);
    if (value->is_string()) return std::string(value->text());
    return Refuse("uid claim expression must return a string").Annotate(kEvaluating);
  }

  base::Status AddExtra(api::UserInfo& user) {
    if (const std::string_view id = root_["jti"].AsString(); !id.empty()) {
      user.extra[std::string(authn::kCredentialId)] = {base::StrCat("JTI=", id)};
    }
    for (const ExtraMapping& mapping : settings_.extra) {
      const cel::Value value = TRY(mapping.expression->Evaluate(arena_, value_));
      auto texts = TextsOf(*mapping.expression, value);
      if (!texts.ok()) {
        return texts.status().Annotate(base::StrCat(
            "oidc: error evaluating extra claim expression: ", mapping.expression->text()));
      }
      if (!texts->empty()) user.extra[mapping.key] = *std::move(texts);
    }
    return base::OkStatus();
  }

  // First those that name a claim, then the expressions.
  base::Status CheckClaims() {
    for (const Rule& rule : settings_.claim_rules) {
      if (rule.expression != nullptr) continue;
      if (!root_.Has(rule.claim)) {
        return Refuse(
            base::StrCat("oidc: required claim ", rule.claim, " not present in ID token"));
      }
      const auto value = Claim(rule.claim);
      if (!value.ok()) {
        return value.status().Annotate(base::StrCat("oidc: parse claim ", rule.claim));
      }
      if (*value != rule.required_value) {
        return Refuse(base::StrCat("oidc: required claim ", rule.claim,
                                   " value does not match. Got = ", *value,
                                   ", want = ", rule.required_value));
      }
    }
    return CheckRules(settings_.claim_rules, value_,
                      "oidc: error evaluating claim validation expression");
  }

  base::Status CheckUser(const api::UserInfo& user) {
    if (settings_.user_rules.empty()) return base::OkStatus();
    return CheckRules(settings_.user_rules, UserValue(arena_, user),
                      "oidc: error evaluating user info validation rule");
  }

  // All are evaluated before one is looked at.
  base::Status CheckRules(const std::vector<Rule>& rules, cel::Value input,
                          std::string_view context) {
    const Rule* failed = nullptr;
    for (const Rule& rule : rules) {
      if (rule.expression == nullptr) continue;
      const auto value = rule.expression->Evaluate(arena_, input);
      if (!value.ok()) return value.status().Annotate(context);
      if (!value->is_true() && failed == nullptr) failed = &rule;
    }
    if (failed == nullptr) return base::OkStatus();
    return Refuse(base::StrCat("validation expression '", failed->expression->text(),
                               "' failed: ", failed->message))
        .Annotate(context);
  }

  const JwtSettings& settings_;
  const json::Value root_;
  json::Arena arena_;
  const cel::Value value_;
};

// The tokens of one issuer.
class IssuerTokens {
 public:
  IssuerTokens(std::shared_ptr<const JwtSettings> settings, std::shared_ptr<Provider> provider,
               const JwtTokensParts& parts)
      : settings_(std::move(settings)),
        provider_(std::move(provider)),
        clock_(parts.provider.clock),
        latency_(parts.provider.metrics->latency),
        algorithms_(parts.signing_algorithms),
        issuer_hash_(HashLabel(settings_->issuer)),
        audiences_(settings_->audiences),
        types_(api::schema::SchemaOfGoTypes(kTokenTypes)) {
    std::sort(audiences_.begin(), audiences_.end());
  }

  Provider& provider() const { return *provider_; }

  base::Result<api::UserInfo> Authenticate(const base::Result<authn::Jwt>& token,
                                           base::SteadyTime deadline) const {
    const base::SteadyTime start = clock_.Steady();
    auto user = Judge(token, deadline);
    latency_.With({user.ok() ? "success" : "failure", issuer_hash_})
        .Observe(std::chrono::duration<double>(clock_.Steady() - start).count());
    return user;
  }

 private:
  bool IsAllowed(std::string_view algorithm) const {
    return std::find(algorithms_.begin(), algorithms_.end(), algorithm) != algorithms_.end();
  }

  base::Result<api::UserInfo> Judge(const base::Result<authn::Jwt>& token,
                                    base::SteadyTime deadline) const {
    if (!provider_->is_initialized()) return Refuse("oidc: authenticator not initialized");
    const base::Status verified = Verify(token, deadline);
    if (!verified.ok()) return verified.Annotate("oidc: verify token");
    const base::Status groups = CheckDistributed(token->claims);
    if (!groups.ok()) return groups.Annotate("oidc: could not expand distributed claims");
    return Mapper(*settings_, token->claims).Map();
  }

  base::Status Verify(const base::Result<authn::Jwt>& token, base::SteadyTime deadline) const {
    if (!token.ok()) return token.status().Annotate("oidc: malformed jwt");
    if (!IsAllowed(token->algorithm)) {
      return Refuse(base::StrCat("oidc: id token signed with unsupported algorithm, expected ",
                                 base::GoQuotedList(algorithms_), " got ",
                                 base::GoQuote(token->algorithm)));
    }
    const base::Status verified = provider_->Verify(*token, deadline);
    if (!verified.ok()) return verified.Annotate("failed to verify signature");
    return CheckClaims(token->claims);
  }

  base::Status CheckClaims(const json::Document& claims) const {
    const auto unreadable = [](const base::Status& status) {
      return status.Annotate("oidc: failed to unmarshal claims");
    };
    json::Arena arena;
    const auto decoded = api::schema::Decode(arena, *types_, claims.root());
    if (!decoded.ok()) return unreadable(decoded.status());
    const auto audiences = ReadAudiences(claims);
    if (!audiences.ok()) return unreadable(audiences.status());
    const auto expires_at = ReadTime(claims, "exp");
    if (!expires_at.ok()) return unreadable(expires_at.status());
    const auto issued_at = ReadTime(claims, "iat");
    if (!issued_at.ok()) return unreadable(issued_at.status());
    std::optional<std::int64_t> not_before;
    if (!claims["nbf"].is_null()) {
      const auto read = ReadTime(claims, "nbf");
      if (!read.ok()) return unreadable(read.status());
      not_before = *read;
    }
    for (const json::Member& name : claims["_claim_names"].members()) {
      const std::string_view source = name.value.AsString();
      if (source.empty()) return Refuse("oidc: failed to obtain source from claim name");
      if (!claims["_claim_sources"].Has(source)) return Refuse("oidc: source does not exist");
    }
    TRY(CheckAudiences(*audiences));
    return CheckTimes(*expires_at, not_before);
  }

  base::Status CheckAudiences(const std::vector<std::string>& of_token) const {
    for (const std::string& audience : of_token) {
      if (std::binary_search(audiences_.begin(), audiences_.end(), audience))
        return base::OkStatus();
    }
    const std::string wanted = audiences_.size() == 1
                                   ? base::StrCat("audience ", base::GoQuote(audiences_[0]))
                                   : base::StrCat("audience in ", base::GoQuotedList(audiences_));
    return Refuse(base::StrCat("oidc: expected ", wanted, " got ", base::GoQuotedList(of_token)));
  }

  base::Status CheckTimes(std::int64_t expires_at, std::optional<std::int64_t> not_before) const {
    const auto since = clock_.Now().time_since_epoch();
    const std::int64_t now = std::chrono::floor<std::chrono::seconds>(since).count();
    const bool is_whole = std::chrono::seconds(now) == since;
    const std::int64_t end = AsGoTime(expires_at);
    if (end < now || (end == now && !is_whole)) {
      return Refuse(
          base::StrCat("oidc: token is expired (Token Expiry: ", TimeText(expires_at), ")"));
    }
    if (not_before && now + kLeeway < AsGoTime(*not_before)) {
      return Refuse(base::StrCat("oidc: current time ", TimeText(now),
                                 " before the nbf (not before) time: ", TimeText(*not_before)));
    }
    return base::OkStatus();
  }

  // Groups may stand on another server, which this one does not ask.
  base::Status CheckDistributed(const json::Document& claims) const {
    const std::string& claim = settings_->groups.claim;
    if (claim.empty() || claims.root().Has(claim)) return base::OkStatus();
    const json::Value source = claims["_claim_names"][claim];
    if (!source.is_string()) return base::OkStatus();
    if (claims["_claim_sources"][source.AsString()]["endpoint"].AsString().empty()) {
      return base::OkStatus();
    }
    return Refuse(base::StrCat("while getting distributed claim ", base::GoQuote(claim),
                               ": distributed claims are not supported"));
  }

  const std::shared_ptr<const JwtSettings> settings_;
  const std::shared_ptr<Provider> provider_;
  const base::Clock& clock_;
  metrics::Family<metrics::Histogram>& latency_;
  const std::vector<std::string> algorithms_;
  const std::string issuer_hash_;
  std::vector<std::string> audiences_;  // sorted
  const std::shared_ptr<const api::schema::Schema> types_;
};

class AllIssuers final : public JwtTokens {
 public:
  explicit AllIssuers(std::vector<std::string> api_audiences)
      : api_audiences_(std::move(api_audiences)) {}

  base::Status Add(std::shared_ptr<const JwtSettings> settings, const JwtTokensParts& parts) {
    auto provider = TRY(Provider::Create(settings, parts.provider));
    const std::string& issuer = settings->issuer;
    issuers_.emplace(issuer, IssuerTokens(settings, std::move(provider), parts));
    return base::OkStatus();
  }

  // Signatures are checked where waiting is allowed: one that no known key has made asks for the keys.
  std::optional<Outcome> AuthenticateAtOnce(std::string_view token,
                                            const std::vector<std::string>&) const override {
    if (Find(authn::UntrustedIssuer(token)) != nullptr) return std::nullopt;
    return Outcome(std::optional<authn::Identity>());
  }

  Outcome AuthenticateToken(std::string_view token, const std::vector<std::string>& audiences,
                            base::SteadyTime deadline) const override {
    if (issuers_.empty()) return std::optional<authn::Identity>();
    const auto jwt = authn::ParseJwt(token);
    const IssuerTokens* tokens =
        Find(jwt.ok() ? authn::UntrustedIssuer(jwt->claims) : authn::UntrustedIssuer(token));
    if (tokens == nullptr) return std::optional<authn::Identity>();
    authn::Identity identity;
    for (const std::string& ours : api_audiences_) {
      if (audiences.empty() ||
          std::find(audiences.begin(), audiences.end(), ours) != audiences.end()) {
        identity.audiences.push_back(ours);
      }
    }
    if (identity.audiences.empty()) return std::optional<authn::Identity>();
    identity.user = TRY(tokens->Authenticate(jwt, deadline));
    return std::optional<authn::Identity>(std::move(identity));
  }

  void Discover() override {
    for (const auto& [issuer, tokens] : issuers_) tokens.provider().Discover();
  }

  base::Status health() const override {
    std::vector<std::string> texts;
    for (const auto& [issuer, tokens] : issuers_) {
      const base::Status health = tokens.provider().health();
      if (health.ok()) continue;
      texts.push_back(base::StrCat("oidc: authenticator for issuer ", base::GoQuote(issuer),
                                   " is not healthy: ", health.message()));
    }
    if (texts.empty()) return base::OkStatus();
    return {base::Reason::kUnknown, api::AggregateText(texts)};
  }

 private:
  const IssuerTokens* Find(const std::optional<std::string>& issuer) const {
    if (!issuer) return nullptr;
    const auto found = issuers_.find(*issuer);
    return found == issuers_.end() ? nullptr : &found->second;
  }

  const std::vector<std::string> api_audiences_;
  std::map<std::string, IssuerTokens> issuers_;
};

}  // namespace

std::span<const std::string_view> SigningAlgorithms() {
  static constexpr std::string_view kAll[] = {"ES256", "ES384", "ES512", "PS256", "PS384",
                                              "PS512", "RS256", "RS384", "RS512"};
  return kAll;
}

base::Result<std::shared_ptr<JwtTokens>> JwtTokens::Create(const Configuration& configuration,
                                                           const JwtTokensParts& parts) {
  for (const std::string& algorithm : parts.signing_algorithms) {
    const auto all = SigningAlgorithms();
    if (configuration.jwt.empty() || std::find(all.begin(), all.end(), algorithm) != all.end()) {
      continue;
    }
    return base::ConfigError(
        base::StrCat("oidc: unsupported signing alg: ", base::GoQuote(algorithm)));
  }
  auto all = std::make_shared<AllIssuers>(parts.api_audiences);
  for (const auto& settings : configuration.jwt) TRY(all->Add(settings, parts));
  return std::shared_ptr<JwtTokens>(std::move(all));
}

}  // namespace portcullis::server::authentication
