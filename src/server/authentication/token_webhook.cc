// SPDX-License-Identifier: Apache-2.0

#include "server/authentication/token_webhook.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/gotext.h"
#include "base/log.h"
#include "base/strings.h"
#include "json/value.h"
#include "json/writer.h"
#include "kubeconfig/client.h"
#include "kubeconfig/rest.h"

namespace portcullis::server::authentication {
namespace {

constexpr std::string_view kGroup = "authentication.k8s.io/";
constexpr std::string_view kKind = "TokenReview";
constexpr std::string_view kReviewTypes = R"(
v1.TokenReview: kind string, apiVersion string, metadata any, spec any, status v1.TokenReviewStatus
v1.TokenReviewStatus: authenticated bool, user v1.UserInfo, audiences []string, error string
v1.UserInfo: username string, uid string, groups []string, extra map[string][]string)";

using Outcome = base::Result<std::optional<authn::Identity>>;

std::vector<std::string> Common(const std::vector<std::string>& wanted,
                                const std::vector<std::string>& given) {
  std::vector<std::string> common;
  for (const std::string& audience : wanted) {
    if (std::find(given.begin(), given.end(), audience) != given.end()) common.push_back(audience);
  }
  return common;
}

class TokenWebhook final : public authn::TokenAuthenticator {
 public:
  TokenWebhook(TokenWebhookOptions options, kubeconfig::Client client)
      : options_(std::move(options)), client_(std::move(client)) {}

  std::optional<Outcome> AuthenticateAtOnce(std::string_view,
                                            const std::vector<std::string>&) const override {
    return std::nullopt;
  }

  Outcome AuthenticateToken(std::string_view token, const std::vector<std::string>& audiences,
                            base::SteadyTime deadline) const override {
    const std::vector<std::string>& wanted = audiences.empty() ? options_.api_audiences : audiences;
    json::Arena arena;
    const auto status = Ask(arena, token, wanted, deadline);
    if (!status.ok()) {
      base::LogError("Failed to make webhook authenticator request",
                     {{"error", status.status().message()}});
      return status.status();
    }
    std::vector<std::string> given;
    for (const json::Value& audience : (*status)["audiences"].elements()) {
      given.emplace_back(audience.AsString());
    }
    authn::Identity identity;
    identity.audiences = Common(wanted, given.empty() ? options_.api_audiences : given);
    if (identity.audiences.empty()) return std::optional<authn::Identity>();
    if (!(*status)["authenticated"].AsBool()) {
      const std::string_view error = (*status)["error"].AsString();
      if (error.empty()) return std::optional<authn::Identity>();
      return base::Status(base::Reason::kUnauthorized, std::string(error));
    }
    identity.user = api::UserInfoFromJson((*status)["user"]);
    return std::optional<authn::Identity>(std::move(identity));
  }

 private:
  base::Result<json::Value> Ask(json::Arena& arena, std::string_view token,
                                const std::vector<std::string>& audiences,
                                base::SteadyTime deadline) const {
    json::ArrayBuilder list(arena);
    for (const std::string& audience : audiences) list.Add(audience);
    const json::Value review =
        json::ObjectBuilder(arena)
            .Set("kind", kKind)
            .Set("apiVersion", std::string_view(base::StrCat(kGroup, options_.version)))
            .Set("metadata", json::MakeObject(arena, {}))
            .Set("spec", json::ObjectBuilder(arena)
                             .Set("token", token)
                             .Set("audiences", list.Build())
                             .Build())
            .Set("status",
                 json::ObjectBuilder(arena).Set("user", json::MakeObject(arena, {})).Build())
            .Build();
    json::Value status;
    TRY(client_.Post(
        std::make_shared<const std::string>(json::ToString(review)),
        [&](const net::Response& response) -> base::Status {
          status = TRY(ReadStatus(arena, response));
          return base::OkStatus();
        },
        deadline));
    return status;
  }

  base::Result<json::Value> ReadStatus(json::Arena& arena, const net::Response& response) const {
    const std::string api_version = base::StrCat(kGroup, options_.version);
    const json::Value review =
        TRY(kubeconfig::ParseReview(arena, response, {api_version, kKind, kReviewTypes}));
    return json::DeepCopy(arena, review["status"]);
  }

  const TokenWebhookOptions options_;
  const kubeconfig::Client client_;
};

}  // namespace

base::Result<std::shared_ptr<const authn::TokenAuthenticator>> MakeTokenWebhook(
    const TokenWebhookOptions& options, net::HttpsClient& https) {
  auto client = TRY(kubeconfig::Client::Load(options.kubeconfig, {}, &https));
  if (options.version != "v1" && options.version != "v1beta1") {
    return base::ConfigError(base::StrCat("unsupported authentication webhook version ",
                                          base::GoQuote(options.version),
                                          ", supported versions are \"v1\", \"v1beta1\""));
  }
  return std::shared_ptr<const authn::TokenAuthenticator>(
      std::make_shared<TokenWebhook>(options, std::move(client)));
}

}  // namespace portcullis::server::authentication
