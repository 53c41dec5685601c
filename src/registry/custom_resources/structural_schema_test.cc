// SPDX-License-Identifier: Apache-2.0

// Schemas, and what apiextensions-apiserver says of them (v0.36, pkg/apiserver/schema and
// pkg/apis/apiextensions/validation).
#include "registry/custom_resources/structural_schema.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::registry {
namespace {

// What is wrong with an object with these members besides its type.
std::string ProblemOf(std::string_view members) {
  json::Arena arena;
  const auto props = json::Parse(arena, base::StrCat(R"({"type":"object",)", members, "}"));
  EXPECT_TRUE(props.ok()) << members;
  FieldErrors errors;
  ValidateStructuralSchema(*props, FieldPath("s"), errors);
  std::string out;
  for (const api::FieldError& error : errors) out += error.ToString() + ";";
  return out;
}

// The same for a field `a` with these members.
std::string FieldProblem(std::string_view members) {
  return ProblemOf(base::StrCat(R"("properties":{"a":{)", members, "}}"));
}

TEST(StructuralSchemaTest, DefaultsKeepTheRules) {
  const std::pair<std::string_view, std::string_view> facts[] = {
      {R"("type":"integer","default":3,"x-kubernetes-validations":[{"rule":"self > 2"}])", ""},
      {R"("type":"integer","default":1,"x-kubernetes-validations":[{"rule":"self > 2"}])",
       "s.properties[a].default: Invalid value: 1: failed rule: self > 2;"},
      {R"("type":"object","default":{"b":1},"properties":{"b":{"type":"integer",
          "x-kubernetes-validations":[{"rule":"self > 2","message":"too small"}]}})",
       "s.properties[a].default.b: Invalid value: 1: too small;"},
      // A transition rule sees the default as unchanged, and an optional one as new too.
      {R"("type":"integer","default":1,"x-kubernetes-validations":[{"rule":"self == oldSelf"}])",
       ""},
      {R"x("type":"integer","default":1,"x-kubernetes-validations":[
          {"rule":"oldSelf.hasValue()","optionalOldSelf":true}])x",
       "s.properties[a].default: Invalid value: 1: failed rule: oldSelf.hasValue();"},
      // What is no value of its schema is not judged by rules.
      {R"("type":"integer","maximum":0,"default":1,"x-kubernetes-validations":[{"rule":"self > 2"}])",
       "s.properties[a].default: Invalid value: 1: s.properties[a].default in body should be less "
       "than or equal to 0;"},
  };
  for (const auto& [members, problem] : facts) {
    const std::string found = FieldProblem(members);
    // The name of the value in texts of the schema's validator is not this test's subject.
    if (problem.find(" in body ") != std::string_view::npos) {
      EXPECT_NE(found.find("should be less than or equal to 0;"), std::string::npos) << found;
      EXPECT_EQ(found.find("failed rule"), std::string::npos) << found;
    } else {
      EXPECT_EQ(found, problem) << members;
    }
  }
}

TEST(StructuralSchemaTest, DefaultsOfResourcesAreResources) {
  constexpr std::string_view kResource =
      R"("type":"object","x-kubernetes-embedded-resource":true,"properties":{"a":{"type":"integer"},
         "metadata":{"type":"object","properties":{"name":{"type":"string")";
  EXPECT_EQ(FieldProblem(base::StrCat(kResource, R"(}}}},"default":{"kind":"K","a":1})")),
            "s.properties[a].default.apiVersion: Required value;");
  EXPECT_EQ(FieldProblem(base::StrCat(kResource, R"(,"default":"a/b"}}}})")),
            "s.properties[a].properties[metadata].properties[name].default: Invalid value: "
            "\"a/b\": must result in valid metadata: metadata.name: Invalid value: \"a/b\": may "
            "not contain '/';");
  EXPECT_EQ(FieldProblem(base::StrCat(kResource, R"(,"default":"a"}}}})")), "");
}

TEST(StructuralSchemaTest, WhatASchemaMustAndMayHold) {
  const std::pair<std::string_view, std::string_view> facts[] = {
      {R"("properties":{"a":{"type":"string"}})", ""},
      {R"("nullable":true)", "s.nullable: Forbidden: nullable cannot be true at the root;"},
      {R"("additionalProperties":{"type":"string"})",
       "s.additionalProperties: Forbidden: must not be used at the root;"},
      {R"("properties":{"metadata":{"type":"object","properties":{"labels":{"type":"object"}}}})",
       "s.properties[metadata]: Forbidden: must not specify anything other than name and "
       "generateName, but metadata is implicitly specified;"},
      {R"("properties":{"metadata":{"type":"object","properties":{"name":{"type":"string",
          "maxLength":5}}}})",
       ""},
      {R"("properties":{"kind":{"type":"integer"}})",
       "s.properties[kind].type: Invalid value: \"integer\": must be string;"},
      {R"("properties":{"kind":{"type":"string","default":"x"}})",
       "s.properties[kind].default: Forbidden: must not be set in top-level kind;"},
      {R"("anyOf":[{"properties":{"b":{"minLength":1}}}])",
       "s.properties[b]: Required value: because it is defined in s.anyOf[0].properties[b];"},
      {R"("allOf":[{"properties":{"metadata":{}}}],"properties":{"metadata":{"type":"object"}})",
       "s.allOf[0].properties[metadata]: Forbidden: must not be specified in a nested context;"},
      {R"("$schema":"x")", "s: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported;"},
  };
  for (const auto& [members, problem] : facts) EXPECT_EQ(ProblemOf(members), problem) << members;
}

