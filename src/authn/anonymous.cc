// SPDX-License-Identifier: Apache-2.0

#include "authn/methods.h"

namespace portcullis::authn {
namespace {

class Anonymous final : public Authenticator {
 public:
  base::Result<std::optional<Identity>> Authenticate(const RequestView& request) const override {
    Identity identity;
    identity.user.name = api::kUserAnonymous;
    identity.user.groups = {std::string(api::kGroupUnauthenticated)};
    if (request.audiences != nullptr) identity.audiences = *request.audiences;
    return std::optional<Identity>(std::move(identity));
  }
};

}  // namespace

std::unique_ptr<Authenticator> MakeAnonymous() { return std::make_unique<Anonymous>(); }

}  // namespace portcullis::authn
