// SPDX-License-Identifier: Apache-2.0

#include "json/reader.h"

#include <gtest/gtest.h>

#include "json/duplicates.h"
#include "json/writer.h"

namespace portcullis::json {
namespace {

std::string ErrorOf(std::string_view text) {
  Arena arena;
  const auto value = Parse(arena, text);
  return value.ok() ? "no error" : value.status().message();
}

std::string RoundTrip(std::string_view text) {
  Arena arena;
  const auto value = Parse(arena, text);
  return value.ok() ? ToString(*value) : value.status().message();
}

std::vector<std::string> DuplicatesIn(std::string_view text) {
  Arena arena;
  std::vector<std::string> paths;
  ParseOptions options;
  options.duplicate_keys = &paths;
  EXPECT_TRUE(Parse(arena, text, options).ok());
  return paths;
}

TEST(Reader, ErrorsAreGos) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "unexpected end of JSON input"},
      {"  ", "unexpected end of JSON input"},
      {"{", "unexpected end of JSON input"},
      {"[1,", "unexpected end of JSON input"},
      {R"({"a")", "unexpected end of JSON input"},
      {R"({"a":)", "unexpected end of JSON input"},
      {R"("abc)", "unexpected end of JSON input"},
      {"x", "invalid character 'x' looking for beginning of value"},
      {"[1,]", "invalid character ']' looking for beginning of value"},
      {"{x", "invalid character 'x' looking for beginning of object key string"},
      {R"({"a":1,})", "invalid character '}' looking for beginning of object key string"},
      {R"({"a" 1})", "invalid character '1' after object key"},
      {R"({"a":1 "b"})", "invalid character '\"' after object key:value pair"},
      {"[1 2]", "invalid character '2' after array element"},
      {R"({"a":1}})", "invalid character '}' after top-level value"},
      {"01", "invalid character '1' after top-level value"},
      {"nope", "invalid character 'o' in literal null (expecting 'u')"},
      {"tru", "invalid character ' ' in literal true (expecting 'e')"},
      {"-", "invalid character ' ' in numeric literal"},
      {"-x", "invalid character 'x' in numeric literal"},
      {"1.", "invalid character ' ' after decimal point in numeric literal"},
      {"1e+", "invalid character ' ' in exponent of numeric literal"},
      {"[1ex]", "invalid character 'x' in exponent of numeric literal"},
      {"\"a\nb\"", "invalid character '\\n' in string literal"},
      {"\"\x01\"", "invalid character '\\x01' in string literal"},
      {R"("\q")", "invalid character 'q' in string escape code"},
      {R"("\u12g4")", "invalid character 'g' in \\u hexadecimal character escape"},
      {"'a'", "invalid character '\\'' looking for beginning of value"},
      {"\xc3\xa9", "invalid character '\xc3\x83' looking for beginning of value"},
      {"\xef\xbb\xbf{}", "invalid character '\xc3\xaf' looking for beginning of value"},
      {"1e999", "json: cannot unmarshal number 1e999 into Go value of type float64"},
      {"[1e999", "unexpected end of JSON input"},
  };
  for (const auto& [text, error] : cases) EXPECT_EQ(ErrorOf(text), error) << text;
}

TEST(Reader, Numbers) {
  Arena arena;
  const auto parse = [&](std::string_view text) { return *Parse(arena, text); };
  EXPECT_EQ(parse("9223372036854775807").AsInt(), INT64_MAX);
  EXPECT_EQ(parse("-9223372036854775808").AsInt(), INT64_MIN);
  EXPECT_TRUE(parse("9223372036854775808").is_double());
  EXPECT_EQ(parse("9223372036854775808").NumberLiteral(), "9223372036854775808");
  EXPECT_TRUE(parse("-0").is_int());
  EXPECT_TRUE(parse("1.0").is_double());
  EXPECT_TRUE(parse("1e2").is_double());
  EXPECT_EQ(parse("1e-400").AsDouble(1), 0.0);
  EXPECT_EQ(parse("4.9e-324").AsDouble(), 4.9e-324);
  // Halfway cases that naive conversion gets wrong.
  EXPECT_EQ(parse("9007199254740993.0").AsDouble(), 9007199254740992.0);
  EXPECT_EQ(parse("2.2250738585072011e-308").AsDouble(), 2.2250738585072011e-308);
  EXPECT_EQ(parse("1.7976931348623157e308").AsDouble(), 1.7976931348623157e308);
}

