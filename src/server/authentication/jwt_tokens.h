// SPDX-License-Identifier: Apache-2.0

// JwtTokens: users by tokens of OpenID Connect issuers. Verdicts and texts are kube-apiserver's
// (k8s.io/apiserver/plugin/pkg/authenticator/token/oidc), but that distributed claims are refused.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "authn/authenticator.h"
#include "base/clock.h"
#include "base/status.h"
#include "server/authentication/authentication_file.h"
#include "server/authentication/provider.h"

namespace portcullis::server::authentication {

// The names of the algorithms that tokens may be signed with, sorted.
std::span<const std::string_view> SigningAlgorithms();

struct JwtTokensParts {
  ProviderParts provider;
  std::vector<std::string> signing_algorithms;
  std::vector<std::string> api_audiences;  // for which all tokens count
};

// The issuers of one configuration. Thread-safe.
class JwtTokens : public authn::TokenAuthenticator {
 public:
  static base::Result<std::shared_ptr<JwtTokens>> Create(const Configuration& configuration,
                                                         const JwtTokensParts& parts);
  // Asks those issuers that have not answered yet.
  virtual void Discover() = 0;
  // What is wrong with the issuers that have not.
  virtual base::Status health() const = 0;
};

}  // namespace portcullis::server::authentication
