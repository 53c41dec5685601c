// SPDX-License-Identifier: Apache-2.0

// How clients are authenticated: by the methods that the flags ask for.
#pragma once

#include <memory>

#include "authn/authenticator.h"
#include "authn/service_account.h"
#include "base/clock.h"
#include "base/status.h"
#include "metrics/metrics.h"
#include "net/client.h"
#include "server/authentication/remote_tokens.h"
#include "server/credentials.h"
#include "server/legacy_tokens.h"
#include "server/options.h"
#include "store/store.h"

namespace portcullis::server {

struct Authentication {
  std::unique_ptr<authentication::RemoteTokens> remote;  // first: the others ask it
  std::unique_ptr<authn::TokenSigner> signer;            // of service accounts' tokens
  std::unique_ptr<LegacyTokens> legacy_tokens;           // null: --service-account-lookup=false
  std::unique_ptr<authn::Authenticator> authenticator;
  std::unique_ptr<authn::TokenAuthenticator> reviewer;  // of authenticator: for TokenReviews
};

// `https`, by which other servers are asked, store, clock and registry outlive what is made. Errors are the
// operator's: a flag, a file.
base::Result<Authentication> MakeAuthentication(const Options& options,
                                                const Credentials& credentials,
                                                net::HttpsClient& https, const store::Reader& store,
                                                const base::Clock& clock,
                                                metrics::Registry& metrics);

}  // namespace portcullis::server
