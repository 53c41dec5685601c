// SPDX-License-Identifier: Apache-2.0

// Requests in bulk, odd ones included: each line has one answer.
#include "cel/batch.h"
#include "base/strings.h"

#include <gtest/gtest.h>

namespace portcullis::cel {
namespace {

class BatchTest : public testing::Test {
 protected:
  BatchTest() {
    EnvironmentBuilder builder;
    builder.AddLibrary(kStringsLibrary).AddLibrary(kOptionalLibrary);
    environment_ = builder.Build().value();
  }
  std::string Answer(std::string_view line) { return AnswerBatchLine(environment_, line); }

  std::shared_ptr<const Environment> environment_;
};

TEST_F(BatchTest, WritesTypedValues) {
  const std::pair<const char*, const char*> rows[] = {
      {R"j({"id":1,"expr":"1 + 1"})j", R"j({"id":1,"value":{"$type":"int","value":"2"}})j"},
      {R"j({"id":"a","expr":"18446744073709551615u"})j",
       R"j({"id":"a","value":{"$type":"uint","value":"18446744073709551615"}})j"},
      {R"j({"expr":"0.0/0.0"})j", R"j({"id":null,"value":{"$type":"double","value":"NaN"}})j"},
      {R"j({"expr":"-0.0"})j", R"j({"id":null,"value":{"$type":"double","value":-0.0}})j"},
      {R"j({"expr":"double(9223372036854775807)"})j",
       R"j({"id":null,"value":{"$type":"double","value":9223372036854775808.0}})j"},
      {R"j({"expr":"-1.0/0.0"})j", R"j({"id":null,"value":{"$type":"double","value":"-inf"}})j"},
      {R"j({"expr":"b'\\xff'"})j", R"j({"id":null,"value":{"$type":"bytes","value":"/w=="}})j"},
      {R"j({"expr":"null"})j", R"j({"id":null,"value":{"$type":"null","value":null}})j"},
      {R"j({"expr":"type([])"})j", R"j({"id":null,"value":{"$type":"type","value":"list"}})j"},
      {R"j({"expr":"timestamp('1969-12-31T23:59:59.5Z')"})j",
       R"j({"id":null,"value":{"$type":"timestamp","value":[-1,500000000]}})j"},
      {R"j({"expr":"duration('-1.5s')"})j",
       R"j({"id":null,"value":{"$type":"duration","value":[-1,-500000000]}})j"},
      {R"j({"expr":"{1: ['a']}"})j",
       R"j({"id":null,"value":{"$type":"map","value":[[{"$type":"int","value":"1"},)j"
       R"j({"$type":"list","value":[{"$type":"string","value":"a"}]}]]}})j"},
  };
  for (const auto& [line, answer] : rows) EXPECT_EQ(Answer(line), answer) << line;
}

TEST_F(BatchTest, ReadsTypedAndPlainValues) {
  const char* rows[] = {
      R"j({"expr":"x == 7u","vars":{"x":{"$type":"uint","value":"7"}}})j",
      R"j({"expr":"x == 7u","vars":{"x":{"$type":"uint","value":7}}})j",
      R"j({"expr":"x == -9223372036854775808","vars":{"x":{"$type":"int","value":"-9223372036854775808"}}})j",
      R"j({"expr":"x != x","vars":{"x":{"$type":"double","value":"NaN"}}})j",
      R"j({"expr":"x > 1e308","vars":{"x":{"$type":"double","value":"inf"}}})j",
      R"j({"expr":"x == b'\\xff'","vars":{"x":{"$type":"bytes","value":"/w=="}}})j",
      R"j({"expr":"x == timestamp('1969-12-31T23:59:58.5Z')","vars":{"x":{"$type":"timestamp","value":[-1,-500000000]}}})j",
      R"j({"expr":"x == timestamp('1970-01-01T00:00:02Z')","vars":{"x":{"$type":"timestamp","value":["0",2000000000]}}})j",
      R"j({"expr":"x == duration('500ms')","vars":{"x":{"$type":"duration","value":[1,-500000000]}}})j",
      R"j({"expr":"x == type(1u)","vars":{"x":{"$type":"type","value":"uint"}}})j",
      R"j({"expr":"x[true] == [1, 2.5]","vars":{"x":{"$type":"map","value":[[true,[1,2.5]]]}}})j",
      R"j({"expr":"x.a.b[1] == null","vars":{"x":{"a":{"b":[1,null]}}}})j",
      R"j({"expr":"x == 2 && y","vars":{"x":1,"x":2,"y":true}})j",
      R"j({"expr":"x[0] == 1u","types":{"x":"list(uint)"},"vars":{"x":{"$type":"list","value":[{"$type":"uint","value":"1"}]}}})j",
      R"j({"expr":"x.?a.orValue(3) == 3","types":{"x":"map(string, int)"},"vars":{"x":{}}})j",
      R"j({"expr":"y == 4","container":"a.b","types":{"a.b.y":"int"},"vars":{"a.b.y":4}})j",
      R"j({"expr":"x + 1 == 2","check":false,"vars":{"x":1}})j",
      R"j({"expr":"x == 1.0 && x / 2.0 == 0.5","types":{"x":"double"},"vars":{"x":1}})j",
      R"j({"expr":"x == 18446744073709551615u","types":{"x":"uint"},"vars":{"x":18446744073709551615}})j",
      R"j({"expr":"type(x[0]) == double && type(x[1]) == double","types":{"x":"list(double)"},"vars":{"x":[1,2.5]}})j",
      R"j({"expr":"type(x.a) == uint","types":{"x":"map(string, uint)"},"vars":{"x":{"a":1}}})j",
      R"j({"expr":"true || x","types":{"x":"bool"}})j",
  };
  for (const char* line : rows) {
    EXPECT_EQ(Answer(line), R"j({"id":null,"value":{"$type":"bool","value":true}})j") << line;
  }
}

// Without types a name with dots may be one name or a field of another, in every container.
TEST_F(BatchTest, NamesAllThatAnUncheckedNameCouldBe) {
  const std::pair<const char*, const char*> rows[] = {
      {"x", "a.b.x, a.x, x"},
      {"x.y.z", "a.b.x.y.z, a.x.y.z, x.y.z"},
      {"x[0].y", "a.b.x, a.x, x"},
      {".x.y", "x.y"},
  };
  for (const auto& [expression, names] : rows) {
    const std::string line =
        base::StrCat(R"({"container":"a.b","check":false,"expr":")", expression, R"("})");
    EXPECT_EQ(Answer(line), base::StrCat(R"({"id":null,"error":"no such attribute(s): )", names,
                                         R"(","phase":"eval"})"));
  }
}

TEST_F(BatchTest, SaysWhichPhaseFailed) {
  const std::pair<const char*, const char*> rows[] = {
      {R"j({"expr":"1 +"})j", "parse"},
      {R"j({"expr":""})j", "parse"},
      {R"j({"expr":"nope"})j", "check"},
      {R"j({"expr":"'a' + 1"})j", "check"},
      {R"j({"expr":"1 / 0"})j", "eval"},
      {R"j({"expr":"int('a')"})j", "eval"},
      {R"j({"expr":"nope","check":false})j", "eval"},
      {R"j({"expr":"'a' + 1","check":false})j", "eval"},
      {R"j({"expr":"x","types":{"x":"int"}})j", "eval"},
      // The request itself.
      {"not json", "parse"},
      {"[1]", "parse"},
      {R"j({"id":1})j", "parse"},
      {R"j({"expr":5})j", "parse"},
      {R"j({"expr":"x","types":{"x":"list(int"}})j", "check"},
      {R"j({"expr":"x","types":{"x":7}})j", "check"},
      {R"j({"expr":"x","types":{"x":"lis(int)"}})j", "check"},
      {R"j({"expr":"x","types":["x"]})j", "parse"},
      {R"j({"expr":"x","vars":[1]})j", "parse"},
      {R"j({"expr":"x","vars":{"x":{"$type":"what","value":1}}})j", "eval"},
      {R"j({"expr":"x","vars":{"x":{"$type":"int","value":"9223372036854775808"}}})j", "eval"},
      {R"j({"expr":"x","vars":{"x":{"$type":"uint","value":-1}}})j", "eval"},
      {R"j({"expr":"x","vars":{"x":{"$type":"int"}}})j", "eval"},
      {R"j({"expr":"x","vars":{"x":{"$type":"bool","value":"true"}}})j", "eval"},
      {R"j({"expr":"x","vars":{"x":{"$type":"bytes","value":"?"}}})j", "eval"},
      {R"j({"expr":"x","vars":{"x":{"$type":"list","value":{}}}})j", "eval"},
      {R"j({"expr":"x","vars":{"x":{"$type":"map","value":[[1]]}}})j", "eval"},
      {R"j({"expr":"x","vars":{"x":{"$type":"timestamp","value":[253402300800,0]}}})j", "eval"},
      {R"j({"expr":"x","vars":{"x":{"$type":"duration","value":[9223372036854775807,0]}}})j",
       "eval"},
  };
  for (const auto& [line, phase] : rows) {
    const std::string answer = Answer(line);
    EXPECT_TRUE(answer.ends_with(std::string(R"j("phase":")j") + phase + "\"}")) << line << answer;
  }
}

TEST_F(BatchTest, SurvivesHugeRequests) {
  std::string doubled = "[[dyn(1)]]";
  for (int i = 0; i < 40; ++i) doubled += ".map(a, [dyn(a), dyn(a)])";
  EXPECT_EQ(Answer("{\"expr\":\"" + doubled + "\"}"),
            R"j({"id":null,"error":"value is too large","phase":"eval"})j");
  const std::string big(2'000'000, 'a');
  EXPECT_NE(Answer("{\"expr\":\"" + big + "\"}").find("size exceeds limit"), std::string::npos);
  EXPECT_EQ(Answer("{\"expr\":\"x.size()\",\"vars\":{\"x\":\"" + big + "\"}}"),
            R"j({"id":null,"value":{"$type":"int","value":"2000000"}})j");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += R"j({"$type":"list","value":[)j";
  EXPECT_NE(Answer("{\"expr\":\"x\",\"vars\":{\"x\":" + deep).find("error"), std::string::npos);
  const std::string nested = std::string(5000, '[') + std::string(5000, ']');
  EXPECT_FALSE(Answer("{\"expr\":\"x.size()\",\"vars\":{\"x\":" + nested + "}}").empty());
}

}  // namespace
}  // namespace portcullis::cel
