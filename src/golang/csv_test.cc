// SPDX-License-Identifier: Apache-2.0

#include "golang/csv.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace portcullis::golang {
namespace {

TEST(ParseCsv, ReadsAsGoDoes) {
  auto records = ParseCsv("a,b,c\n\n\"x,y\",\"say \"\"hi\"\"\",\"two\nlines\"\r\nlast,");
  ASSERT_TRUE(records.ok());
  EXPECT_EQ(*records, (std::vector<std::vector<std::string>>{
                          {"a", "b", "c"}, {"x,y", "say \"hi\"", "two\nlines"}, {"last", ""}}));
  EXPECT_EQ(ParseCsv("a,b\nx,y\"z").status().message(),
            "parse error on line 2, column 4: bare \" in non-quoted-field");
  EXPECT_EQ(ParseCsv("\"a\"b").status().message(),
            "parse error on line 1, column 3: extraneous or missing \" in quoted-field");
}

}  // namespace
}  // namespace portcullis::golang
