// SPDX-License-Identifier: Apache-2.0

#include "server/bootstrap_tokens.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "golang/time.h"
#include "json/value.h"

namespace portcullis::server {
namespace {

constexpr std::size_t kIdSize = 6;
constexpr std::size_t kSecretSize = 16;
constexpr std::string_view kType = "bootstrap.kubernetes.io/token";
constexpr std::string_view kGroup = "system:bootstrappers";

bool IsLowerAlphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

struct Token {
  std::string_view id;
  std::string_view secret;
};

std::optional<Token> Parse(std::string_view token) {
  if (token.size() != kIdSize + 1 + kSecretSize || token[kIdSize] != '.') return std::nullopt;
  const Token parsed{token.substr(0, kIdSize), token.substr(kIdSize + 1)};
  for (const std::string_view part : {parsed.id, parsed.secret}) {
    if (!std::all_of(part.begin(), part.end(), IsLowerAlphanumeric)) return std::nullopt;
  }
  return parsed;
}

// "system:bootstrappers:" and up to 256 characters, the last of them no '-' and no ':'.
bool IsGroup(std::string_view group) {
  const std::string prefix = base::StrCat(kGroup, ":");
  if (!group.starts_with(prefix)) return false;
  const std::string_view rest = group.substr(prefix.size());
  return !rest.empty() && rest.size() <= 256 && IsLowerAlphanumeric(rest.back()) &&
         std::all_of(rest.begin(), rest.end(),
                     [](char c) { return IsLowerAlphanumeric(c) || c == '-' || c == ':'; });
}

// Sorted, each once; none if one is not well-formed.
std::optional<std::vector<std::string>> GroupsOf(std::string_view extra) {
  std::set<std::string> groups = {std::string(kGroup)};
  if (!extra.empty()) {
    for (const std::string_view group : base::Split(extra, ',')) {
      if (!IsGroup(group)) return std::nullopt;
      groups.emplace(group);
    }
  }
  return std::vector<std::string>(groups.begin(), groups.end());
}

// In a time that does not tell how much of it is right.
bool Same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  int difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == 0;
}

class BootstrapTokens final : public authn::TokenAuthenticator {
 public:
  BootstrapTokens(const store::Reader& store, std::vector<std::string> api_audiences,
                  const base::Clock& clock)
      : store_(store), api_audiences_(std::move(api_audiences)), clock_(clock) {}

  base::Result<std::optional<authn::Identity>> AuthenticateToken(
      std::string_view token, const std::vector<std::string>& audiences,
      base::SteadyTime) const override {
    const auto parsed = Parse(token);
    if (!parsed) return std::optional<authn::Identity>();
    const std::string name = base::StrCat("bootstrap-token-", parsed->id);
    const store::ObjectPtr secret = store_.Get({"", "secrets", "kube-system", name});
    if (secret == nullptr || !Matches(secret->document().root(), *parsed)) {
      return std::optional<authn::Identity>();
    }
    auto groups = GroupsOf(Data(secret->document().root(), "auth-extra-groups"));
    if (!groups) return std::optional<authn::Identity>();
    authn::Identity identity;
    identity.user.name = base::StrCat("system:bootstrap:", parsed->id);
    identity.user.groups = *std::move(groups);
    for (const std::string& audience : audiences) {
      if (std::find(api_audiences_.begin(), api_audiences_.end(), audience) !=
          api_audiences_.end()) {
        identity.audiences.push_back(audience);
      }
    }
    if (identity.audiences.empty() && !audiences.empty()) return std::optional<authn::Identity>();
    return std::optional<authn::Identity>(std::move(identity));
  }

 private:
  static std::string Data(json::Value secret, std::string_view key) {
    return base::Base64Decode(secret["data"][key].AsString()).value_or("");
  }

  bool Matches(json::Value secret, const Token& token) const {
    return secret["metadata"]["deletionTimestamp"].is_null() &&
           secret["type"].AsString() == kType && Same(Data(secret, "token-secret"), token.secret) &&
           Data(secret, "token-id") == token.id && !HasEnded(Data(secret, "expiration")) &&
           Data(secret, "usage-bootstrap-authentication") == "true";
  }

  // One that cannot be read has ended.
  bool HasEnded(const std::string& end) const {
    if (end.empty()) return false;
    const auto moment = golang::ParseTime(end);
    const auto now = std::chrono::system_clock::to_time_t(clock_.Now());
    return !moment.ok() || moment->seconds <= now;
  }

  const store::Reader& store_;
  const std::vector<std::string> api_audiences_;
  const base::Clock& clock_;
};

}  // namespace

std::unique_ptr<authn::TokenAuthenticator> MakeBootstrapTokens(
    const store::Reader& store, std::vector<std::string> api_audiences, const base::Clock& clock) {
  return std::make_unique<BootstrapTokens>(store, std::move(api_audiences), clock);
}

}  // namespace portcullis::server
