// SPDX-License-Identifier: Apache-2.0

#include "json/yaml.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml_as_json.h"

namespace portcullis::json {
namespace {

std::string ToJson(std::string_view yaml) {
  Arena arena;
  const auto value = ParseYaml(arena, yaml);
  return value.ok() ? ToString(*value) : value.status().message();
}

std::string StrictError(std::string_view yaml) {
  Arena arena;
  std::string error;
  YamlOptions options;
  options.strict_error = &error;
  (void)ParseYaml(arena, yaml, options);
  return error;
}

std::string FromJson(std::string_view text) {
  Arena arena;
  const auto value = Parse(arena, text);
  return value.ok() ? ToYaml(*value) : value.status().message();
}

TEST(Yaml, Scalars) {
  EXPECT_EQ(ToJson("[1, -1, +1, 0x1F, 017, 0o17, 08, 0b11, -0b11, 1_000]"),
            "[1,-1,1,31,15,15,8,3,-3,1000]");
  EXPECT_EQ(ToJson("[1.5, 30.0, 1e3, .5, -.5, 1., 1e400]"), R"([1.5,30,1000,0.5,-0.5,1,"1e400"])");
  EXPECT_EQ(ToJson("[y, Yes, on, TRUE, n, no, OFF, False]"),
            "[true,true,true,true,false,false,false,false]");
  EXPECT_EQ(ToJson("[~, null, NULL, '', '~', \"null\"]"), R"([null,null,null,"","~","null"])");
  EXPECT_EQ(ToJson("a:"), R"({"a":null})");
  EXPECT_EQ(ToJson("[2001-01-01, 1:20, 0x, 1.2.3, 12e03x, '1', \"2\", -, .]"),
            R"(["2001-01-01","1:20","0x","1.2.3","12e03x","1","2","-","."])");
  EXPECT_EQ(ToJson("9223372036854775808"), "9223372036854776000");
  EXPECT_EQ(ToJson("!!str 12"), R"("12")");
  EXPECT_EQ(ToJson("!!float 12"), "12");
  EXPECT_EQ(ToJson("!!binary aGk="), R"("hi")");
  EXPECT_EQ(ToJson("!custom 12"), R"("12")");
  EXPECT_EQ(ToJson("!!int x"), "yaml: cannot decode !!str `x` as a !!int");
  EXPECT_EQ(ToJson(".nan"), "json: unsupported value: NaN");
  EXPECT_EQ(ToJson("-.inf"), "json: unsupported value: -Inf");
}

// Text that is JSON takes the fast path, ReadAsJson(), where YAML cannot read it otherwise. A comment is not JSON: with
// one, the text is read as YAML.
TEST(Yaml, ReadsJsonAsWhatYamlMakesOfIt) {
  const std::string long_name(998, 'n');
  struct Case {
    std::string text;
    bool taken;  // by the fast path
  };
  for (const Case& each : std::vector<Case>{
           {R"({"a":{"b":[1,-2,0,null,true,"x"]},"c":"d: e #f","":{},"<<":{"g":[]}})", true},
           {R"({"a": 1, "b": [2, {"c": "y"}], "=": "~"})", true},
           {R"({"a":"\n\t\r\"\\\u003c\u003e\u0026","b\n":" x  y "})", true},
           {R"({"a":"\b"})", true},
           {R"({"a":"\f"})", true},
           {R"({"a":-0})", true},
           {R"({"a":9223372036854775807,"b":-9223372036854775808})", true},
           {"{}", true},
           {"{\"" + long_name + "\":1}", true},
           {R"({"a":)" + std::string(98, '[') + std::string(98, ']') + "}", true},
           {R"({"a":"\/"})", false},
           {R"({"a":"\u0041"})", false},
           {R"({"a":"\u0000"})", false},
           {R"({"a":"\ud83d\ude00"})", false},
           {R"({"a":1.0})", false},
           {R"({"a":[{"b":1e3}]})", false},
           {R"({"a":1E400})", false},
           {R"({"a":12345678901234567890})", false},
           {R"({"a":1,"a":2})", false},
           {R"({"a" :1})", false},
           {R"({ "a":1 })", false},
           {"{\"a\":\"\x7F\"}", false},
           {"{\"a\":\"\u0085\u00e4\"}", false},
           {"{\"a\":\"b\tc\"}", false},
           {"{\"a\":\n1}", false},
           {"{'a':1}", false},
           {"{\"a\":1,}", false},
           {"{\"a\":b}", false},
           {"{\"a\":1}}", false},
           {"{\"a\":010,\"b\":+1,\"c\":yes}", false},
           {"{\"" + long_name + std::string(100, 'n') + "\":1}", false},
           {R"({"a":)" + std::string(200, '[') + std::string(200, ']') + "}", false},
       }) {
    const std::string& text = each.text;
    Arena arena;
    EXPECT_EQ(internal::ReadAsJson(arena, text).has_value(), each.taken) << text;
    EXPECT_EQ(ToJson(text), ToJson(text + " # a comment")) << text;
    EXPECT_EQ(ToJson(text + "\n"), ToJson(text + " # a comment\n")) << text;
    EXPECT_EQ(StrictError(text), StrictError(text + " # a comment")) << text;
  }
}

TEST(Yaml, KnowsNoVersionButOne) {
  EXPECT_EQ(ToJson("%YAML 1.1\n---\na: b"), R"({"a":"b"})");
  EXPECT_EQ(ToJson("%YAML 1.2\n---\na: b"), "yaml: found incompatible YAML document");
  EXPECT_EQ(ToJson("%YAML 1.2\na: b"), "yaml: found incompatible YAML document");
  EXPECT_EQ(ToJson("# c\n\n%YAML 1.2 # x\n---\na: b"),
            "yaml: line 2: found incompatible YAML document");
  EXPECT_EQ(ToJson("%TAG !x! tag:x,2000:\n%YAML 1.2\n---\na: b"),
            "yaml: line 1: found incompatible YAML document");
  EXPECT_EQ(ToJson("a: b\n---\n%YAML 1.2\n"), R"({"a":"b"})");
}

TEST(Yaml, AByteOrderMarkIsACharacterButAtTheBegin) {
  EXPECT_EQ(ToJson("\xEF\xBB\xBF"
                   "a: b"),
            R"({"a":"b"})");
  EXPECT_EQ(ToJson("a: b\n\xEF\xBB\xBF"
                   "c: d"),
            "{\"a\":\"b\",\"\xEF\xBB\xBF"
            "c\":\"d\"}");
  EXPECT_EQ(ToJson("a: x\xEF\xBB\xBFy"), "{\"a\":\"x\xEF\xBB\xBFy\"}");
  EXPECT_EQ(ToJson("a: b\n\xEF\xBB\xBF\nc: d"), "yaml: line 3: could not find expected ':'");
}

TEST(Yaml, WhatComesFarBehindIsNotLookedAt) {
  const std::string comment(600, '#');
  EXPECT_EQ(ToJson("a: b\n---\n" + comment + "\n\x07"), R"({"a":"b"})");
  EXPECT_EQ(ToJson("a: b\n---\n\x07"), "yaml: control characters are not allowed");
  EXPECT_EQ(ToJson("a: b: c\n" + comment + "\n\xFF"),
            "yaml: mapping values are not allowed in this context");
  EXPECT_EQ(ToJson("a: b: c\n\xFF"), "yaml: invalid leading UTF-8 octet");
  EXPECT_EQ(ToJson("a: b\nc: " + comment + "\n" + comment + "\n\x07"),
            "yaml: control characters are not allowed");
}

TEST(Yaml, NamesBecomeText) {
  EXPECT_EQ(ToJson("{1: a, 1.5: b, yes: c, 0x10: d}"),
            R"({"1":"a","1.5":"b","true":"c","16":"d"})");
  EXPECT_EQ(ToJson("~: x"), "unsupported map key of type: %!s(<nil>), key: <nil>, value: \"x\"");
  EXPECT_EQ(
      ToJson("{{ replicas }}: x"),
      R"(yaml: invalid map key: map[interface {}]interface {}{"replicas":interface {}(nil)})");
}

TEST(Yaml, AnchorsAndMergeKeys) {
  EXPECT_EQ(ToJson("a: &x [1]\nb: *x"), R"({"a":[1],"b":[1]})");
  EXPECT_EQ(ToJson("a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}"),
            R"({"a":{"k":1,"l":2},"b":{"k":3,"l":2}})");
  EXPECT_EQ(ToJson("a: &x {k: 1}\nb: &y {k: 2, m: 3}\nc: {<<: [*x, *y]}"),
            R"({"a":{"k":1},"b":{"k":2,"m":3},"c":{"k":1,"m":3}})");
  EXPECT_EQ(ToJson("a: {<<: 1}"), "yaml: map merge requires map or sequence of maps as the value");
  EXPECT_EQ(ToJson("a: *x"), "yaml: unknown anchor 'x' referenced");
  EXPECT_EQ(ToJson("a: &x [*x]"), "yaml: anchor 'x' value contains itself");
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 0; j < 8; ++j) bomb += "," + last;
    bomb += "]\n";
  }
  EXPECT_EQ(ToJson(bomb), "yaml: document contains excessive aliasing");
  std::string long_text = "a: &x " + std::string(1 << 20, 'x') + "\nb: [";
  for (int i = 0; i < 16; ++i) long_text += "*x,";
  EXPECT_TRUE(ToJson(long_text + "1]").starts_with("{"));
  EXPECT_EQ(ToJson(long_text + "*x]"), "yaml: document contains excessive aliasing");
}

