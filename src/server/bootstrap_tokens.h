// SPDX-License-Identifier: Apache-2.0

// Bootstrap tokens: "<id>.<secret>" of the secrets bootstrap-token-<id> in kube-system, by which machines
// join a cluster before they have credentials of their own.
#pragma once

#include <memory>

#include "authn/authenticator.h"
#include "base/clock.h"
#include "store/store.h"

namespace portcullis::server {

// Store and clock outlive it. Tokens are good for `api_audiences`. A token that is not known, has
// ended or is not for authentication is left to other authenticators.
std::unique_ptr<authn::TokenAuthenticator> MakeBootstrapTokens(
    const store::Reader& store, std::vector<std::string> api_audiences, const base::Clock& clock);

}  // namespace portcullis::server
