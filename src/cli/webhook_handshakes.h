// SPDX-License-Identifier: Apache-2.0

// Tries whether webhooks can be reached by TLS, as an API server would reach them, for
// `portcullis lint --webhooks=call` and `--webhooks=FILE`. No review is sent.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "net/client.h"
#include "offline/judge.h"

namespace portcullis::cli {

// `services`: where Services are reached, "namespace/name:port" -> "host:port"; others are not tried.
// Both outlive it.
std::unique_ptr<offline::Handshakes> MakeHandshakes(
    net::HttpsClient& https, const std::map<std::string, std::string>& services);

}  // namespace portcullis::cli
