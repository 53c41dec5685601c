// SPDX-License-Identifier: Apache-2.0

#include "pki/pem.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace portcullis::pki {
namespace {

// The blocks of a text, each as "TYPE=bytes", with "+" before the bytes of one with headers.
std::string BlocksOf(std::string_view text) {
  std::string blocks;
  PemBlock block;
  while (NextPemBlock(text, block)) {
    blocks += base::StrCat(blocks.empty() ? "" : " ", block.type, "=", block.has_headers ? "+" : "",
                           block.bytes);
  }
  return blocks;
}

struct Case {
  std::string_view text;
  std::string_view blocks;
};

// What Go 1.26's encoding/pem answers for each text.
constexpr Case kCases[] = {
    {"-----BEGIN A-----\nb25l\n-----END A-----\n", "A=one"},
    {"-----BEGIN A-----\r\nb25l\r\n-----END A-----\r\n", "A=one"},
    {"-----BEGIN A----- \t\nb2 5\tl\n-----END A----- \t", "A=one"},
    {"text\n-----BEGIN A-----\nb25l\n-----END A-----\ntext\n", "A=one"},
    {"-----BEGIN A-----\n-----END A-----", "A="},
    {"-----BEGIN A-----\n\n-----END A-----", "A="},
    {"-----BEGIN -----\nb25l\n-----END -----", "=one"},
    // Markers that do not begin a line, or lines that do not end with them.
    {" -----BEGIN A-----\nb25l\n-----END A-----\n", ""},
    {"x-----BEGIN A-----\nb25l\n-----END A-----\n", ""},
    {"-----BEGIN A-----\nb25l\n -----END A-----\n", ""},
    {"-----BEGIN A-----\nb25l-----END A-----\n", ""},
    {"-----BEGIN A-----b25l\n-----END A-----\n", ""},
    {"-----BEGIN A-----b25l-----END A-----", ""},
    {"-----BEGIN A-----\nb25l\n-----END A-----x\n", ""},
    {"-----BEGIN A-----\nb25l\n-----END A-----\r", ""},
    {"-----BEGIN A----\nb25l\n-----END A----\n", ""},
    // Other faults, and what follows.
    {"-----BEGIN A-----\nb25l\n-----END B-----\n", ""},
    {"-----BEGIN A-----\nb25\n-----END A-----\n", ""},
    {"-----BEGIN A-----\n!\n-----END A-----\n-----BEGIN B-----\ndHdv\n-----END B-----\n", "B=two"},
    {" -----BEGIN A-----\nb25l\n-----END A-----\n-----BEGIN B-----\ndHdv\n-----END B-----\n",
     "B=two"},
    {"-----BEGIN A-----\nb25l\n-----BEGIN B-----\ndHdv\n-----END B-----\n", "B=two"},
    {"-----BEGIN A-----\nb25l\n-----END C-----\n-----END A-----\n", ""},
    // Headers stand at the top.
    {"-----BEGIN A-----\nk: v\n\nb25l\n-----END A-----\n", "A=+one"},
    {"-----BEGIN A-----\nk: v\nb25l\n-----END A-----\n", "A=+one"},
    {"-----BEGIN A-----\nb25l\nk: v\n-----END A-----\n-----BEGIN B-----\ndHdv\n-----END B-----\n",
     "B=two"},
    {"-----BEGIN A-----\nk: v\n-----END A-----\n", ""},
    {"-----BEGIN A-----\nk: v\n\n-----END A-----\n", "A=+"},
    {"-----BEGIN A:-----\n-----END A:-----\n-----BEGIN B-----\ndHdv\n-----END B-----\n", ""},
};

TEST(PemTest, FindsTheBlocksThatGoFinds) {
  for (const Case& test : kCases) EXPECT_EQ(BlocksOf(test.text), test.blocks) << test.text;
}

TEST(PemTest, LeavesWhatFollowsABlock) {
  std::string_view text = "-----BEGIN A-----\nb25l\n-----END A-----\nrest";
  PemBlock block;
  EXPECT_TRUE(NextPemBlock(text, block));
  EXPECT_EQ(text, "rest");
  EXPECT_FALSE(NextPemBlock(text, block));
  EXPECT_EQ(text, "rest");
}

}  // namespace
}  // namespace portcullis::pki