TEST(Reader, Strings) {
  EXPECT_EQ(RoundTrip(R"("\"\\\/\b\f\n\r\t\u00e9")"), R"("\"\\/\b\f\n\r\té")");
  EXPECT_EQ(RoundTrip(R"("\ud83d\ude00")"), "\"\U0001F600\"");
  EXPECT_EQ(RoundTrip(R"("\ud83dx\ude00")"), "\"\uFFFDx\uFFFD\"");
  EXPECT_EQ(RoundTrip(R"("\ud83d\u0041")"), "\"\uFFFDA\"");
  EXPECT_EQ(RoundTrip("\"a\xff\xc3\""), "\"a\uFFFD\uFFFD\"");
  EXPECT_EQ(RoundTrip("\"\xed\xa0\x80\""), "\"\uFFFD\uFFFD\uFFFD\"");
  // Every length around the width of a scanning step, with the interesting byte at every place.
  for (std::size_t size = 1; size < 40; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'a');
      text.replace(at, 1, "\\n");
      EXPECT_EQ(RoundTrip('"' + text + '"'), '"' + text + '"');
      text.replace(at, 2, "\xc3\xa9");
      EXPECT_EQ(RoundTrip('"' + text + '"'), '"' + text + '"');
      text.replace(at, 2, "<");
      std::string html = text;
      html.replace(at, 1, "\\u003c");
      EXPECT_EQ(RoundTrip('"' + text + '"'), '"' + html + '"');
    }
  }
}

TEST(Reader, LastDuplicateWins) {
  EXPECT_EQ(RoundTrip(R"({"a":1,"b":2,"a":3})"), R"({"a":3,"b":2})");
  EXPECT_EQ(DuplicatesIn(R"({"a":1,"b":[{"x":1,"x":2},{"c":{"d":0,"d":1,"\u0064":5}}],"a":3})"),
            (std::vector<std::string>{"b[0].x", "b[1].c.d", "a"}));
  EXPECT_EQ(DuplicatesIn(R"({"a":1,"a":{"x":1,"x":2}})"), (std::vector<std::string>{"a", "a.x"}));
  EXPECT_EQ(DuplicatesIn(R"([[0,{"x":1,"x":2}]])"), (std::vector<std::string>{"[0][1].x"}));
  EXPECT_TRUE(DuplicatesIn(R"({"a":{"a":1},"b":{"a":1}})").empty());
}

TEST(Reader, DuplicatesInLargeObjects) {
  std::string text = "{";
  for (int i = 0; i < 300; ++i) {
    text += '"' + std::to_string(i % 150) + "\":" + std::to_string(i) + ",";
  }
  text.back() = '}';
  Arena arena;
  const Value value = *Parse(arena, text);
  EXPECT_EQ(value.size(), 150U);
  EXPECT_EQ(value["3"].AsInt(), 153);
  EXPECT_EQ(value.members()[0].name(), "0");
  const std::vector<std::string> paths = DuplicatesIn(text);
  ASSERT_EQ(paths.size(), 100U);
  EXPECT_EQ(paths[0], "0");
  EXPECT_EQ(paths[99], "99");
}

