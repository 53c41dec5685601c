// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/tolerations.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "api/testing/slow_selectors.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "plugins/common/testing/slow_tolerations.h"

namespace portcullis::plugins::common {
namespace {

namespace testing = api::testing;

json::Value Decode(json::Arena& arena, std::string_view text) {
  const auto parsed = json::Parse(arena, arena.Copy(text));
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : json::Value();
}

// Every toleration made of a few values of each member.
std::vector<json::Value> Small(json::Arena& arena) {
  std::vector<json::Value> out;
  for (std::string_view key : {"", "a", "b"}) {
    for (std::string_view op : {"", "Equal", "Exists"}) {
      for (std::string_view effect : {"", "NoExecute", "NoSchedule"}) {
        out.push_back(Decode(arena, base::StrCat(R"({"key":")", key, R"(","operator":")", op,
                                                 R"(","effect":")", effect, "\"}")));
      }
    }
  }
  return out;
}

TEST(TolerationsTest, AreDecodedAsGoDoes) {
  struct Case {
    std::string_view text, expected, error;
  };
  constexpr Case kCases[] = {
      {"null", "null", ""},
      {"[]", "[]", ""},
      {R"([{"Key":"a","other":1},null])", R"([{"key":"a"},{}])", ""},
      {R"({"a":1})", "", "json: cannot unmarshal object into Go value of type []v1.Toleration"},
      {"[1]", "", "json: cannot unmarshal number into Go value of type v1.Toleration"},
      {R"([{"key":1}])", "",
       "json: cannot unmarshal number into Go struct field Toleration.key of type string"},
      {R"([{"effect":{}}])", "",
       "json: cannot unmarshal object into Go struct field Toleration.effect of type "
       "v1.TaintEffect"},
      {R"([{"tolerationSeconds":1.5}])", "",
       "json: cannot unmarshal number 1.5 into Go struct field Toleration.tolerationSeconds of "
       "type int64"},
  };
  for (const Case& c : kCases) {
    json::Arena arena;
    const auto decoded = DecodeTolerations(arena, c.text);
    if (c.error.empty()) {
      ASSERT_TRUE(decoded.ok()) << c.text;
      EXPECT_EQ(json::ToString(*decoded), c.expected) << c.text;
    } else {
      ASSERT_FALSE(decoded.ok()) << c.text;
      EXPECT_EQ(decoded.status().message(), c.error) << c.text;
    }
  }
}

TEST(TolerationsTest, AnOperatorLeftOutIsOnlyCoveredByItself) {
  json::Arena arena;
  const json::Value wide = Decode(arena, R"({"key":"a","operator":"Equal","value":"v"})");

  EXPECT_TRUE(Covers(wide, wide));
  EXPECT_FALSE(Covers(wide, Decode(arena, R"({"key":"a","value":"v"})")));
}

testing::SlowToleration SlowOf(json::Value toleration) {
  const auto text = [&](std::string_view name) { return std::string(toleration[name].AsString()); };
  return {text("key"), text("operator"), text("value"), text("effect")};
}

// What is covered is tolerated; and what is tolerated is covered, where the operator is written
// out.
TEST(TolerationsTest, CoveringIsToleratingTheSameTaints) {
  json::Arena arena;
  std::vector<testing::SlowTaint> taints;
  for (const std::string key : {"a", "b", "other"}) {
    for (const std::string value : {"", "v", "other"}) {
      for (const std::string effect : {"NoExecute", "NoSchedule", "PreferNoSchedule"}) {
        taints.push_back({key, value, effect});
      }
    }
  }
  std::vector<json::Value> all = Small(arena);
  for (std::string_view op : {"", "Equal"}) {
    for (std::string_view effect : {"", "NoExecute", "NoSchedule"}) {
      all.push_back(Decode(arena, base::StrCat(R"({"key":"a","value":"v","operator":")", op,
                                               R"(","effect":")", effect, "\"}")));
    }
  }
  for (const json::Value& wide : all) {
    for (const json::Value& narrow : all) {
      bool within = true;
      for (const testing::SlowTaint& taint : taints) {
        within = within && (!testing::SlowTolerates(SlowOf(narrow), taint) ||
                            testing::SlowTolerates(SlowOf(wide), taint));
      }
      const std::string pair = json::ToString(wide) + json::ToString(narrow);
      if (Covers(wide, narrow)) {
        EXPECT_TRUE(within) << pair;
      }
      // Without a key only Exists means something.
      const bool plain =
          !narrow["operator"].AsString().empty() &&
          (!narrow["key"].AsString().empty() || narrow["operator"].AsString() == "Exists");
      if (within && plain) {
        EXPECT_TRUE(Covers(wide, narrow)) << pair;
      }
    }
  }
}

TEST(TolerationsTest, LongerTimesAreNotCovered) {
  json::Arena arena;
  const json::Value wide = Decode(
      arena, R"({"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":10})");

  EXPECT_TRUE(
      Covers(wide, Decode(arena, R"({"key":"a","effect":"NoExecute","tolerationSeconds":9})")));
  EXPECT_FALSE(
      Covers(wide, Decode(arena, R"({"key":"a","effect":"NoExecute","tolerationSeconds":11})")));
  EXPECT_FALSE(Covers(wide, Decode(arena, R"({"key":"a","effect":"NoExecute"})")));
}

TEST(TolerationsTest, MergingKeepsOnlyWhatNothingElseCovers) {
  json::Arena arena;
  const std::vector<json::Value> all = Small(arena);
  for (const json::Value& a : all) {
    for (const json::Value& b : all) {
      const json::Value merged =
          MergeTolerations(arena, json::MakeArray(arena, {a}), json::MakeArray(arena, {b}));
      const std::string pair = json::ToString(a) + json::ToString(b);
      EXPECT_TRUE(AllowedBy(json::MakeArray(arena, {a, b}), merged)) << pair;
      if (merged.size() == 2) {
        EXPECT_FALSE(Covers(merged[1], merged[0])) << pair;
        EXPECT_FALSE(Covers(merged[0], merged[1])) << pair;
      }
    }
  }
}

// Few values of each member, so that many cover each other.
json::Value RandomTolerations(json::Arena& arena, std::mt19937& random) {
  json::ArrayBuilder out(arena);
  for (auto n = random() % 9; n > 0; --n) {
    json::ObjectBuilder toleration(arena);
    const auto set = [&](std::string_view name, std::vector<std::string_view> values) {
      const std::string_view value = values[random() % values.size()];
      if (value != "-") toleration.Set(name, value);
    };
    set("key", {"-", "", "a", "b"});
    set("operator", {"-", "", "Equal", "Exists", "Gt"});
    set("value", {"-", "", "v", "w"});
    set("effect", {"-", "", "NoExecute", "NoExecute", "NoSchedule"});
    if (random() % 2 == 0) {
      toleration.Set("tolerationSeconds", static_cast<std::int64_t>(random() % 4) - 1);
    }
    out.Add(toleration.Build());
  }
  return out.Build();
}

TEST(TolerationsTest, MergingAndAllowingAreThoseOfComparingEachWithEach) {
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    json::Arena arena;
    const json::Value a = RandomTolerations(arena, random);
    const json::Value b = RandomTolerations(arena, random);
    const std::string both = json::ToString(a) + json::ToString(b);
    ASSERT_EQ(json::ToString(MergeTolerations(arena, a, b)),
              json::ToString(common::testing::SlowMerge(arena, a, b)))
        << both;
    ASSERT_EQ(AllowedBy(a, b), b.empty() || common::testing::SlowAllowed(a, b)) << both;
  }
}

}  // namespace
}  // namespace portcullis::plugins::common
