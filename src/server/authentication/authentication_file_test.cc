// SPDX-License-Identifier: Apache-2.0

#include "server/authentication/authentication_file.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::server::authentication {
namespace {

constexpr std::string_view kFailedToLoad =
    "failed to load authentication configuration from file \"FILE\"";

// What the server says of a file before it starts.
std::string Refusal(std::string text, const std::vector<std::string>& own_issuers) {
  const auto document = ParseConfiguration(std::move(text));
  if (!document.ok()) return document.status().Annotate(kFailedToLoad).message();
  const auto configuration = ReadConfiguration(*document, {});
  if (!configuration.ok()) {
    return configuration.status().Annotate("invalid authentication configuration").message();
  }
  return CheckIssuers(*configuration, own_issuers).message();
}

// tests/reference/authentication.py has recorded it from kube-apiserver.
TEST(Configuration, RefusesWhatKubeApiserverRefuses) {
  const auto text =
      base::ReadFile(PC_SOURCE_DIR "/src/server/authentication/testdata/refusals.json");
  ASSERT_TRUE(text.ok()) << text.status().message();
  const auto recorded = json::ParseDocument(*text);
  ASSERT_TRUE(recorded.ok());
  int count = 0;
  for (const json::Value& row : recorded->root().elements()) {
    if (!row["name"].AsString().starts_with("file: ")) continue;
    SCOPED_TRACE(row["name"].AsString());
    ++count;
    EXPECT_EQ(Refusal(std::string(row["file"].AsString()), {"https://kubernetes.default.svc"}),
              row["error"].AsString());
  }
  EXPECT_GT(count, 50);
}

TEST(Configuration, HasWhatTheFileSays) {
  const auto document = ParseConfiguration(R"(
apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthenticationConfiguration
jwt:
- issuer: {url: https://a.example, audiences: [b, c], audienceMatchPolicy: MatchAny}
  claimValidationRules: [{claim: hd, requiredValue: x}]
  claimMappings:
    username: {claim: sub, prefix: 'p:'}
    groups: {expression: claims.groups}
anonymous: {enabled: true, conditions: [{path: /livez}, {path: /readyz}]}
)");
  ASSERT_TRUE(document.ok()) << document.status().message();
  const auto configuration = ReadConfiguration(*document, {});
  ASSERT_TRUE(configuration.ok()) << configuration.status().message();
  EXPECT_EQ(configuration->anonymous, (AnonymousSettings{true, {"/livez", "/readyz"}}));
  ASSERT_EQ(configuration->jwt.size(), 1U);
  const JwtSettings& jwt = *configuration->jwt.front();
  EXPECT_EQ(jwt.issuer, "https://a.example");
  EXPECT_EQ(jwt.audiences, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(jwt.username.prefix, "p:");
  EXPECT_EQ(jwt.groups.expression->text(), "claims.groups");
  EXPECT_EQ(jwt.claim_rules.front().required_value, "x");
}

TEST(Configuration, OfFlagsPrefixesNamesByTheIssuer) {
  struct Row {
    std::string_view claim;
    std::string_view prefix;
    std::string_view expected;
  };
  constexpr Row kRows[] = {{"sub", "", "https://a.example#"},
                           {"email", "", ""},
                           {"sub", "-", ""},
                           {"email", "x:", "x:"}};
  for (const Row& row : kRows) {
    Options options;
    options.oidc_issuer_url = "https://a.example";
    options.oidc_client_id = "app";
    options.oidc_username_claim = row.claim;
    options.oidc_username_prefix = row.prefix;
    options.oidc_required_claims = {{"a", "1"}, {"b", "2"}};
    const auto document = ConfigurationOfFlags(options);
    ASSERT_TRUE(document.ok());
    const auto configuration = ReadConfiguration(*document, {});
    ASSERT_TRUE(configuration.ok()) << configuration.status().message();
    const JwtSettings& jwt = *configuration->jwt.front();
    EXPECT_EQ(jwt.username.prefix, row.expected);
    EXPECT_EQ(jwt.claim_rules.size(), 2U);
    EXPECT_EQ(jwt.groups.claim, "");
  }
}

}  // namespace
}  // namespace portcullis::server::authentication
