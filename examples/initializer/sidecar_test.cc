// SPDX-License-Identifier: Apache-2.0

#include "sidecar.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/reader.h"

namespace example {
namespace {

std::string PatchOf(std::string_view initializers) {
  const auto pod = portcullis::json::ParseDocument(
      portcullis::base::StrCat(R"({"metadata":{"initializers":)", initializers, "}}"));
  return FinishingPatch(pod.value().root(), "a.b.c", "acme/log:1");
}

TEST(SidecarTest, AddsTheContainerAndRemovesTheLastName) {
  EXPECT_EQ(
      PatchOf(R"({"pending":[{"name":"a.b.c"}]})"),
      R"([{"op":"test","path":"/metadata/initializers/pending/0/name","value":"a.b.c"},)"
      R"({"op":"add","path":"/spec/containers/-","value":{"name":"log","image":"acme/log:1"}},)"
      R"({"op":"remove","path":"/metadata/initializers"}])");
}

TEST(SidecarTest, LeavesOtherNames) {
  const std::string patch = PatchOf(R"({"pending":[{"name":"a.b.c"},{"name":"x.y.z"}]})");
  EXPECT_NE(patch.find(R"("remove","path":"/metadata/initializers/pending/0")"), std::string::npos);
}

TEST(SidecarTest, WaitsForItsTurn) {
  EXPECT_EQ(PatchOf(R"({"pending":[{"name":"x.y.z"},{"name":"a.b.c"}]})"), "");
  EXPECT_EQ(PatchOf(R"({"pending":[{"name":"a.b.c"}],"result":{"status":"Failure"}})"), "");
  EXPECT_EQ(PatchOf("null"), "");
}

}  // namespace
}  // namespace example
