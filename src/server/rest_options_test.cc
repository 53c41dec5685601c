// SPDX-License-Identifier: Apache-2.0

#include "server/rest_options.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/strings.h"

namespace portcullis::server {
namespace {

// The error that a GET ends with on a server of the release; "" if there is none.
std::string ErrorOf(std::string_view version, std::string_view query) {
  const release::Release release = *release::Release::Open(version);
  Environment environment;
  environment.clock = &base::SystemClock();
  environment.release = &release;
  net::Request request;
  request.method = "GET";
  request.target = base::StrCat("/api/v1/pods?", query);
  const RequestInfo info = ParseRequestInfo(request.method, request.target);
  Call call(environment, std::move(request));
  call.info = info;
  return std::string(ReadListOptions(call, false).status().message());
}

// Gate WatchList: on in v1.32, off in v1.33, on since v1.34.
constexpr std::string_view kWithWatchList[] = {"1.32", "1.34", "1.36"};
constexpr std::string_view kWithout[] = {"1.31", "1.33"};

TEST(ListOptions, OfAWatchBeginWithAListOnlyWhereTheReleaseHasWatchList) {
  constexpr std::string_view kQuery =
      "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
  for (const std::string_view version : kWithWatchList) EXPECT_EQ(ErrorOf(version, kQuery), "");
  for (const std::string_view version : kWithout) {
    EXPECT_EQ(ErrorOf(version, kQuery),
              "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: "
              "sendInitialEvents is forbidden for watch unless the WatchList feature gate is "
              "enabled")
        << version;
  }
}

TEST(ListOptions, OfAWatchMayContinueWhereTheReleaseHasNoWatchList) {
  constexpr std::string_view kQuery = "watch=1&continue=x";
  for (const std::string_view version : kWithWatchList) {
    EXPECT_EQ(ErrorOf(version, kQuery),
              "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
              "resourceVersionMatch is forbidden when continue is provided")
        << version;
  }
  for (const std::string_view version : kWithout) EXPECT_EQ(ErrorOf(version, kQuery), "");
}

TEST(ListOptions, OfAListDoNotDependOnWatchList) {
  for (const std::string_view version : {"1.33", "1.36"}) {
    EXPECT_EQ(ErrorOf(version, "sendInitialEvents=true"),
              "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: "
              "sendInitialEvents is forbidden for list");
  }
}

}  // namespace
}  // namespace portcullis::server
