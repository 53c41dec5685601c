// SPDX-License-Identifier: Apache-2.0

// How long the keys of an issuer are fresh by the headers that come with them. Verdicts are those of
// github.com/pquerna/cachecontrol, which the OpenID Connect client of kube-apiserver asks.
#pragma once

#include <chrono>

#include "base/clock.h"
#include "net/http.h"

namespace portcullis::server::authentication {

// By Cache-Control, else Expires, else Last-Modified; 0 if one of them or Date cannot be read. That an answer
// must not be kept (no-store) does not count: keys are kept in any case.
std::chrono::seconds FreshFor(const net::Headers& headers, base::WallTime now);

}  // namespace portcullis::server::authentication
