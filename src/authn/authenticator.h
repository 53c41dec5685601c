// SPDX-License-Identifier: Apache-2.0

// Authenticator finds out who makes a request.
//
// Several are asked in turn (methods.h): client certificate, token file, service account token,
// and last the anonymous one. Immutable after construction; called from many threads at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/user_info.h"
#include "base/clock.h"
#include "base/status.h"

namespace portcullis::net {
class Headers;
struct ClientCertificate;
}  // namespace portcullis::net

namespace portcullis::authn {

// What authentication may look at. Views, valid for the call.
struct RequestView {
  const net::Headers& headers;
  const net::ClientCertificate* certificate = nullptr;  // null: none was presented
  std::string_view remote_address;                      // "127.0.0.1:50123"
  // Those a TokenReview asks for; null or empty: those of the API server.
  const std::vector<std::string>* audiences = nullptr;
  std::string_view path;  // of the URL
  // When the request is over for its client: then nothing is waited for any more.
  base::SteadyTime deadline = base::SteadyTime::max();
  // On a thread that must not wait: set if the answer needs a call of another server. The answer does
  // not count then. Null: the thread may wait.
  bool* would_wait = nullptr;
};

// What is to be said of a request because of how it was authenticated.
struct Notes {
  std::vector<std::string> warnings;  // for the client
  std::vector<std::pair<std::string, std::string>> audit_annotations;
  // What Sec-WebSocket-Protocol names besides the token that the client was known by.
  std::optional<std::string> protocols;
};

// `user` as the request is to be judged; the audiences a token was checked for.
struct Identity {
  api::UserInfo user;
  std::vector<std::string> audiences;
  Notes notes;
};

class Authenticator {
 public:
  virtual ~Authenticator() = default;

  // No value: the request carries nothing this authenticator knows; another may. An error: it does,
  // and it is wrong (expired, forged, unknown); the request ends with 401 unless another accepts
  // it.
  virtual base::Result<std::optional<Identity>> Authenticate(const RequestView& request) const = 0;
};

// The same for a bare token. `audiences` empty: those of the API server. Other servers are waited for
// until `deadline`.
class TokenAuthenticator {
 public:
  virtual ~TokenAuthenticator() = default;
  virtual base::Result<std::optional<Identity>> AuthenticateToken(
      std::string_view token, const std::vector<std::string>& audiences,
      base::SteadyTime deadline) const = 0;
  // The same where nothing may wait; nullopt: that takes AuthenticateToken(), which may call another
  // server.
  virtual std::optional<base::Result<std::optional<Identity>>> AuthenticateAtOnce(
      std::string_view token, const std::vector<std::string>& audiences) const {
    return AuthenticateToken(token, audiences, {});
  }
  // Whether AuthenticateToken() ever calls another server.
  virtual bool MayWait() const { return false; }
};

// Extra key of the credential id: "X509SHA256=<hex>" or "JTI=<id>".
inline constexpr std::string_view kCredentialId = "authentication.kubernetes.io/credential-id";

}  // namespace portcullis::authn
