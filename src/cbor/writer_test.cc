// SPDX-License-Identifier: Apache-2.0

#include "cbor/writer.h"

#include <gtest/gtest.h>

#include <string>

#include "base/strings.h"
#include "cbor/reader.h"
#include "json/reader.h"

namespace portcullis::cbor {
namespace {

std::string Hex(std::string_view text) {
  json::Arena arena;
  const auto value = json::Parse(arena, text);
  EXPECT_TRUE(value.ok()) << text;
  std::string out;
  if (value.ok()) Write(*value, out);
  return base::HexEncode(out);
}

TEST(CborWriter, WritesItems) {
  constexpr std::pair<std::string_view, std::string_view> kCases[] = {
      {"0", "00"},
      {"23", "17"},
      {"24", "1818"},
      {"256", "190100"},
      {"65536", "1a00010000"},
      {"9223372036854775807", "1b7fffffffffffffff"},
      {"-1", "20"},
      {"-9223372036854775808", "3b7fffffffffffffff"},
      {"true", "f5"},
      {"false", "f4"},
      {"null", "f6"},
      {R"("a")", "4161"},
      {R"(["a",{}])", "824161a0"},
      {R"({"b":[],"a":1})", "a2416280416101"},
      // The smallest width that holds the number.
      {"1.5", "f93e00"},
      {"-0.0", "f98000"},
      {"65504.0", "f97bff"},
      {"65536.0", "fa47800000"},
      {"5.960464477539063e-8", "f90001"},
      {"6.103515625e-5", "f90400"},
      {"2.9802322387695312e-8", "fa33000000"},
      {"1.1", "fb3ff199999999999a"},
      {"100000.0", "fa47c35000"},
      {"1e300", "fb7e37e43c8800759c"},
  };
  for (const auto& [text, hex] : kCases) EXPECT_EQ(Hex(text), hex) << text;
}

TEST(CborWriter, DocumentsAndBytesAreTagged) {
  std::string out(kSelfDescribed);
  Write(json::Value::Int(1), out);
  WriteBytes("a", out);
  EXPECT_EQ(base::HexEncode(out), "d9d9f701d64161");
}

TEST(CborWriter, WhatIsWrittenReadsBackEqual) {
  json::Arena arena;
  const auto value = json::Parse(
      arena, R"({"a":[1,-1,1.5,1.1,65504.5,1e-320,true,null,"\u00e9"],"b":{"c":{}},"":""})");
  ASSERT_TRUE(value.ok());
  std::string out(kSelfDescribed);
  Write(*value, out);
  const auto again = cbor::Parse(arena, out);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(*again == *value);
}

}  // namespace
}  // namespace portcullis::cbor
