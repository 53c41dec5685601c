// SPDX-License-Identifier: Apache-2.0

#include "json/scan.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

namespace portcullis::json::internal {
namespace {

// What ScanString() is to find, one byte after the other.
StringScan ByteByByte(std::string_view text) {
  StringScan scan;
  scan.stop = text.data();
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == '"' || byte == '\\') break;
    scan.non_ascii |= byte >= 0x80;
    scan.html |= byte == '<' || byte == '>' || byte == '&';
    ++scan.stop;
  }
  return scan;
}

// CopyPlain() stops at a byte that needs a second look, or at most fifteen before it.
void ExpectCopied(std::string_view text) {
  std::string copy(text.size(), '\0');
  const std::size_t plain = CopyPlain(text.data(), text.size(), copy.data());
  ASSERT_EQ(copy.substr(0, plain), text.substr(0, plain)) << ::testing::PrintToString(text);
  std::size_t first = 0;
  const auto is_plain = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x80 &&
           std::string_view("\"\\<>&").find(c) == std::string_view::npos;
  };
  while (first < text.size() && is_plain(text[first])) ++first;
  ASSERT_LE(plain, first) << ::testing::PrintToString(text);
  ASSERT_EQ(plain == text.size(), first == text.size()) << ::testing::PrintToString(text);
  ASSERT_LT(first - plain, 16) << ::testing::PrintToString(text);
  // CopyUpToFirst() at that byte.
  ASSERT_EQ(CopyUpToFirst(text.data(), text.size(), copy.data()), first)
      << ::testing::PrintToString(text);
  ASSERT_EQ(copy.substr(0, first), text.substr(0, first)) << ::testing::PrintToString(text);
}

void ExpectSame(std::string_view text) {
  ExpectCopied(text);
  const StringScan scan = ScanString(text.data(), text.data() + text.size());
  const StringScan expected = ByteByByte(text);
  ASSERT_EQ(scan.stop - text.data(), expected.stop - text.data()) << ::testing::PrintToString(text);
  ASSERT_EQ(scan.non_ascii, expected.non_ascii) << ::testing::PrintToString(text);
  ASSERT_EQ(scan.html, expected.html) << ::testing::PrintToString(text);
}

TEST(ScanTest, FindsEachByteAtEachPlace) {
  for (std::size_t size = 0; size <= 40; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(size, 'a');
        text[at] = static_cast<char>(byte);
        ExpectSame(text);
      }
    }
  }
}

// Marks behind the stop do not count.
TEST(ScanTest, LooksNoFurtherThanTheStop) {
  constexpr std::string_view kBytes = "aaaaaaaaaa\"\\\x1f\x20\x7f\x80\xff<>&";
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 70, 'a');
    for (std::size_t changes = random() % 4; changes > 0 && !text.empty(); --changes) {
      text[random() % text.size()] = kBytes[random() % kBytes.size()];
    }
    ExpectSame(text);
  }
}

}  // namespace
}  // namespace portcullis::json::internal
