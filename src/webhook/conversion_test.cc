// SPDX-License-Identifier: Apache-2.0

// How large the answer of a conversion webhook may be.

#include "webhook/conversion.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "net/client.h"
#include "net/testing/test_server.h"

namespace portcullis::webhook {
namespace {

// Converts `objects` objects of 2,000 bytes by a webhook that adds `added` bytes to each; any webhook may
// answer 3,000 bytes.
base::Status Convert(int objects, int added) {
  net::testing::TestServer server([added](const std::shared_ptr<net::Exchange>& exchange) {
    json::Arena arena;
    const json::Value request = json::Parse(arena, exchange->request().body).value()["request"];
    std::string converted;
    for (const json::Value object : request["objects"].elements()) {
      const json::Value made = json::With(
          arena, json::With(arena, object, "apiVersion", request["desiredAPIVersion"]), "added",
          json::String(arena, std::string(static_cast<std::size_t>(added), 'x')));
      converted += base::StrCat(converted.empty() ? "" : ",", json::ToString(made));
    }
    net::Response response;
    response.headers.Set("Content-Type", "application/json");
    response.body = base::StrCat(
        R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":")",
        request["uid"].AsString(), R"(","result":{"status":"Success"},"convertedObjects":[)",
        converted, "]}}");
    exchange->Respond(std::move(response));
  });
  constexpr std::size_t kLimit = 3000;
  net::ClientOptions limits;
  limits.max_response_bytes = kLimit;
  const auto client = net::HttpsClient::Create(server.io, limits);
  ConversionWebhooks webhooks(*client, nullptr, base::SystemClock(), nullptr, kLimit);
  json::Arena arena;
  const std::string definition = base::StrCat(
      R"({"metadata":{"name":"widgets.example.com"},"spec":{"conversion":{"strategy":"Webhook",
          "webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":")",
      server.Url("/convert"), R"(","caBundle":")",
      base::Base64Encode(server.certificates.authority.certificate_pem), R"("}}}}})");
  const auto converter = webhooks.For(json::Parse(arena, definition).value());
  const std::string object = base::StrCat(
      R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"text":")",
      std::string(2000, 'x'), R"("})");
  std::vector<json::Value> sent;
  for (int i = 0; i < objects; ++i) sent.push_back(json::Parse(arena, object).value());
  return converter->Convert(arena, sent, {"example.com", "v2"}).status();
}

TEST(ConversionWebhooks, TakeAnAnswerThatIsAsLargeAsWhatWasSent) {
  EXPECT_EQ(Convert(1, 0).message(), "");
  EXPECT_EQ(Convert(100, 0).message(), "");
  EXPECT_EQ(Convert(100, 5000).message(), "");
}

TEST(ConversionWebhooks, TakeNoneThatIsMuchLarger) {
  const std::string failure(Convert(10, 10'000).message());
  EXPECT_TRUE(failure.find("response body is larger than ") != std::string::npos) << failure;
}

}  // namespace
}  // namespace portcullis::webhook
