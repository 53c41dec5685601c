// The ways to authenticate, and their union. Each Make… returns one member of the family.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "authn/authenticator.h"

namespace portcullis::authn {

// The verified client certificate: user is the subject's CN, groups are its O's.
std::unique_ptr<Authenticator> MakeClientCertificate();

// system:anonymous of group system:unauthenticated, always.
std::unique_ptr<Authenticator> MakeAnonymous();

// --token-auth-file: CSV lines `token,user,uid,"group1,group2"`. Errors as kube-apiserver's.
base::Result<std::unique_ptr<TokenAuthenticator>> LoadTokenFile(const std::string& path);
base::Result<std::unique_ptr<TokenAuthenticator>> ParseTokenFile(const std::string& path,
                                                                 std::string_view content);

// `Authorization: Bearer <token>` judged by the first of `tokens` that knows it; a token nobody
// knows is an error (401), never anonymous. The list is kept.
std::unique_ptr<Authenticator> MakeBearerToken(
    std::vector<std::shared_ptr<const TokenAuthenticator>> tokens);

// Asks each in order; the first identity wins and gets the group system:authenticated (unless it is
// anonymous). Without one: the errors as one Unauthorized, or no value.
std::unique_ptr<Authenticator> MakeUnion(std::vector<std::unique_ptr<Authenticator>> members);

}  // namespace portcullis::authn
