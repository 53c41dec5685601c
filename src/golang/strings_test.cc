// SPDX-License-Identifier: Apache-2.0

#include "golang/strings.h"

#include <gtest/gtest.h>

#include <utility>

namespace portcullis::golang {
namespace {

TEST(StringsTest, TrimsTheWhiteSpaceOfUnicode) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"", ""},
      {" \t\n\v\f\r", ""},
      {"\u00a0a b\u0085 ", "a b"},
      {"\u3000\u2003\u1680a\u2028\u2029\u202f\u205f", "a"},
      {"\u200ba\u180e", "\u200ba\u180e"},  // of no width, or no white space any more
      {"\xa0"
       "a\x85",
       "\xa0"
       "a\x85"},  // no UTF-8
      {"a\xe2\x80", "a\xe2\x80"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(TrimSpace(text), expected) << text;
}

}  // namespace
}  // namespace portcullis::golang
