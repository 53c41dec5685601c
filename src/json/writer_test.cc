// SPDX-License-Identifier: Apache-2.0

#include "json/writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "json/indentation.h"
#include "json/reader.h"

namespace portcullis::json {
namespace {

std::string Number(double value) {
  std::string out;
  WriteDouble(value, out);
  return out;
}

TEST(Writer, FloatsAsGo) {
  EXPECT_EQ(Number(0), "0");
  EXPECT_EQ(Number(-0.0), "-0");
  EXPECT_EQ(Number(1), "1");
  EXPECT_EQ(Number(100000), "100000");
  EXPECT_EQ(Number(0.5), "0.5");
  EXPECT_EQ(Number(-1234.5678), "-1234.5678");
  EXPECT_EQ(Number(0.000001), "0.000001");
  EXPECT_EQ(Number(0.00000123), "0.00000123");
  EXPECT_EQ(Number(1e-7), "1e-7");
  EXPECT_EQ(Number(1.5e-10), "1.5e-10");
  EXPECT_EQ(Number(1e20), "100000000000000000000");
  EXPECT_EQ(Number(123456789012345678901.0), "123456789012345680000");
  EXPECT_EQ(Number(1e21), "1e+21");
  EXPECT_EQ(Number(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(Number(5e-324), "5e-324");
  EXPECT_EQ(Number(std::numeric_limits<double>::infinity()), "null");
}

TEST(Writer, FloatsReadBack) {
  std::mt19937_64 random(20240229);
  Arena arena;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    if (!std::isfinite(value)) continue;
    const Value read = *Parse(arena, Number(value));
    EXPECT_EQ(read.AsDouble(), value) << Number(value);
  }
}

TEST(Writer, StringsAsGo) {
  const auto quoted = [](std::string_view text, bool html = true) {
    std::string out;
    WriteString(text, out, html);
    return out;
  };
  EXPECT_EQ(quoted(""), R"("")");
  EXPECT_EQ(quoted("a\"b\\c\n\r\t\b\f"), R"("a\"b\\c\n\r\t\b\f")");
  EXPECT_EQ(quoted(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(quoted("<a>&"), R"("\u003ca\u003e\u0026")");
  EXPECT_EQ(quoted("<a>&", false), R"("<a>&")");
  EXPECT_EQ(quoted("\u2028é\u2029", false), R"("\u2028é\u2029")");
  EXPECT_EQ(quoted("a\xff"), R"("a\ufffd")");
  EXPECT_EQ(quoted(std::string(100000, 'x')), '"' + std::string(100000, 'x') + '"');
  // Wherever it stands: strings are looked at in pieces.
  const std::pair<std::string_view, std::string_view> kEscapes[] = {
      {"\"", "\\\""}, {"é", "é"}, {"\u2028", "\\u2028"}, {"<", "\\u003c"}, {"\xff", "\\ufffd"}};
  for (std::size_t before = 0; before <= 40; ++before) {
    for (const auto& [text, escaped] : kEscapes) {
      const std::string a(before, 'a');
      const std::string b(33, 'b');
      EXPECT_EQ(quoted(a + std::string(text) + b), '"' + a + std::string(escaped) + b + '"');
    }
  }
}

TEST(Writer, Options) {
  Arena arena;
  const Value value = *Parse(arena, R"({"b":[1,{}],"a":{"d":null,"c":[]}})");
  EXPECT_EQ(ToString(value), R"({"b":[1,{}],"a":{"d":null,"c":[]}})");
  WriteOptions options;
  options.sort_keys = true;
  EXPECT_EQ(ToString(value, options), R"({"a":{"c":[],"d":null},"b":[1,{}]})");
  options.indent = 2;
  EXPECT_EQ(ToString(value, options), R"({
  "a": {
    "c": [],
    "d": null
  },
  "b": [
    1,
    {}
  ]
})");
}

TEST(Writer, DeepValuesStandNoFurtherInThanTheLimit) {
  std::string text = "1";
  for (int i = 0; i < 9000; ++i) text = "[" + text + "]";
  Arena arena;
  const Value value = *Parse(arena, text);
  WriteOptions options;
  options.indent = 2;
  const std::string written = ToString(value, options);
  EXPECT_LT(written.size(), std::size_t{2} * 9001 * (2 * kMaxIndentedLevels + 2));
  EXPECT_EQ(*Parse(arena, written), value);
}

TEST(Writer, SplicingChangesNothing) {
  Arena arena;
  WriteOptions plain;
  plain.splice_source = false;
  for (const std::string_view text :
       {R"({"a":[1,2.5,"x<y",{"b":"\u0041"}],"c":{"d":"e"}})", R"( [ {"a":1} , {"b": 2} ] )",
        R"({"n":[-0,1e2,1.50],"o":{"p":1,"p":2},"q":"\/"})", "[\"\u2028\",[\"é\"]]"}) {
    const Value value = *Parse(arena, text);
    for (const bool html : {true, false}) {
      plain.escape_html = html;
      WriteOptions splicing = plain;
      splicing.splice_source = true;
      EXPECT_EQ(ToString(value, splicing), ToString(value, plain));
    }
  }
}

}  // namespace
}  // namespace portcullis::json
