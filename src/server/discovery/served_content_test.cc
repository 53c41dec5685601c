// SPDX-License-Identifier: Apache-2.0

#include "server/discovery/served_content.h"

#include <gtest/gtest.h>

namespace portcullis::server {
namespace {

constexpr const char* kThen = "Sat, 28 Nov 2026 11:41:12 GMT";
constexpr const char* kEarlier = "Sat, 28 Nov 2020 00:00:00 GMT";
constexpr const char* kLater = "Mon, 28 Nov 2033 00:00:00 GMT";

Reply Ask(net::Headers headers, std::string_view method = "GET", std::string_view tag = "\"tag\"") {
  net::Request request;
  request.method = std::string(method);
  request.headers = std::move(headers);
  Content content{std::make_shared<const std::string>("0123456789"), "application/json",
                  std::string(tag), 1795866072};
  return ServeContent(request, std::move(content), {});
}

std::string BodyOf(const Reply& reply) {
  return reply.shared_body ? *reply.shared_body : reply.body;
}

// What a kube-apiserver 1.36 answers for /openapi/v3/version.
TEST(ServedContent, HeedsConditions) {
  struct Case {
    net::Headers headers;
    int get, post;
  };
  const Case cases[] = {
      {{}, 200, 200},
      {{{"If-None-Match", "\"tag\""}}, 304, 412},
      {{{"If-None-Match", "W/\"tag\""}}, 304, 412},
      {{{"If-None-Match", "*"}}, 304, 412},
      {{{"If-None-Match", "\"a\", \"tag\""}}, 304, 412},
      {{{"If-None-Match", "\"a\",W/\"tag\""}}, 304, 412},
      {{{"If-None-Match", "\"a\" \"tag\""}}, 304, 412},
      {{{"If-None-Match", ", ,\"tag\""}}, 304, 412},
      {{{"If-None-Match", "tag"}}, 200, 200},
      {{{"If-None-Match", "\"a\""}}, 200, 200},
      {{{"If-None-Match", ""}}, 200, 200},
      {{{"If-None-Match", "\"a\""}, {"If-None-Match", "\"tag\""}}, 200, 200},
      {{{"If-None-Match", "\"a\""}, {"If-Modified-Since", kThen}}, 200, 200},
      {{{"If-Modified-Since", kThen}}, 304, 200},
      {{{"If-Modified-Since", kLater}}, 304, 200},
      {{{"If-Modified-Since", kEarlier}}, 200, 200},
      {{{"If-Modified-Since", "bad"}}, 200, 200},
      {{{"If-Match", "\"tag\""}}, 200, 200},
      {{{"If-Match", "W/\"tag\""}}, 412, 412},
      {{{"If-Match", "*"}}, 200, 200},
      {{{"If-Match", "\"x\", \"tag\""}}, 200, 200},
      {{{"If-Match", "\"x\""}, {"If-None-Match", "\"tag\""}}, 412, 412},
      {{{"If-Unmodified-Since", kThen}}, 200, 200},
      {{{"If-Unmodified-Since", kEarlier}}, 412, 412},
      {{{"If-Unmodified-Since", "bad"}}, 200, 200},
  };
  for (const Case& one : cases) {
    std::string asked;
    for (const auto& field : one.headers) asked += field.name + ": " + field.value + "; ";
    EXPECT_EQ(Ask(one.headers).status, one.get) << asked;
    EXPECT_EQ(Ask(one.headers, "POST").status, one.post) << asked;
  }
}

TEST(ServedContent, TellsTagAndTime) {
  const Reply whole = Ask({});
  EXPECT_EQ(whole.headers.Get("ETag"), "\"tag\"");
  EXPECT_EQ(whole.headers.Get("Last-Modified"), kThen);
  EXPECT_EQ(whole.headers.Get("Accept-Ranges"), "bytes");
  const Reply kept = Ask({{"If-None-Match", "\"tag\""}});
  EXPECT_EQ(kept.headers.Get("ETag"), "\"tag\"");
  EXPECT_FALSE(kept.headers.Has("Last-Modified"));
  EXPECT_EQ(kept.content_type + BodyOf(kept), "");
  const Reply untagged = Ask({{"If-None-Match", "*"}}, "GET", "");
  EXPECT_EQ(untagged.status, 304);
  EXPECT_EQ(untagged.headers.Get("Last-Modified"), kThen);
}

TEST(ServedContent, ServesRanges) {
  struct Case {
    std::string_view range;
    int status;
    std::string_view header, body;
  };
  constexpr Case kCases[] = {
      {"bytes=0-2", 206, "bytes 0-2/10", "012"},
      {"bytes=-2", 206, "bytes 8-9/10", "89"},
      {"bytes=8-", 206, "bytes 8-9/10", "89"},
      {"bytes=8-99", 206, "bytes 8-9/10", "89"},
      {"bytes=-99", 206, "bytes 0-9/10", "0123456789"},
      {"bytes=-0", 206, "bytes 10-9/10", ""},
      {"bytes=+1- 2 ", 206, "bytes 1-2/10", "12"},
      {"bytes=,0-1", 206, "bytes 0-1/10", "01"},
      {"bytes=0-1,99-", 206, "bytes 0-1/10", "01"},
      {"bytes=", 200, "", "0123456789"},
      {"bytes=0-7,0-7", 200, "", "0123456789"},
      {"bytes=99-", 416, "bytes */10", "invalid range: failed to overlap\n"},
      {"bytes=9-5", 416, "", "invalid range\n"},
      {"bytes=a-", 416, "", "invalid range\n"},
      {"bytes=--1", 416, "", "invalid range\n"},
      {"bytes=1", 416, "", "invalid range\n"},
      {"lines=1-2", 416, "", "invalid range\n"},
      {"bytes=0-9223372036854775808", 416, "", "invalid range\n"},
  };
  for (const Case& one : kCases) {
    const Reply reply = Ask({{"Range", std::string(one.range)}});
    EXPECT_EQ(reply.status, one.status) << one.range;
    EXPECT_EQ(reply.headers.Get("Content-Range"), one.header) << one.range;
    EXPECT_EQ(BodyOf(reply), one.body) << one.range;
    EXPECT_EQ(reply.headers.Has("ETag"), one.status != 416) << one.range;
  }
}

TEST(ServedContent, ServesSeveralRanges) {
  const Reply reply = Ask({{"Range", "bytes=0-1,4-5"}});
  const std::string boundary = reply.content_type.substr(reply.content_type.find('=') + 1);
  EXPECT_EQ(boundary.size(), 60U);
  const std::string type = "\r\nContent-Type: application/json\r\n\r\n";
  EXPECT_EQ(reply.body, "--" + boundary + "\r\nContent-Range: bytes 0-1/10" + type + "01\r\n--" +
                            boundary + "\r\nContent-Range: bytes 4-5/10" + type + "45\r\n--" +
                            boundary + "--\r\n");
}

TEST(ServedContent, ServesTheWholeForTooManyRanges) {
  std::string header = "bytes=-0";
  for (int more = 1; more < 1000; ++more) header += ",-0";
  EXPECT_EQ(Ask({{"Range", header}}).status, 206);
  const Reply whole = Ask({{"Range", header + ",-0"}});
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(BodyOf(whole), "0123456789");
}

TEST(ServedContent, ServesRangesOfWhatTheClientHas) {
  const auto status = [](std::string_view condition, std::string_view method) {
    return Ask({{"Range", "bytes=0-1"}, {"If-Range", std::string(condition)}}, method).status;
  };
  EXPECT_EQ(status("\"tag\"", "GET"), 206);
  EXPECT_EQ(status("W/\"tag\"", "GET"), 200);
  EXPECT_EQ(status("\"x\"", "GET"), 200);
  EXPECT_EQ(status(kThen, "GET"), 206);
  EXPECT_EQ(status(kEarlier, "GET"), 200);
  EXPECT_EQ(status("\"x\"", "POST"), 206);
}

}  // namespace
}  // namespace portcullis::server
