// SPDX-License-Identifier: Apache-2.0

#include "registry/strategy.h"

#include <gtest/gtest.h>

#include "json/reader.h"

namespace portcullis::registry {
namespace {

TEST(Generation, EmptyListsAndAbsentOnesAreTheSame) {
  json::Arena arena;
  const auto generation = [&](std::string_view object, std::string_view old) {
    return CountGeneration(arena, json::Parse(arena, object).value(),
                           json::Parse(arena, old).value())["metadata"]["generation"]
        .AsInt();
  };
  constexpr std::string_view kOld =
      R"({"metadata":{"generation":3},"endpoints":null,"spec":{"a":[{"b":1}]}})";
  EXPECT_EQ(generation(R"({"endpoints":[],"spec":{"a":[{"b":1,"c":[]}]},"ports":[]})", kOld), 3);
  EXPECT_EQ(generation(R"({"endpoints":[1],"spec":{"a":[{"b":1}]}})", kOld), 4);
  EXPECT_EQ(generation(R"({"spec":{"a":[{"b":1}],"c":{}}})", kOld), 4);
  EXPECT_EQ(generation(R"({"spec":{"a":[]}})", kOld), 4);
}

}  // namespace
}  // namespace portcullis::registry
