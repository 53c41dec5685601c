// SPDX-License-Identifier: Apache-2.0

// Users by the word of a front proxy: headers of a request that came over a connection whose client
// certificate chains up to the proxies' authority (--requestheader-client-ca-file).
//
// Behaviour: https://kubernetes.io/docs/reference/access-authn-authz/authentication/
// #authenticating-proxy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "authn/authenticator.h"
#include "base/clock.h"

namespace portcullis::authn {

struct RequestHeaderOptions {
  std::string authorities_pem;
  std::vector<std::string> allowed_names;  // common names; empty allows every valid certificate
  std::vector<std::string> username_headers;
  std::vector<std::string> uid_headers;
  std::vector<std::string> group_headers;
  std::vector<std::string> extra_prefixes;
};

// Immutable after construction. The clock outlives it. Errors are those of reading the authorities.
base::Result<std::unique_ptr<Authenticator>> MakeRequestHeader(const RequestHeaderOptions& options,
                                                               const base::Clock& clock);

}  // namespace portcullis::authn
