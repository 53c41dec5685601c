// SPDX-License-Identifier: Apache-2.0

// A token authenticator that remembers what another has said of a token for a while
// (k8s.io/apiserver/pkg/authentication/token/cache). Requests that bring the same token at the same time
// share one question; it takes at most 30 seconds. Counts
// authentication_token_cache_*.
#pragma once

#include <memory>

#include "authn/authenticator.h"
#include "base/clock.h"
#include "metrics/metrics.h"

namespace portcullis::server::authentication {

struct CacheTimes {
  base::Duration known{0};    // of tokens that belong to a user; 0: not remembered
  base::Duration unknown{0};  // of those that do not; errors are never remembered
};

std::shared_ptr<const authn::TokenAuthenticator> MakeTokenCache(
    std::shared_ptr<const authn::TokenAuthenticator> tokens, const CacheTimes& times,
    const base::Clock& clock, metrics::Registry& metrics);

}  // namespace portcullis::server::authentication
