// SPDX-License-Identifier: Apache-2.0

// Authentication by others: the issuers of tokens that the file of --authentication-config or the flags
// --oidc-… name, and the webhook of --authentication-token-webhook-config-file. The file is looked at
// each second. A new one is in force as soon as all its issuers have answered; one that is wrong
// changes nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "authn/methods.h"
#include "base/clock.h"
#include "base/status.h"
#include "metrics/metrics.h"
#include "net/client.h"
#include "server/authentication/authentication_file.h"
#include "server/options.h"

namespace portcullis::server::authentication {

// Outlive it.
struct Parts {
  net::HttpsClient& https;
  const base::Clock& clock;
  metrics::Registry& metrics;
  std::vector<std::string> api_audiences;
  std::vector<std::string> service_account_issuers;
};

// Thread-safe. Destroyed before the client, after what uses its members.
class RemoteTokens {
 public:
  virtual ~RemoteTokens() = default;
  // In the order in which they are asked, after those that need no other server. None: no request
  // waits for its authentication.
  virtual const authn::TokenAuthenticators& tokens() const = 0;
  virtual const AnonymousSettings& anonymous() const = 0;
};

// Errors are the operator's: a flag, a file.
base::Result<std::unique_ptr<RemoteTokens>> MakeRemoteTokens(const Options& options,
                                                             const Parts& parts);

}  // namespace portcullis::server::authentication
