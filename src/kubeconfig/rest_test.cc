// SPDX-License-Identifier: Apache-2.0

#include "kubeconfig/rest.h"

#include <gtest/gtest.h>

namespace portcullis::kubeconfig {
namespace {

TEST(RequestPathTest, CollapsesAndEscapesAnew) {
  EXPECT_EQ(RequestPath(""), "/");
  EXPECT_EQ(RequestPath("a/b/"), "/a/b");
  EXPECT_EQ(RequestPath("//a/./b/../c%20d//"), "/a/c%20d");
  EXPECT_EQ(RequestPath("/a%2fb/c,d;e(1)"), "/a/b/c,d;e%281%29");
  EXPECT_EQ(RequestPath("/\u00fc x/%zz"), "/%C3%BC%20x/%25zz");
}

TEST(ErrorOfAnswerTest, PrefersAStatusInTheBody) {
  const auto text = [](int code, std::string_view type, std::string_view body) {
    return ErrorOfAnswer(code, type, body, std::nullopt).message();
  };
  EXPECT_EQ(text(403, "application/json",
                 R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"go away"})"),
            "go away");
  EXPECT_EQ(text(500, "text/plain", " out of order\n"),
            "an error on the server (\"out of order\") has prevented the request from succeeding");
  EXPECT_EQ(text(500, "application/json", "{}"),
            "an error on the server (\"unknown\") has prevented the request from succeeding");
  EXPECT_EQ(text(404, "", "x"), "the server could not find the requested resource");
  EXPECT_EQ(text(418, "", "x"),
            "the server responded with the status code 418 but did not return more information");
}

TEST(ErrorOfAnswerTest, KeepsTheTextOfA403WithoutAStatusAsItsCause) {
  const base::Status status = ErrorOfAnswer(403, "text/plain", "not you", std::nullopt);
  EXPECT_EQ(status.reason(), base::Reason::kForbidden);
  EXPECT_EQ(status.message(), "not you");
  ASSERT_NE(status.details(), nullptr);
  ASSERT_EQ(status.details()->causes.size(), 1U);
  EXPECT_EQ(status.details()->causes[0].reason, "UnexpectedServerResponse");
  EXPECT_EQ(status.details()->causes[0].message, "not you");
}

}  // namespace
}  // namespace portcullis::kubeconfig
