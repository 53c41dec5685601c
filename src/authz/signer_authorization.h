// SPDX-License-Identifier: Apache-2.0

// Whether a user may act for a certificate signer, as certificate plugins and strategies ask it.
#pragma once

#include <string_view>

#include "api/user_info.h"
#include "authz/authorizer.h"

namespace portcullis::authz {

// Asks for `verb` on signers.certificates.k8s.io by the signer's full name, then for all signers of
// its domain ("example.com/*"). False without an authorizer.
bool MayUseSigner(const Authorizer* authorizer, const api::UserInfo& user, std::string_view verb,
                  std::string_view signer_name);

}  // namespace portcullis::authz
