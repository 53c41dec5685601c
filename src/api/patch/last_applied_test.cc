// SPDX-License-Identifier: Apache-2.0

#include "api/patch/last_applied.h"

#include <gtest/gtest.h>

#include <string>

#include "api/annotations.h"
#include "json/reader.h"

namespace portcullis::api::patch {
namespace {

constexpr std::string_view kObject =
    R"({"kind": "ConfigMap", "metadata": {"name": "a", "annotations": {
    "kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "x"}}})";

// As many bytes of data as given.
std::string Config(std::size_t size) {
  return R"({"data":{"k":")" + std::string(size, 'v') +
         R"("},"kind":"ConfigMap","metadata":{"name":"a"}})";
}

json::Value AnnotationsWith(json::Arena& arena, std::string_view config) {
  const json::Value object = *json::Parse(arena, kObject);
  return WithLastApplied(arena, object, *json::Parse(arena, config))["metadata"]["annotations"];
}

TEST(LastAppliedTest, AnnotationThatFillsTheLimitIsKept) {
  json::Arena arena;
  const std::size_t rest =
      AnnotationBytes(AnnotationsWith(arena, Config(0)));  // of all but the data
  const json::Value kept = AnnotationsWith(arena, Config(kMaxAnnotationBytes - rest));
  EXPECT_EQ(AnnotationBytes(kept), kMaxAnnotationBytes);
}

TEST(LastAppliedTest, AnnotationBeyondTheLimitIsDropped) {
  json::Arena arena;
  const std::size_t rest = AnnotationBytes(AnnotationsWith(arena, Config(0)));
  const json::Value left = AnnotationsWith(arena, Config(kMaxAnnotationBytes - rest + 1));
  EXPECT_EQ(left.size(), 1U);
  EXPECT_TRUE(left.Has("note"));
}

TEST(LastAppliedTest, ObjectWithoutTheAnnotationGetsNone) {
  json::Arena arena;
  const json::Value object = *json::Parse(arena, R"({"metadata": {"annotations": {"note": "x"}}})");
  EXPECT_FALSE(
      WithLastApplied(arena, object, *json::Parse(arena, Config(1)))["metadata"]["annotations"].Has(
          "kubectl.kubernetes.io/last-applied-configuration"));
}

}  // namespace
}  // namespace portcullis::api::patch
