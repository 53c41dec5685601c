// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "authn/aggregate.h"
#include "authn/methods.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/strings.h"
#include "net/http.h"
#include "net/websocket.h"

namespace portcullis::authn {
namespace {

using Outcome = base::Result<std::optional<Identity>>;

base::Status Unauthorized(std::string message) {
  return {base::Reason::kUnauthorized, std::move(message)};
}

// Asks all who may know the token.
Outcome AuthenticateBy(const TokenAuthenticators& tokens, std::string_view token,
                       const RequestView& request) {
  static const std::vector<std::string> kOwn;
  const auto& audiences = request.audiences != nullptr ? *request.audiences : kOwn;
  std::vector<std::string> errors;
  for (const auto& authenticator : tokens) {
    std::optional<Outcome> identity =
        request.would_wait != nullptr
            ? authenticator->AuthenticateAtOnce(token, audiences)
            : authenticator->AuthenticateToken(token, audiences, request.deadline);
    if (!identity) {
      *request.would_wait = true;
      return std::optional<Identity>();
    }
    if (!identity->ok()) {
      errors.push_back(identity->status().message());
    } else if ((*identity)->has_value()) {
      return *std::move(identity);
    }
  }
  return Unauthorized(errors.empty() ? "invalid bearer token" : Aggregate(errors));
}

class BearerToken final : public Authenticator {
 public:
  explicit BearerToken(TokenAuthenticators tokens) : tokens_(std::move(tokens)) {}

  Outcome Authenticate(const RequestView& request) const override {
    const std::string_view header = golang::TrimSpace(request.headers.Get("Authorization"));
    const auto parts = base::Cut(header, " ");
    if (!parts || !base::EqualsIgnoreCase(parts->first, "bearer")) return std::optional<Identity>();
    // "Bearer  x" has an empty token, which is none.
    const std::string_view token = parts->second.substr(0, parts->second.find(' '));
    if (token.empty()) return std::optional<Identity>();
    return AuthenticateBy(tokens_, token, request);
  }

 private:
  const TokenAuthenticators tokens_;
};

class TokenReviewer final : public TokenAuthenticator {
 public:
  TokenReviewer(const Authenticator& authenticator, bool may_wait)
      : authenticator_(authenticator), may_wait_(may_wait) {}

  bool MayWait() const override { return may_wait_; }

  Outcome AuthenticateToken(std::string_view token, const std::vector<std::string>& audiences,
                            base::SteadyTime deadline) const override {
    const net::Headers headers{{"Authorization", base::StrCat("Bearer ", token)}};
    auto identity = authenticator_.Authenticate({.headers = headers,
                                                 .remote_address = {},
                                                 .audiences = &audiences,
                                                 .path = {},
                                                 .deadline = deadline});
    if (identity.ok()) return identity;
    // kube-apiserver asks the authenticator of its own loopback client first.
    return Unauthorized(Aggregate({"invalid bearer token", identity.status().message()}));
  }

 private:
  const Authenticator& authenticator_;
  const bool may_wait_;
};

constexpr std::string_view kProtocols = "Sec-WebSocket-Protocol";
constexpr std::string_view kTokenPrefix = "base64url.bearer.authorization.k8s.io.";

class WebSocketToken final : public Authenticator {
 public:
  explicit WebSocketToken(TokenAuthenticators tokens) : tokens_(std::move(tokens)) {}

  Outcome Authenticate(const RequestView& request) const override {
    if (!net::AsksForWebSocket(request.headers)) return std::optional<Identity>();
    std::optional<std::string> token;
    std::vector<std::string_view> others;
    for (const std::string_view header : request.headers.All(kProtocols)) {
      for (const std::string_view listed : base::Split(header, ',')) {
        const std::string_view protocol = base::Trim(listed);
        if (!protocol.starts_with(kTokenPrefix)) {
          others.push_back(protocol);
          continue;
        }
        if (token) {
          return Unauthorized("multiple base64.bearer.authorization tokens specified");
        }
        token = base::Base64UrlDecode(protocol.substr(kTokenPrefix.size()));
        if (!token) return Unauthorized("invalid base64.bearer.authorization token encoding");
        if (!base::IsValidUtf8(*token)) {
          return Unauthorized("invalid base64.bearer.authorization token");
        }
      }
    }
    if (!token || token->empty()) return std::optional<Identity>();
    if (others.empty()) return Unauthorized("missing additional subprotocol");
    auto outcome = AuthenticateBy(tokens_, *token, request);
    if (outcome.ok() && *outcome) (*outcome)->notes.protocols = base::Join(others, ",");
    return outcome;
  }

 private:
  const TokenAuthenticators tokens_;
};

}  // namespace

std::string Aggregate(const std::vector<std::string>& errors) {
  std::vector<std::string> distinct;
  for (const std::string& error : errors) {
    if (std::find(distinct.begin(), distinct.end(), error) == distinct.end()) {
      distinct.push_back(error);
    }
  }
  if (distinct.size() == 1) return distinct.front();
  return base::StrCat("[", base::Join(distinct, ", "), "]");
}

std::unique_ptr<Authenticator> MakeBearerToken(TokenAuthenticators tokens) {
  return std::make_unique<BearerToken>(std::move(tokens));
}

std::unique_ptr<TokenAuthenticator> MakeTokenReviewer(const Authenticator& authenticator,
                                                      bool may_wait) {
  return std::make_unique<TokenReviewer>(authenticator, may_wait);
}

std::unique_ptr<Authenticator> MakeWebSocketToken(TokenAuthenticators tokens) {
  return std::make_unique<WebSocketToken>(std::move(tokens));
}

}  // namespace portcullis::authn
