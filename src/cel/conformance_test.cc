// SPDX-License-Identifier: Apache-2.0

// The public conformance facts of the language: tests/conformance/cel/facts.jsonl, one per line.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cel/batch.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::cel {
namespace {

bool Same(const json::Value& a, const json::Value& b);

bool SameEntries(const json::Value& a, const json::Value& b) {
  if (a.size() != b.size()) return false;
  for (const json::Value& entry : a.elements()) {
    bool found = false;
    for (const json::Value& other : b.elements()) {
      found = found || (Same(entry.elements()[0], other.elements()[0]) &&
                        Same(entry.elements()[1], other.elements()[1]));
    }
    if (!found) return false;
  }
  return true;
}

bool Same(const json::Value& a, const json::Value& b) {
  if (a["$type"] != b["$type"]) return false;
  const std::string_view type = a["$type"].AsString();
  const json::Value x = a["value"];
  const json::Value y = b["value"];
  if (type == "map") return SameEntries(x, y);
  if (type == "list") {
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!Same(x.elements()[i], y.elements()[i])) return false;
    }
    return true;
  }
  if (type == "double" && x.is_number() && y.is_number()) return x.AsDouble() == y.AsDouble();
  return x == y;
}

TEST(ConformanceTest, AllFactsHold) {
  EnvironmentBuilder builder;
  builder.AddLibrary(kStringsLibrary).AddLibrary(kOptionalLibrary).AddLibrary(kTwoVariableLibrary);
  builder.options().quoted_fields = true;
  builder.options().follows_specification = true;
  const auto environment = builder.Build();
  ASSERT_TRUE(environment.ok()) << environment.status().message();
  std::ifstream file(PC_SOURCE_DIR "/tests/conformance/cel/facts.jsonl");
  ASSERT_TRUE(file.is_open());
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    ++count;
    json::Arena arena;
    const auto fact = json::Parse(arena, line);
    ASSERT_TRUE(fact.ok()) << line;
    const BatchAnswer answer = AnswerBatch(*environment, arena, *fact);
    const bool ok = answer.phase == BatchAnswer::Phase::kOk;
    if (fact->Has("error")) {
      EXPECT_FALSE(ok) << line << "\n  is " << json::ToString(answer.value);
      continue;
    }
    if (fact->Has("type") && (ok || answer.phase == BatchAnswer::Phase::kEval)) {
      const auto type = ParseType(arena, (*fact)["type"].AsString());
      ASSERT_TRUE(type.ok()) << line;
      if (!answer.type.empty()) {
        EXPECT_EQ(answer.type, TypeString(*type)) << line;
      }
    }
    if (!fact->Has("value")) continue;
    EXPECT_TRUE(ok) << line << "\n  " << answer.error;
    if (ok) {
      EXPECT_TRUE(Same((*fact)["value"], answer.value))
          << line << "\n  is " << json::ToString(answer.value);
    }
  }
  EXPECT_GT(count, 1000);
}

}  // namespace
}  // namespace portcullis::cel
