// SPDX-License-Identifier: Apache-2.0

#include "engine/definitions/custom_resource_conditions.h"
#include "api/condition.h"

#include <gtest/gtest.h>

#include "json/reader.h"

namespace portcullis::engine {
namespace {

json::Value Condition(json::Value definition, std::string_view type) {
  for (const json::Value& condition : definition["status"]["conditions"].elements()) {
    if (condition["type"].AsString() == type) return condition;
  }
  return {};
}

// Recorded of a kube-apiserver with such definitions in its etcd.
TEST(CustomResourceConditions, TellWhatIsNotStructuralInOldDefinitions) {
  json::Arena arena;
  const json::Value definition = *json::Parse(arena, R"({"metadata":{"name":"loose.old.io"},
      "spec":{"group":"old.io","preserveUnknownFields":true,"versions":[{"name":"v1","schema":
        {"openAPIV3Schema":{"properties":{"spec":{"properties":{"a":{"type":"string"},
          "l":{"type":"array","items":{}}}}}}}}]},
      "status":{"conditions":[]}})");
  const json::Value told =
      WithVerdict(arena, definition, {.accepted = {}, .reason = "NoConflicts"}, "t");
  const json::Value condition = Condition(told, "NonStructuralSchema");
  EXPECT_EQ(condition["status"].AsString(), "True");
  EXPECT_EQ(condition["reason"].AsString(), "Violations");
  EXPECT_EQ(condition["message"].AsString(),
            "[spec.preserveUnknownFields: Invalid value: true: must be false, "
            "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[l].items.type: "
            "Required value: must not be empty for specified array items, "
            "spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Required value: must "
            "not be empty for specified object fields, "
            "spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at "
            "the root]");

  const json::Value mended = json::SetPath(arena, told, {"spec", "preserveUnknownFields"}, {});
  const json::Value after =
      WithVerdict(arena, mended, {.accepted = {}, .reason = "NoConflicts"}, "t");
  EXPECT_TRUE(Condition(after, "NonStructuralSchema").is_null());
  EXPECT_TRUE(api::HasTrueCondition(after, "NamesAccepted"));
}

}  // namespace
}  // namespace portcullis::engine
