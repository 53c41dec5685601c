// SPDX-License-Identifier: Apache-2.0

// What is wrong with expressions, carets included, and the types of those that are right:
// tests/conformance/cel/errors.jsonl.
#include <gtest/gtest.h>

#include <fstream>

#include "cel/environment.h"
#include "json/reader.h"

namespace portcullis::cel {
namespace {

TEST(ErrorFactsTest, TextsAreThoseOfCelGo) {
  std::ifstream file(PC_SOURCE_DIR "/tests/conformance/cel/errors.jsonl");
  ASSERT_TRUE(file.is_open());
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    json::Arena arena;
    const auto fact = json::Parse(arena, line);
    ASSERT_TRUE(fact.ok()) << line;
    EnvironmentBuilder builder;
    builder.options().container = (*fact)["container"].AsString();
    builder.options().optional_syntax = (*fact)["optional"].AsBool();
    builder.options().max_depth = static_cast<int>((*fact)["max_depth"].AsInt(250));
    for (const json::Member& member : (*fact)["types"].members()) {
      builder.AddVariable(member.name(), member.value.AsString());
    }
    const auto environment = builder.Build();
    ASSERT_TRUE(environment.ok()) << environment.status().message();
    CompileOptions options;
    options.check = (*fact)["check"].AsBool(true);
    const Compilation compilation = (*environment)->Compile((*fact)["expr"].AsString(), options);
    const std::string error = compilation.issues.empty() ? "" : compilation.ErrorText();
    EXPECT_EQ(error, (*fact)["error"].AsString()) << line;
    if (!fact->Has("type") || !compilation.ok()) continue;
    EXPECT_EQ(FormatType(compilation.program->result_type()), (*fact)["type"].AsString()) << line;
  }
  EXPECT_GT(count, 200);
}

}  // namespace
}  // namespace portcullis::cel