TEST(Reader, KeepsAllMembersOfARepeatedKeyOnRequest) {
  Arena arena;
  bool repeats = false;
  ParseOptions options;
  options.repeats_keys = &repeats;
  EXPECT_EQ(ToString(*Parse(arena, R"({"a":1,"b":{"c":1,"c":2}})", options)),
            R"({"a":1,"b":{"c":2}})");
  EXPECT_TRUE(repeats);
  EXPECT_TRUE(Parse(arena, R"({"a":1})", options).ok());
  EXPECT_FALSE(repeats);
  options.keep_duplicates = true;
  const Value all = *Parse(arena, R"({"a":1,"b":{"c":1,"c":[{"d":1,"d":2}]},"a":3})", options);
  EXPECT_TRUE(repeats);
  EXPECT_EQ(all.size(), 3U);
  EXPECT_EQ(ToString(LastOfDuplicates(arena, all)), R"({"a":3,"b":{"c":[{"d":2}]}})");
}

// Each path costs what it is long, whatever the depth and however often it is repeated.
TEST(Reader, DuplicatesInDeepObjects) {
  std::string text;
  for (int i = 0; i < 9000; ++i) text += R"({"a":1,"a":)";
  text += "1" + std::string(9000, '}');
  const std::vector<std::string> paths = DuplicatesIn(text);
  ASSERT_EQ(paths.size(), 100U);
  EXPECT_EQ(paths[0], "a");
  EXPECT_EQ(paths[2], "a.a.a");
}

TEST(Reader, NumbersTooLargeAreReportedApartOnRequest) {
  Arena arena;
  std::string error;
  ParseOptions options;
  options.range_error = &error;
  const Value value = *Parse(arena, R"({"a":1e400,"b":-1e999})", options);
  EXPECT_EQ(error, "json: cannot unmarshal number 1e400 into Go value of type float64");
  EXPECT_EQ(value["a"].NumberLiteral(), "1e400");
  EXPECT_EQ(value["b"].NumberLiteral(), "-1e999");
}

TEST(Reader, Depth) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(RoundTrip(nested(10000)), nested(10000));
  EXPECT_EQ(ErrorOf(nested(10001)), "invalid character '[' exceeded max depth");
  std::string objects;
  for (int i = 0; i < 10001; ++i) objects += "{\"a\":";
  EXPECT_EQ(ErrorOf(objects), "invalid character '{' exceeded max depth");
}

TEST(Reader, SourceIsWhatTheWriterWouldWrite) {
  Arena arena;
  const auto source = [&](std::string_view text) {
    return std::string(Parse(arena, text)->source());
  };
  EXPECT_EQ(source(R"({"a":[1,"x\n\"é"]})"), R"({"a":[1,"x\n\"é"]})");
  EXPECT_EQ(source(R"({"a": 1})"), "");
  EXPECT_EQ(source(R"({"a":"<"})"), "");
  EXPECT_EQ(source(R"({"a":"\u0041"})"), "");
  EXPECT_EQ(source("{\"a\":\"\u2028\"}"), "");
  EXPECT_EQ(source(R"({"a":1.50})"), "");
  EXPECT_EQ(source(R"({"a":-0})"), "");
  EXPECT_EQ(source(R"({"a":1,"a":2})"), "");
  const Value value = *Parse(arena, R"({"a": {"b":1}, "c":[ ]})");
  EXPECT_EQ(value["a"].source(), R"({"b":1})");
  EXPECT_EQ(value["c"].source(), "");
}

TEST(Reader, BorrowsText) {
  const std::string text = R"({"name":"value"})";
  Arena arena;
  ParseOptions options;
  options.borrow_text = true;
  const Value value = *Parse(arena, text, options);
  EXPECT_EQ(value["name"].AsString().data(), text.data() + 9);
}

TEST(Reader, DocumentsKeepTheirText) {
  Document document = *ParseDocument(R"({"name":"value"})");
  const Document copy = document;
  document = Document();
  EXPECT_EQ(copy["name"].AsString(), "value");
  EXPECT_EQ(ParseDocument("{").status().message(), "unexpected end of JSON input");
}

}  // namespace
}  // namespace portcullis::json
