// SPDX-License-Identifier: Apache-2.0

// Label and node selectors compared with their definitions (testing/slow_selectors.h): every pair
// of requirements over a tiny alphabet, and many selectors made by chance from a fixed seed.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "api/selector/label_selector.h"
#include "api/selector/node_selector.h"
#include "api/testing/slow_selectors.h"
#include "json/writer.h"

namespace portcullis::api {
namespace {

using testing::SlowLabels;
using testing::SlowRequirement;
using testing::SlowTerm;

constexpr unsigned kSeed = 20260101;

json::Value ToJson(json::Arena& arena, const SlowRequirement& requirement) {
  json::ArrayBuilder values(arena);
  for (const std::string& value : requirement.values) values.Add(value);
  return json::MakeObject(arena, {{"key", json::String(arena, requirement.key)},
                                  {"operator", json::String(arena, requirement.op)},
                                  {"values", values.Build()}});
}

json::Value ToJson(json::Arena& arena, const std::vector<SlowRequirement>& requirements) {
  json::ArrayBuilder out(arena);
  for (const SlowRequirement& requirement : requirements) out.Add(ToJson(arena, requirement));
  return out.Build();
}

json::Value ToJson(json::Arena& arena, const SlowLabels& labels) {
  json::ObjectBuilder out(arena);
  for (const auto& [key, value] : labels) out.Set(arena.Copy(key), value);
  return out.Build();
}

// Every requirement over two keys and three values that is well formed.
std::vector<SlowRequirement> AllRequirements(bool comparisons) {
  const std::vector<std::string> values = {"", "1", "2"};
  std::vector<SlowRequirement> out;
  for (const std::string key : {"a", "b"}) {
    out.push_back({key, "Exists", {}});
    out.push_back({key, "DoesNotExist", {}});
    for (const std::string& one : values) {
      for (const std::string& other : values) {
        out.push_back({key, "In", {one, other}});
        out.push_back({key, "NotIn", {one, other}});
      }
      if (!comparisons || one.empty()) continue;
      out.push_back({key, "Gt", {one}});
      out.push_back({key, "Lt", {one}});
    }
  }
  return out;
}

std::vector<SlowLabels> AllLabels() {
  const std::vector<std::string> values = {"", "1", "2", "x"};
  std::vector<SlowLabels> out = {{}};
  for (const std::string& a : values) {
    out.push_back({{"a", a}});
    out.push_back({{"b", a}});
    for (const std::string& b : values) out.push_back({{"a", a}, {"b", b}});
  }
  return out;
}

TEST(SelectorPropertyTest, LabelSelectorsMeanWhatTheirDefinitionSays) {
  json::Arena arena;
  const std::vector<SlowRequirement> all = AllRequirements(false);
  const std::vector<SlowLabels> sets = AllLabels();
  for (const SlowRequirement& one : all) {
    for (const SlowRequirement& other : all) {
      const json::Value form = json::MakeObject(
          arena, {{"matchExpressions", ToJson(arena, std::vector<SlowRequirement>{one, other})}});
      const auto selector = LabelSelector::FromJson(form);
      ASSERT_TRUE(selector.ok()) << json::ToString(form);
      // What is printed reads as the same.
      EXPECT_EQ(LabelSelector::Parse(selector->ToString()).value(), *selector)
          << selector->ToString();
      for (const SlowLabels& labels : sets) {
        EXPECT_EQ(selector->Matches(ToJson(arena, labels)),
                  testing::SlowMatchAll({one, other}, labels))
            << selector->ToString();
      }
    }
  }
}

TEST(SelectorPropertyTest, NodeSelectorsMeanWhatTheirDefinitionSays) {
  std::mt19937 random(kSeed);
  const auto one_of = [&](const auto& list) { return list[random() % std::size(list)]; };
  const std::vector<SlowRequirement> all = AllRequirements(true);
  const std::vector<SlowLabels> sets = AllLabels();
  const std::vector<std::string> names = {"n", "m", ""};
  const std::vector<std::string> field_operators = {"In", "NotIn"};
  for (int round = 0; round < 3000; ++round) {
    json::Arena arena;
    std::vector<SlowTerm> terms(random() % 3);
    json::ArrayBuilder list(arena);
    for (SlowTerm& term : terms) {
      for (auto n = random() % 3; n > 0; --n) term.labels.push_back(one_of(all));
      for (auto n = random() % 2; n > 0; --n) {
        term.fields.push_back({"metadata.name", one_of(field_operators), {one_of(names)}});
      }
      list.Add(json::MakeObject(arena, {{"matchExpressions", ToJson(arena, term.labels)},
                                        {"matchFields", ToJson(arena, term.fields)}}));
    }
    const json::Value form = json::MakeObject(arena, {{"nodeSelectorTerms", list.Build()}});
    const auto selector = NodeSelector::FromJson(form);
    ASSERT_TRUE(selector.ok()) << json::ToString(form) << selector.status().message();
    for (const SlowLabels& labels : sets) {
      for (const std::string name : {"n", "m"}) {
        const json::Value node = json::MakeObject(
            arena, {{"metadata", json::MakeObject(arena, {{"name", json::String(arena, name)},
                                                          {"labels", ToJson(arena, labels)}})}});
        EXPECT_EQ(selector->Matches(node), testing::SlowMatchNode(terms, name, labels))
            << "seed " << kSeed << ": " << json::ToString(form);
      }
    }
  }
}

TEST(NodeSelectorTest, NothingIsMeantByNothing) {
  json::Arena arena;
  const json::Value node = json::MakeObject(arena, {});

  EXPECT_FALSE(NodeSelector().Matches(node));
  EXPECT_FALSE(NodeSelector::FromJson({})->Matches(node));
}

TEST(NodeSelectorTest, MistakesAreNamedByPlace) {
  json::Arena arena;
  const auto error = [&](const char* member, SlowRequirement requirement) {
    const json::Value term = json::MakeObject(
        arena, {{member, ToJson(arena, std::vector<SlowRequirement>{requirement})}});
    const json::Value form =
        json::MakeObject(arena, {{"nodeSelectorTerms", json::MakeArray(arena, {term})}});
    return std::string(NodeSelector::FromJson(form).status().message());
  };
  EXPECT_EQ(error("matchExpressions", {"a", "Foo", {}}),
            "nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: \"Foo\"");
  EXPECT_EQ(error("matchExpressions", {"a", "Gt", {"x"}}),
            "nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: \"x\": for 'Gt', "
            "'Lt' operators, the value must be an integer");
  EXPECT_EQ(error("matchFields", {"metadata.name", "Exists", {}}),
            "nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: \"Exists\": "
            "supported values: \"In\", \"NotIn\"");
  EXPECT_EQ(error("matchFields", {"metadata.name", "In", {"a", "b"}}),
            "nodeSelectorTerms[0].matchFields[0].values: Invalid value: [\"a\",\"b\"]: must have "
            "one element");
}

}  // namespace
}  // namespace portcullis::api
