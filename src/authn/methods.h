// SPDX-License-Identifier: Apache-2.0

// The ways to authenticate, and their union. Each Make… returns one member of the family.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "authn/authenticator.h"

namespace portcullis::authn {

// The verified client certificate: user is the subject's CN, groups are its O's.
std::unique_ptr<Authenticator> MakeClientCertificate();

// system:anonymous of group system:unauthenticated: at these paths only, or always if there are none.
std::unique_ptr<Authenticator> MakeAnonymous(std::vector<std::string> paths = {});

// --token-auth-file: CSV lines `token,user,uid,"group1,group2"`. Errors as kube-apiserver's. The tokens
// are good for `api_audiences`.
base::Result<std::unique_ptr<TokenAuthenticator>> LoadTokenFile(
    const std::string& path, std::vector<std::string> api_audiences);
base::Result<std::unique_ptr<TokenAuthenticator>> ParseTokenFile(
    const std::string& path, std::string_view content, std::vector<std::string> api_audiences);

// `Authorization: Bearer <token>` judged by the first of `tokens` that knows it; a token that
// none knows is an error (401), never anonymous. The list is kept.
using TokenAuthenticators = std::vector<std::shared_ptr<const TokenAuthenticator>>;
std::unique_ptr<Authenticator> MakeBearerToken(TokenAuthenticators tokens);

// The same for the token that a browser hides among the protocols of a WebSocket:
// `Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.<token>, <protocol>`.
std::unique_ptr<Authenticator> MakeWebSocketToken(TokenAuthenticators tokens);

// For TokenReview: as a request is authenticated that carries nothing but the token. `authenticator`
// outlives it. `may_wait`: it calls other servers.
std::unique_ptr<TokenAuthenticator> MakeTokenReviewer(const Authenticator& authenticator,
                                                      bool may_wait = false);

// Asks each in order; the first identity wins and gets the group system:authenticated (unless it is
// anonymous). Without one: the errors as one Unauthorized, or no value.
std::unique_ptr<Authenticator> MakeUnion(std::vector<std::unique_ptr<Authenticator>> members);

}  // namespace portcullis::authn
