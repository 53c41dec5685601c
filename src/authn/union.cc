#include <algorithm>
#include <utility>

#include "authn/methods.h"
#include "base/strings.h"
#include "net/http.h"

namespace portcullis::authn {
namespace {

base::Status Unauthorized(std::string message) {
  return {base::Reason::kUnauthorized, std::move(message)};
}

// Several errors as Go's aggregate prints them.
std::string Aggregate(const std::vector<std::string>& errors) {
  if (errors.size() == 1) return errors.front();
  return base::StrCat("[", base::Join(errors, ", "), "]");
}

class BearerToken final : public Authenticator {
 public:
  explicit BearerToken(std::vector<std::shared_ptr<const TokenAuthenticator>> tokens)
      : tokens_(std::move(tokens)) {}

  base::Result<std::optional<Identity>> Authenticate(const RequestView& request) const override {
    const std::string_view header = base::Trim(request.headers.Get("Authorization"));
    const auto parts = base::Cut(header, " ");
    if (!parts || !base::EqualsIgnoreCase(parts->first, "bearer")) return std::optional<Identity>();
    // "Bearer  x" has an empty token, which is none.
    const std::string_view token = parts->second.substr(0, parts->second.find(' '));
    if (token.empty()) return std::optional<Identity>();
    std::vector<std::string> errors;
    for (const auto& authenticator : tokens_) {
      auto identity = authenticator->AuthenticateToken(token, {});
      if (!identity.ok()) {
        errors.push_back(identity.status().message());
      } else if (identity->has_value()) {
        return identity;
      }
    }
    return Unauthorized(errors.empty() ? "invalid bearer token" : Aggregate(errors));
  }

 private:
  const std::vector<std::shared_ptr<const TokenAuthenticator>> tokens_;
};

class Union final : public Authenticator {
 public:
  explicit Union(std::vector<std::unique_ptr<Authenticator>> members)
      : members_(std::move(members)) {}

  base::Result<std::optional<Identity>> Authenticate(const RequestView& request) const override {
    std::vector<std::string> errors;
    for (const auto& member : members_) {
      auto identity = member->Authenticate(request);
      if (!identity.ok()) {
        errors.push_back(identity.status().message());
        continue;
      }
      if (!identity->has_value()) continue;
      const bool anonymous = (**identity).user.name == api::kUserAnonymous;
      // Wrong credentials are refused; they do not make somebody anonymous.
      if (anonymous && !errors.empty()) break;
      if (!anonymous) AddAuthenticated((**identity).user);
      return identity;
    }
    if (!errors.empty()) return Unauthorized(Aggregate(errors));
    return std::optional<Identity>();
  }

 private:
  static void AddAuthenticated(api::UserInfo& user) {
    if (user.InGroup(api::kGroupAuthenticated) || user.InGroup(api::kGroupUnauthenticated)) return;
    user.groups.emplace_back(api::kGroupAuthenticated);
  }

  const std::vector<std::unique_ptr<Authenticator>> members_;
};

}  // namespace

std::unique_ptr<Authenticator> MakeBearerToken(
    std::vector<std::shared_ptr<const TokenAuthenticator>> tokens) {
  return std::make_unique<BearerToken>(std::move(tokens));
}

std::unique_ptr<Authenticator> MakeUnion(std::vector<std::unique_ptr<Authenticator>> members) {
  return std::make_unique<Union>(std::move(members));
}

}  // namespace portcullis::authn
