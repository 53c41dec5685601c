// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "api/selector/field_selector.h"
#include "api/selector/label_selector.h"
#include "json/reader.h"

namespace portcullis::api {
namespace {

std::string ParseError(std::string_view text) {
  return LabelSelector::Parse(text).status().message();
}

TEST(LabelSelectorTest, PrintsCanonically) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"a=b", "a=b"},
      {"b==c,a", "a,b==c"},
      {"x in (foo,,baz),y,z notin ()", "x in (,baz,foo),y,z notin ()"},
      {"!f", "!f"},
      {"a!=b", "a!=b"},
      {"n>5,m<3", "m<3,n>5"},
      {"  a   =  b ", "a=b"},
      {"a=", "a="},
      {"in in (in)", "in in (in)"},
      {"example.com/a=b", "example.com/a=b"},
  };
  for (const auto& [text, canonical] : cases) {
    const auto selector = LabelSelector::Parse(text);
    ASSERT_TRUE(selector.ok()) << text << ": " << selector.status().message();
    EXPECT_EQ(selector->ToString(), canonical);
    EXPECT_EQ(LabelSelector::Parse(canonical).value(), *selector) << text;
  }
}

TEST(LabelSelectorTest, RefusesWithKubernetesTexts) {
  EXPECT_EQ(ParseError("a=b=c"), "found '=', expected: ',' or 'end of string'");
  EXPECT_EQ(ParseError("=b"), "found '=', expected: !, identifier, or 'end of string'");
  EXPECT_EQ(ParseError("a,"), "found '', expected: identifier after ','");
  EXPECT_EQ(ParseError("a b"),
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
  EXPECT_EQ(ParseError("a in b"), "unable to parse requirement: found 'b' expected: '('");
  EXPECT_EQ(ParseError("a>x"),
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' "
            "operators, the value must be an integer");
  EXPECT_TRUE(ParseError("a*=b").starts_with(
      "unable to parse requirement: <nil>: Invalid value: \"a*\": name part must consist of"))
      << ParseError("a*=b");
  EXPECT_TRUE(ParseError("a=b*").starts_with(
      "unable to parse requirement: values[0][a]: Invalid value: \"b*\": a valid label must be"))
      << ParseError("a=b*");
}

TEST(LabelSelectorTest, ReadsTheFormOfTheApi) {
  json::Arena arena;
  const auto from = [&](std::string_view text) {
    return LabelSelector::FromJson(json::Parse(arena, text).value());
  };
  EXPECT_TRUE(from("null")->is_nothing());
  EXPECT_TRUE(from("{}")->is_everything());
  EXPECT_EQ(from(R"({"matchLabels":{"b":"c"},"matchExpressions":[
                     {"key":"a","operator":"In","values":["y","x"]}]})")
                ->ToString(),
            "a in (x,y),b=c");
  EXPECT_EQ(from(R"({"matchExpressions":[{"key":"a","operator":"Foo"}]})").status().message(),
            "\"Foo\" is not a valid label selector operator");
  EXPECT_EQ(from(R"({"matchExpressions":[{"key":"a","operator":"In"}]})").status().message(),
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty");
}

// All selectors of one requirement against all label sets over a tiny alphabet.
TEST(LabelSelectorTest, MatchesAsTheDefinitionSays) {
  json::Arena arena;
  const std::vector<std::string> values = {"", "1", "2"};
  for (int state = 0; state < 4; ++state) {  // a absent, "", "1", "2"
    const bool has = state > 0;
    const std::string value = has ? values[static_cast<std::size_t>(state - 1)] : "";
    json::ObjectBuilder builder(arena);
    if (has) builder.Set("a", std::string_view(value));
    const json::Value labels = builder.Build();
    const auto matches = [&](const std::string& text) {
      return LabelSelector::Parse(text)->Matches(labels);
    };
    EXPECT_EQ(matches("a"), has);
    EXPECT_EQ(matches("!a"), !has);
    for (const std::string& wanted : values) {
      EXPECT_EQ(matches("a=" + wanted), has && value == wanted);
      EXPECT_EQ(matches("a==" + wanted), has && value == wanted);
      EXPECT_EQ(matches("a!=" + wanted), !has || value != wanted);
      for (const std::string& other : values) {
        const bool among = value == wanted || value == other;
        EXPECT_EQ(matches("a in (" + wanted + "," + other + ")"), has && among);
        EXPECT_EQ(matches("a notin (" + wanted + "," + other + ")"), !has || !among);
      }
    }
    EXPECT_EQ(matches("a>1"), value == "2");
    EXPECT_EQ(matches("a<2"), value == "1");
  }
}

