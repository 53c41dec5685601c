// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "authn/methods.h"

namespace portcullis::authn {
namespace {

class Anonymous final : public Authenticator {
 public:
  explicit Anonymous(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  base::Result<std::optional<Identity>> Authenticate(const RequestView& request) const override {
    if (!paths_.empty() && std::find(paths_.begin(), paths_.end(), request.path) == paths_.end()) {
      return std::optional<Identity>();
    }
    Identity identity;
    identity.user.name = api::kUserAnonymous;
    identity.user.groups = {std::string(api::kGroupUnauthenticated)};
    if (request.audiences != nullptr) identity.audiences = *request.audiences;
    return std::optional<Identity>(std::move(identity));
  }

 private:
  const std::vector<std::string> paths_;
};

}  // namespace

std::unique_ptr<Authenticator> MakeAnonymous(std::vector<std::string> paths) {
  return std::make_unique<Anonymous>(std::move(paths));
}

}  // namespace portcullis::authn