TEST(Yaml, Errors) {
  EXPECT_EQ(ToJson("a: b: c"), "yaml: mapping values are not allowed in this context");
  EXPECT_EQ(ToJson("a:\n\t- b"), "yaml: line 2: found character that cannot start any token");
  EXPECT_EQ(ToJson("a: b\n c: d"), "yaml: line 2: mapping values are not allowed in this context");
  EXPECT_EQ(ToJson("["), "yaml: line 1: did not find expected node content");
  EXPECT_EQ(ToJson("a: 1\nb:\n  - x\n c: d"), "yaml: line 3: did not find expected key");
  EXPECT_EQ(ToJson(std::string(20000, '[')), "yaml: exceeded max depth of 10000");
}

TEST(Yaml, DeepBracketsWithMuchInThemAreRefused) {
  const auto nested = [](std::size_t depth, std::size_t items) {
    std::string text(depth, '[');
    for (std::size_t i = 0; i < items; ++i) text += "a,";
    return text + std::string(depth, ']');
  };
  Arena arena;
  EXPECT_TRUE(ParseYaml(arena, nested(9000, 0)).ok());
  EXPECT_TRUE(ParseYaml(arena, nested(90, 200'000)).ok());
  EXPECT_EQ(ToJson(nested(9000, 10'000)), "yaml: exceeded max depth of 10000");
}

TEST(Yaml, DeepMapsGoOnInBrackets) {
  const std::string name(1100, 'n');
  for (const std::string& inmost : std::initializer_list<std::string>{
           "1", "[1,[],{}]", R"("a\u0085b")", R"("\u007f\ufffe\t ")",
           R"({")" + name + R"(":2.5,"b":null})",
           R"(")" + std::string(200, 'w') + R"( it's: \"x\" # y\n, ]")"}) {
    std::string text = inmost;
    for (int i = 0; i < 300; ++i) text = R"({"a":)" + text + R"(,"b":true})";
    Arena arena;
    const Value value = *Parse(arena, text);
    for (const std::string& written : {ToYaml(value), ToYamlV3(value)}) {
      EXPECT_NE(written.find("{ \"a\": { \"a\":"), std::string::npos);
      const auto read = ParseYaml(arena, written);
      ASSERT_TRUE(read.ok()) << inmost << read.status().message();
      EXPECT_EQ(*read, value) << inmost;
    }
  }
}

TEST(Yaml, DeepMapsAreReadBack) {
  std::string text = "1";
  for (int i = 0; i < 9000; ++i) text = R"({"a":)" + text + "}";
  Arena arena;
  const Value value = *Parse(arena, text);
  const auto read = ParseYaml(arena, ToYaml(value));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, value);
}

TEST(Yaml, DeepDocuments) {
  std::string text;
  for (int i = 0; i < 9999; ++i) text += "- ";
  Arena arena;
  const auto value = ParseYaml(arena, text + "x");
  ASSERT_TRUE(value.ok()) << value.status().message();
  EXPECT_EQ(value->depth(), 9999U);
  const std::string written = ToYaml(*value);
  EXPECT_TRUE(written.starts_with("- - - -"));
  EXPECT_LT(written.size(), 30'000U);
  const auto read = ParseYaml(arena, written);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, *value);
  EXPECT_FALSE(ParseYaml(arena, text + text + "x").ok());
}

TEST(Yaml, StrictReadingReportsDuplicates) {
  Arena arena;
  std::string error;
  YamlOptions options;
  options.strict_error = &error;
  EXPECT_EQ(ToString(*ParseYaml(arena, "a: 1\nb: 2\na: 3\nb: 4\n", options)), R"({"a":3,"b":4})");
  EXPECT_EQ(error,
            "yaml: unmarshal errors:\n  line 3: key \"a\" already set in map\n  line 4: key \"b\" "
            "already set in map");
  EXPECT_TRUE(ParseYaml(arena, "a: {x: 1}\nb: {x: 1}", options).ok());
  EXPECT_EQ(error, "");
}

TEST(Yaml, Streams) {
  EXPECT_EQ(ToJson(""), "null");
  EXPECT_EQ(ToJson("# only a comment\n"), "null");
  EXPECT_EQ(ToJson("a: 1\n---\nb: ["), R"({"a":1})");
  using Documents = std::vector<std::string_view>;
  EXPECT_EQ(SplitYaml("a: 1\n---\nb: 2\n"), (Documents{"a: 1\n", "b: 2\n"}));
  EXPECT_EQ(SplitYaml("---\na: 1\n--- # next\nb: 2"), (Documents{"---\na: 1\n", "b: 2"}));
  EXPECT_EQ(SplitYaml("a: |\n  ---\n---x\n"), (Documents{"a: |\n  ---\n---x\n"}));
  EXPECT_TRUE(SplitYaml("").empty());
  EXPECT_TRUE(HasJsonPrefix("\n {"));
  EXPECT_FALSE(HasJsonPrefix("[1]"));
  Arena arena;
  EXPECT_EQ(ParseYamlOrJson(arena, "{\"a\"").status().message(), "unexpected end of JSON input");
  EXPECT_EQ(ParseYamlOrJson(arena, "a: b: c").status().message(),
            "error converting YAML to JSON: yaml: mapping values are not allowed in this context");
}

TEST(Yaml, TellsOfACharacterBeforeTheMissingColonInFrontOfIt) {
  constexpr std::string_view kNoToken = "found character that cannot start any token";
  constexpr std::string_view kNoColon = "could not find expected ':'";
  const std::tuple<std::string_view, int, std::string_view> facts[] = {
      {"a: 1\n{{ if .x }}\n\tb: 2", 3, kNoToken},
      {"a: 1\n{\xC3\xA9: c}\n# d\n@e", 4, kNoToken},
      {"a: 1\n{b:\n|", 3, kNoToken},
      {"a: 1\n{b: \"c\nd\"}\n@e", 3, kNoColon},
      {"a: 1\n\"c\nd\"\n@e", 3, kNoColon},
      {"a: 1\n{{ if .x }}\nb: 2", 3, kNoColon},
      {"a: 1\n{{ if .x }}\n%b", 3, kNoColon},
  };
  for (const auto& [text, line, problem] : facts) {
    EXPECT_EQ(ToJson(text), "yaml: line " + std::to_string(line) + ": " + std::string(problem));
  }
}

TEST(Yaml, WritesBlocks) {
  EXPECT_EQ(FromJson(R"({"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"a",
                         "args":["-c",["x","y"],{}]}],"empty":[],"none":null}})"),
            "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - args:\n    - -c\n    - - x\n"
            "      - \"y\"\n    - {}\n    name: a\n  empty: []\n  none: null\n");
  EXPECT_EQ(FromJson("{}"), "{}\n");
  EXPECT_EQ(FromJson("[]"), "[]\n");
  EXPECT_EQ(FromJson("null"), "null\n");
  EXPECT_EQ(FromJson("[[1]]"), "- - 1\n");
  EXPECT_EQ(FromJson(R"({"a10":1,"a2":1,"a":1,"B":1,"1":1,"_x":1})"),
            "_x: 1\n\"1\": 1\nB: 1\na: 1\na2: 1\na10: 1\n");
}

TEST(Yaml, WritesNumbers) {
  EXPECT_EQ(FromJson("[1,1.5,30.0,1e6,1234567.5,1e21,0.00001,-9223372036854775808]"),
            "- 1\n- 1.5\n- 30\n- 1000000\n- 1.2345675e+06\n- 1e+21\n- 1e-05\n"
            "- -9223372036854775808\n");
}

TEST(Yaml, QuotesWhereGoYamlDoes) {
  const auto scalar = [](std::string_view text) {
    std::string out = ToYaml(Value::StringView(text));
    out.pop_back();
    return out;
  };
  for (const std::string_view plain :
       {"a",    "a b",   "a:b",      "a#b",         "-a",  "?a",        ":a",           "<<",
        "=",    "1.2.3", "10.0.0.1", "10.0.0.0/24", "a,b", "a]",        "http://x/y?z", "é",
        "100m", "1Gi",   "v1.2",     "yeah",        "-",   "2001-13-01"}) {
    if (plain == "-") continue;
    EXPECT_EQ(scalar(plain), plain);
  }
  for (const std::string_view quoted :
       {"", "null", "~", "true", "y", "No", "off", "1", "-1", "0x1F", "1e3", ".5", "1_000", ".inf",
        "2024-01-01", "2024-01-01T00:00:00Z", "2024-01-01 10:00:00", "1:20:30", "0b1"}) {
    EXPECT_EQ(scalar(quoted), '"' + std::string(quoted) + '"');
  }
  for (const std::string_view single :
       {"-",  "- a", "? a", ": a", "a: b", "a:", "a #b", "#a",  "@a",   "*a",  "&a", "!a",
        "%a", "|",   ">a",  "[a",  "{a",   " a", "a ",   "---", "...x", "\"a", ",a", "`a"}) {
    EXPECT_EQ(scalar(single), '\'' + std::string(single) + '\'');
  }
  EXPECT_EQ(scalar("'a"), "'''a'");
  EXPECT_EQ(scalar("a\tb"), R"("a\tb")");
  EXPECT_EQ(scalar("\U0001F600"), R"("\U0001F600")");
  EXPECT_EQ(scalar("\x1b[0m"), R"("\e[0m")");
  EXPECT_EQ(scalar("a\n"), "|\n  a");
  EXPECT_EQ(FromJson(R"({"a":"x\ny","b":"x\n\n","c":" x\ny\n","d":"x \ny","e":{"f":"1\n\n2\n"}})"),
            "a: |-\n  x\n  y\nb: |+\n  x\n\nc: |2\n   x\n  y\nd: \"x \\ny\"\ne:\n  f: |\n    1\n\n"
            "    2\n");
}

// What kube-apiserver 1.36 writes of a definition's schema in the protobuf form of /openapi/v2.
TEST(Yaml, WritesWhatV3Writes) {
  struct Case {
    std::string_view json, yaml;
  };
  constexpr Case kCases[] = {
      {R"("yes")", "yes\n"},
      {R"("on")", "on\n"},
      {R"("1")", "\"1\"\n"},
      {R"("")", "\"\"\n"},
      {R"("true")", "\"true\"\n"},
      {R"("a b")", "a b\n"},
      {R"("a: b")", "'a: b'\n"},
      {R"("x#y")", "x#y\n"},
      {R"("- z")", "'- z'\n"},
      {R"("null")", "\"null\"\n"},
      {R"("~")", "\"~\"\n"},
      {R"("0x1")", "\"0x1\"\n"},
      {R"("1e3")", "\"1e3\"\n"},
      {R"("1_000")", "\"1_000\"\n"},
      {R"("2001-01-01")", "\"2001-01-01\"\n"},
      {R"("o'k")", "o'k\n"},
      {R"("q\"q")", "q\"q\n"},
      {R"("<<")", "<<\n"},
      {R"("=")", "=\n"},
      {R"("\ttab")", "\"\\ttab\"\n"},
      {R"("line\nbreak")", "|-\n    line\n    break\n"},
      {"true", "true\n"},
      {"{}", "{}\n"},
      {R"(["b","a"])", "- b\n- a\n"},
      {R"([{"message":"must: be #a","rule":"self == 'a rather long text that goes on and on beyond eighty )"
       R"(columns of a line'"},{"message":"two lines","rule":"true &&\n  true"}])",
       "- message: 'must: be #a'\n"
       "  rule: self == 'a rather long text that goes on and on beyond eighty columns of a line'\n"
       "- message: two lines\n  rule: |-\n    true &&\n      true\n"},
  };
  for (const auto& [text, yaml] : kCases) {
    json::Arena arena;
    EXPECT_EQ(ToYamlV3(*Parse(arena, text)), yaml);
  }
}

TEST(Yaml, FoldsLongLines) {
  const std::string words =
      "The quick brown fox jumps over the lazy dog and runs far away from all the other "
      "animals in the forest";
  EXPECT_EQ(FromJson("{\"message\":\"" + words + "\"}"),
            "message: The quick brown fox jumps over the lazy dog and runs far away from all the\n"
            "  other animals in the forest\n");
  const std::string key(129, 'k');
  EXPECT_EQ(FromJson("{\"" + key + "\":{\"a\":[1]}}"), "? " + key + "\n: a:\n  - 1\n");
}

TEST(Yaml, EscapesNoSlash) {
  EXPECT_EQ(ToJson("{\"a\": \"b\\/c\"}"), "yaml: found unknown escape character");
  EXPECT_EQ(ToJson("a: b\nc: \"d\n\n  e\\/\""), "yaml: line 4: found unknown escape character");
  EXPECT_EQ(ToJson("a: \"b\\\\/c\"\n\"\\\\/\": '\\/'\nd: \\/ # \\/\ne: |\n  \\/"),
            R"({"a":"b\\/c","\\/":"\\/","d":"\\/","e":"\\/"})");
}

TEST(Yaml, KeepsCharactersOfPrivateUse) {
  EXPECT_EQ(ToJson("a: \xEE\x80\x80\xEE\x80\x81 \\/\n"),
            "{\"a\":\"\xEE\x80\x80\xEE\x80\x81 \\\\/\"}");
  // Escaped, too, beside what they could stand for.
  EXPECT_EQ(ToJson("a: \"\\uE001\"\nb: '\\/'\n"), "{\"a\":\"\xEE\x80\x81\",\"b\":\"\\\\/\"}");
  EXPECT_EQ(ToJson("a: \"\\ue000\"\n\xEF\xBB\xBF"), "{\"a\":\"\xEE\x80\x80\"}");
}

TEST(Yaml, RoundTrips) {
  Arena arena;
  for (
      const std::string_view text :
      {R"({"a":["","x y"," lead","trail ","tab\t","nl\n","\n","\n\nx","a: b","- x","#","é\u2028"]})",
       R"([[],[[]],{},{"a":{}},[{"b":[{"c":null}]}],true,false,null,0,-1,1.25,1e300])",
       R"({"?":"?","y":"y","1":"1","":"","a b":"c","x:":": ","\"":"\\","\n":"\r\n"})"}) {
    const Value value = *Parse(arena, text);
    const std::string yaml = ToYaml(value);
    const auto back = ParseYaml(arena, yaml);
    ASSERT_TRUE(back.ok()) << back.status().message() << "\n" << yaml;
    EXPECT_EQ(*back, value) << yaml;
  }
}

}  // namespace
}  // namespace portcullis::json