TEST(LabelSelectorTest, ValidationNamesEachField) {
  json::Arena arena;
  const json::Value selector = json::Parse(arena, R"({"matchLabels":{"a_":"b"},"matchExpressions":[
      {"key":"k","operator":"In"},{"key":"k","operator":"Exists","values":["v"]},
      {"key":"k","operator":"Bad"}]})")
                                   .value();
  std::vector<std::string> texts;
  for (const FieldError& error : ValidateLabelSelector(selector, FieldPath("spec", "selector"))) {
    texts.push_back(error.ToString().substr(0, 60));
  }
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "spec.selector.matchLabels: Invalid value: \"a_\": name part mu",
                       "spec.selector.matchExpressions[0].values: Required value: mu",
                       "spec.selector.matchExpressions[1].values: Forbidden: may not",
                       "spec.selector.matchExpressions[2].operator: Invalid value: \"",
                   }));
}

TEST(NameChecksTest, KnowTheShapesOfNames) {
  EXPECT_TRUE(IsDns1123Subdomain("a.b-c.d").empty());
  EXPECT_EQ(IsDns1123Label("a.b"), std::vector<std::string>{"must not contain dots"});
  EXPECT_EQ(IsDns1123Subdomain("A").size(), 1U);
  EXPECT_EQ(IsDns1123Subdomain(std::string(254, 'a')),
            std::vector<std::string>{"must be no more than 253 characters"});
  EXPECT_TRUE(IsQualifiedName("example.com/Name_x.y").empty());
  EXPECT_EQ(IsQualifiedName("/x"), std::vector<std::string>{"prefix part must be non-empty"});
  EXPECT_EQ(IsQualifiedName("a/").size(), 2U);
  EXPECT_TRUE(IsValidLabelValue("").empty());
  EXPECT_EQ(IsDns1035Label("1a").size(), 1U);
}

TEST(FieldSelectorTest, ReadsAndMatches) {
  json::Arena arena;
  const json::Value pod = json::Parse(arena, R"({"metadata":{"name":"p","namespace":"n"},
      "spec":{"nodeName":"a,b=c","hostNetwork":true}})")
                              .value();
  const auto matches = [&](std::string_view text) {
    return FieldSelector::Parse(text)->Matches(pod);
  };
  EXPECT_TRUE(matches(""));
  EXPECT_TRUE(matches("metadata.name=p,metadata.namespace==n"));
  EXPECT_FALSE(matches("metadata.name!=p"));
  EXPECT_TRUE(matches(R"(spec.nodeName=a\,b\=c)"));
  EXPECT_TRUE(matches("spec.hostNetwork=true"));
  EXPECT_TRUE(matches("status.phase!=Running"));
  EXPECT_FALSE(matches("status.successful=0"));
  EXPECT_EQ(FieldSelector::Parse("==,b=1,!=")->ToString(), "b=1");  // a term of nothing is none
  EXPECT_EQ(FieldSelector::Parse("b=1,a!=2")->ToString(), "a!=2,b=1");
  EXPECT_EQ(*FieldSelector::Parse("metadata.name=p")->RequiresExactMatch("metadata.name"), "p");
  EXPECT_EQ(FieldSelector::Parse("a").status().message(),
            "invalid selector: 'a'; can't understand 'a'");
  EXPECT_EQ(FieldSelector::Parse(R"(a=\x)").status().message(),
            R"(invalid field selector: invalid escape sequence: \x)");
  EXPECT_EQ(FieldSelector::Parse("a=b=c").status().message(),
            "invalid field selector: unescaped character in value: 61");
}

}  // namespace
}  // namespace portcullis::api
