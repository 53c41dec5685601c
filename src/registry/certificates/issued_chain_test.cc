// SPDX-License-Identifier: Apache-2.0

#include "registry/certificates/issued_chain.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "golang/time.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::registry {
namespace {

// A request for a key on P-256, and a certificate for that key from 03:04:05 to 05:04:05.
constexpr std::string_view kStub =
    "MIG6MGICAQAwADBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDcKJ6RemGJaNw5CFwNSBgtxEbwsXgyITJdlfg9L"
    "brxBC0Mi+6SjstTk8gpK5h4ywonyJobOxVdK8DLt83+ld4egADAKBggqhkjOPQQDAgNIADBFAiAFjvGerhhYx5GM"
    "J6bpv2Gk49Gfe53u9C/h1GmFaOlU8gIhAPB9FQduAqQFCAcRUNNMUYVlG69mafyZFAATuLdpPNJo";
constexpr std::string_view kChain =
    "-----BEGIN CERTIFICATE-----\n"
    "MIH4MIGgoAMCAQICAQcwCgYIKoZIzj0EAwIwDTELMAkGA1UEAwwCY2EwHhcNMjYw\n"
    "MTAyMDMwNDA1WhcNMjYwMTAyMDUwNDA1WjAAMFkwEwYHKoZIzj0CAQYIKoZIzj0D\n"
    "AQcDQgAENwonpF6YYlo3DkIXA1IGC3ERvCxeDIhMl2V+D0tuvEELQyL7pKOy1OTy\n"
    "CkrmHjLCifImhs7FV0rwMu3zf6V3hzAKBggqhkjOPQQDAgNHADBEAiBnRFsmkL9E\n"
    "IKeOd09pWIG/5iXAtutYMaQeImemuxaYrAIgTry4RyrwzNQ2iEzxGE6JBOfrLwE1\n"
    "Jde9IO8XNiEIK/Q=\n"
    "-----END CERTIFICATE-----\n";

std::string Wrong(std::string_view from, std::string_view refresh, std::string_view until,
                  std::int64_t seconds = 86400, std::string_view more = {}) {
  const std::string text = base::StrCat(
      R"({"spec":{"maxExpirationSeconds":)", std::to_string(seconds), R"(,"stubPKCS10Request":")",
      kStub, R"("},"status":{"notBefore":"2026-01-02T)", from, R"(","beginRefreshAt":"2026-01-02T)",
      refresh, R"(","notAfter":"2026-01-02T)", until, R"("}})");
  json::Arena arena;
  json::Value request = json::Parse(arena, text).value();
  request = json::SetPath(arena, request, {"status", "certificateChain"},
                          json::String(arena, base::StrCat(kChain, more)));
  const auto now = golang::ParseTime("2026-01-02T03:09:00Z");
  FieldErrors errors;
  CheckIssued(request, request["spec"], base::WallTime(std::chrono::seconds(now->seconds)), errors);
  return errors.empty() ? "" : errors.front().ToString();
}

TEST(IssuedChain, TimesAreThoseOfTheLeafAndLeaveTimeToRefresh) {
  const std::pair<std::string, std::string_view> rows[] = {
      {Wrong("03:04:05Z", "04:04:05Z", "05:04:05Z"), ""},
      {Wrong("03:04:05Z", "04:04:05Z", "05:04:05Z", 7200), ""},
      {Wrong("03:04:06Z", "04:04:05Z", "05:04:05Z"),
       R"(status.notBefore: Invalid value: "2026-01-02T03:04:06Z": must be set to the NotBefore time encoded )"
       "in the leaf certificate"},
      {Wrong("03:04:05Z", "04:04:05Z", "05:04:06Z"),
       R"(status.notAfter: Invalid value: "2026-01-02T05:04:06Z": must be set to the NotAfter time encoded )"
       "in the leaf certificate"},
      {Wrong("03:04:05Z", "04:04:05Z", "05:04:05Z", 7199),
       "status.certificateChain: Invalid value: 7200000000000: leaf certificate lifetime must be "
       "<= "
       "spec.maxExpirationSeconds (7199)"},
      {Wrong("03:04:05Z", "03:14:04Z", "05:04:05Z"),
       R"(status.beginRefreshAt: Invalid value: "2026-01-02T03:14:04Z": must be at least 10 minutes after )"
       "status.notBefore"},
      {Wrong("03:04:05Z", "04:54:06Z", "05:04:05Z"),
       R"(status.beginRefreshAt: Invalid value: "2026-01-02T04:54:06Z": must be at least 10 minutes before )"
       "status.notAfter"}};
  for (const auto& [said, wanted] : rows) EXPECT_EQ(said, wanted);
}

TEST(IssuedChain, TheRestOfTheChainIsRead) {
  const auto with = [](std::string_view more) {
    const std::string said = Wrong("03:04:05Z", "04:04:05Z", "05:04:05Z", 86400, more);
    return said.substr(said.rfind(": ") == std::string::npos ? 0 : said.rfind(": ") + 2);
  };
  EXPECT_EQ(with(kChain), "");
  EXPECT_EQ(with("between\n"), "");
  EXPECT_EQ(with("-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n"),
            "intermediate certificate does not parse as valid X.509");
  EXPECT_TRUE(with("-----BEGIN X-----\nYWJj\n-----END X-----\n").ends_with(" PEM blocks"));
}

}  // namespace
}  // namespace portcullis::registry