TEST(StructuralSchemaTest, WhatAFieldMustAndMayHold) {
  const std::pair<std::string_view, std::string_view> facts[] = {
      {R"("x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}])", ""},
      {"", "s.properties[a].type: Required value: must not be empty for specified object fields;"},
      {R"("type":"array")", "s.properties[a].items: Required value: must be specified;"},
      {R"("type":"array","items":{})",
       "s.properties[a].items.type: Required value: must not be empty for specified array items;"},
      {R"("type":"null")",
       "s.properties[a].type: Unsupported value: \"null\": supported values: \"array\", "
       "\"boolean\", \"integer\", \"number\", \"object\", \"string\";s.properties[a].type: "
       "Forbidden: type cannot be set to null, use nullable as an alternative;"},
      {R"("type":"string","oneOf":[{"type":"string","nullable":true,"default":"x"}])",
       "s.properties[a].oneOf[0].default: Forbidden: must be undefined to be structural;"
       "s.properties[a].oneOf[0].nullable: Forbidden: must be false to be structural;"
       "s.properties[a].oneOf[0].type: Forbidden: must be empty to be structural;"},
      {R"("type":"object","x-kubernetes-embedded-resource":true)",
       "s.properties[a].properties: Required value: must not be empty if "
       "x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields;"},
      {R"("type":"object","properties":{"b":{"type":"integer"}},"default":{"b":1,"c":2})",
       "s.properties[a].default: Invalid value: {\"b\":1,\"c\":2}: must not have unknown fields;"},
      {R"("type":"array","items":{"type":"object"},"x-kubernetes-list-type":"set")",
       "s.properties[a].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item "
       "of a list with x-kubernetes-list-type=set;"},
      {R"("type":"array","items":{"type":"string"},"x-kubernetes-list-type":"map",
          "x-kubernetes-list-map-keys":["k"])",
       "s.properties[a].items.type: Invalid value: \"string\": must be object if parent array's "
       "x-kubernetes-list-type is map;"},
      {R"("type":"array","items":{"type":"object","required":["k"],"nullable":true,"properties":
          {"k":{"type":"object","nullable":true}}},"x-kubernetes-list-type":"map",
          "x-kubernetes-list-map-keys":["k","k"])",
       "s.properties[a].items.properties[k].type: Invalid value: \"object\": must be a scalar type "
       "if parent array's x-kubernetes-list-type is map;"
       "s.properties[a].items.properties[k].type: Invalid value: \"object\": must be a scalar type "
       "if parent array's x-kubernetes-list-type is map;"
       "s.properties[a].x-kubernetes-list-map-keys: Invalid value: [\"k\",\"k\"]: must not contain "
       "duplicate entries;s.properties[a].items.nullable: Forbidden: cannot be nullable when "
       "x-kubernetes-list-type is map;s.properties[a].items.properties[k].nullable: Forbidden: "
       "this property is in x-kubernetes-list-map-keys, so it cannot be nullable;"
       "s.properties[a].items.properties[k].nullable: Forbidden: this property is in "
       "x-kubernetes-list-map-keys, so it cannot be nullable;"},
      {R"("type":"string","id":"x","patternProperties":{"x":{}})",
       "s.properties[a].id: Forbidden: id is not supported;s.properties[a].patternProperties: "
       "Forbidden: patternProperties is not supported;"},
  };
  for (const auto& [members, problem] : facts) {
    EXPECT_EQ(FieldProblem(members), problem) << members;
  }
}

}  // namespace
}  // namespace portcullis::registry
