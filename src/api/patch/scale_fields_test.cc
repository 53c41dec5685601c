// SPDX-License-Identifier: Apache-2.0

#include "api/patch/scale_fields.h"

#include <gtest/gtest.h>

#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::patch {
namespace {

const ReplicasPaths kPaths = {
    {"apps/v1", {PathElement::Field("spec"), PathElement::Field("replicas")}},
    {"apps/v2", {PathElement::Field("spec"), PathElement::Field("count")}},
    {"apps/v3", {}},
};

std::string ManagerEntry(std::string_view manager, std::string_view operation,
                         std::string_view version, std::string_view spec,
                         std::string_view more = "") {
  return std::string(R"({"manager":")")
      .append(manager)
      .append(R"(","operation":")")
      .append(operation)
      .append(R"(","apiVersion":")")
      .append(version)
      .append(R"(","fieldsType":"FieldsV1","fieldsV1":{"f:spec":)")
      .append(spec)
      .append("}")
      .append(more)
      .append("}");
}

struct Case {
  std::string_view name;
  std::string parent, scale, expected;
};
constexpr std::string_view kScale = R"(,"subresource":"scale")";
constexpr std::string_view kReplicas = R"({"f:replicas":{}})";

const Case kCases[] = {
    {"an update takes the field from an applier",
     ManagerEntry("a", "Apply", "apps/v1", R"({"f:replicas":{},"f:x":{}})"),
     ManagerEntry("s", "Update", "autoscaling/v1", kReplicas, kScale),
     ManagerEntry("a", "Apply", "apps/v1", R"({"f:x":{}})") + "," +
         ManagerEntry("s", "Update", "apps/v1", kReplicas, kScale)},
    {"nothing is left of an entry without other fields",
     ManagerEntry("a", "Apply", "apps/v1", kReplicas),
     ManagerEntry("s", "Update", "autoscaling/v1", kReplicas, kScale),
     ManagerEntry("s", "Update", "apps/v1", kReplicas, kScale)},
    {"an applier keeps what it keeps in the scale",
     ManagerEntry("a", "Apply", "apps/v1", R"({"f:replicas":{},"f:x":{}})"),
     ManagerEntry("a", "Apply", "autoscaling/v1", kReplicas),
     ManagerEntry("a", "Apply", "apps/v1", R"({"f:replicas":{},"f:x":{}})")},
    {"the entry of an updater is split",
     ManagerEntry("u", "Update", "apps/v1", R"({"f:replicas":{},"f:x":{}})"),
     ManagerEntry("u", "Update", "autoscaling/v1", kReplicas),
     ManagerEntry("u", "Update", "apps/v1", R"({"f:x":{}})") + "," +
         ManagerEntry("u", "Update", "apps/v1", kReplicas)},
    {"other versions have other paths",
     ManagerEntry("a", "Apply", "apps/v2", R"({"f:count":{},"f:x":{}})"), "",
     ManagerEntry("a", "Apply", "apps/v2", R"({"f:x":{}})")},
    {"a version without scale is left alone", ManagerEntry("a", "Apply", "apps/v3", kReplicas), "",
     ManagerEntry("a", "Apply", "apps/v3", kReplicas)},
    {"a version that is gone loses all", ManagerEntry("a", "Apply", "apps/v9", R"({"f:x":{}})"), "",
     ""},
    {"other fields of the scale do not count", "",
     ManagerEntry("s", "Update", "autoscaling/v1", R"({"f:x":{}})", kScale), ""},
};

TEST(ScaleFields, GoBackToTheParent) {
  for (const Case& test : kCases) {
    json::Arena arena;
    const auto parse = [&](const std::string& text) {
      return *json::Parse(arena, "[" + text + "]");
    };
    const auto found =
        ParentManagedFields(arena, parse(test.parent), parse(test.scale), kPaths, "apps/v1");
    ASSERT_TRUE(found.ok()) << test.name;
    json::WriteOptions sorted;
    sorted.sort_keys = true;
    const std::string text = found->is_null() ? "[]" : json::ToString(*found, sorted);
    EXPECT_EQ(text, json::ToString(parse(test.expected), sorted)) << test.name;
  }
}

TEST(ScaleFields, OfAParentAreThoseThatHoldReplicas) {
  json::Arena arena;
  const auto parent = json::Parse(
      arena,
      "[" + ManagerEntry("a", "Apply", "apps/v1", kReplicas, R"(,"time":"2020-01-01T00:00:00Z")") +
          "," + ManagerEntry("b", "Update", "apps/v2", R"({"f:count":{}})") + "," +
          ManagerEntry("c", "Update", "apps/v1", R"({"f:x":{}})") + "]");
  ASSERT_TRUE(parent.ok());

  const auto found = ScaleManagedFields(arena, *parent, kPaths);

  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0]["apiVersion"].AsString(), "autoscaling/v1");
  EXPECT_EQ((*found)[0]["time"].AsString(), "2020-01-01T00:00:00Z");
  EXPECT_TRUE((*found)[1]["fieldsV1"]["f:spec"]["f:replicas"].is_object());
}

}  // namespace
}  // namespace portcullis::api::patch
