// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "authn/aggregate.h"
#include "authn/methods.h"
#include "base/strings.h"

namespace portcullis::authn {
namespace {

base::Status AllRefused(std::string message) {
  return {base::Reason::kUnauthorized, std::move(message)};
}

class Union final : public Authenticator {
 public:
  explicit Union(std::vector<std::unique_ptr<Authenticator>> members)
      : members_(std::move(members)) {}

  base::Result<std::optional<Identity>> Authenticate(const RequestView& request) const override {
    std::vector<std::string> errors;
    for (const auto& member : members_) {
      auto identity = member->Authenticate(request);
      if (request.would_wait != nullptr && *request.would_wait) return std::optional<Identity>();
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
    if (!errors.empty()) return AllRefused(Aggregate(errors));
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

std::unique_ptr<Authenticator> MakeUnion(std::vector<std::unique_ptr<Authenticator>> members) {
  return std::make_unique<Union>(std::move(members));
}

}  // namespace portcullis::authn
