// SPDX-License-Identifier: Apache-2.0

#include "registry/custom_resources/schema_rules.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/reader.h"
#include "kube_cel/rule_set.h"
#include "registry/custom_resources/structural_schema.h"

namespace portcullis::registry {
namespace {

// What is wrong with a rule of an object with the fields a, l (list) and m (map), without its path.
std::string Problem(std::string_view rule) {
  json::Arena arena;
  const json::Value props =
      json::Parse(arena,
                  base::StrCat(R"({"type":"object","properties":{"a":{"type":"integer"},)"
                               R"("l":{"type":"array","items":{"type":"string"}},"m":{"type":)"
                               R"("object","additionalProperties":{"type":"string"}}},)"
                               R"("x-kubernetes-validations":[)",
                               rule, "]}"))
          .value();
  api::FieldErrors errors;
  CheckRuleTexts(props, api::FieldPath("s"), errors);
  ValidateSchemaRules(props, api::FieldPath("s"), errors);
  std::string out;
  for (const api::FieldError& error : errors) out += error.ToString() + ";";
  return base::ReplaceAll(out, "s.x-kubernetes-validations[0].", "");
}

// Rules, and what apiextensions-apiserver says of them (v0.36, pkg/apis/apiextensions/validation
// and pkg/apiserver/schema/cel).
TEST(SchemaRulesTest, SaysWhatIsWrongWithTexts) {
  const std::pair<std::string_view, std::string_view> facts[] = {
      {R"({"rule":"true"})", ""},
      {R"({"rule":" "})", "rule: Required value: rule is not specified;"},
      {R"({"rule":"true","message":" "})",
       "message: Invalid value: \" \": must be non-empty if specified;"},
      {R"({"rule":"true","message":"a\nb"})",
       "message: Invalid value: \"a\\nb\": must not contain line breaks;"},
      {R"({"rule":"true\n|| false"})",
       "message: Required value: message must be specified if rule contains line breaks;"},
      {R"({"rule":"true\n|| false","message":"m"})", ""},
      {R"({"rule":"true","messageExpression":" "})",
       "messageExpression: Required value: messageExpression must be non-empty if specified;"},
      {R"({"rule":"true","reason":"Other"})",
       "reason: Unsupported value: \"Other\": supported values: \"FieldValueDuplicate\", "
       "\"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\";"},
      {R"({"rule":"true","fieldPath":" "})",
       "fieldPath: Invalid value: \" \": must be non-empty if specified;"
       "fieldPath: Invalid value: \" \": must be a valid path;"},
      {R"({"rule":"true","optionalOldSelf":true})",
       "optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule;"},
      {R"({"rule":"self.a"})",
       "rule: Invalid value: {\"Rule\":\"self.a\",\"Message\":\"\",\"MessageExpression\":\"\","
       "\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: cel expression must evaluate "
       "to a bool;"},
      {R"({"rule":"true","messageExpression":"self.a"})",
       "messageExpression: Invalid value: {\"Rule\":\"true\",\"Message\":\"\","
       "\"MessageExpression\":\"self.a\",\"Reason\":null,\"FieldPath\":\"\","
       "\"OptionalOldSelf\":null}: messageExpression must evaluate to a string;"},
  };
  for (const auto& [rule, problem] : facts) EXPECT_EQ(Problem(rule), problem) << rule;
}

// They make the schema not structural, so that no expression is compiled. What is wrong with the schema around
// a rule stands behind it.
TEST(SchemaRulesTest, SaysWhatIsWrongWithTextsWithinOthers) {
  json::Arena arena;
  const auto props = json::Parse(arena, R"({"type":"object",
      "not":{"properties":{"a":{"x-kubernetes-validations":[{"rule":"bogus("},{"rule":""}]}}},
      "allOf":[{"x-kubernetes-validations":[{"rule":" "}]}],
      "oneOf":[{},{"items":{"x-kubernetes-validations":[{"rule":"a","message":" "}]}}],
      "anyOf":[{"x-kubernetes-validations":[{"rule":"a","fieldPath":".b"}]}],
      "x-kubernetes-map-type":"odd"})");
  api::FieldErrors errors;
  ValidateStructuralSchema(*props, api::FieldPath("s"), errors);
  std::string out;
  for (const api::FieldError& error : errors) {
    const bool is_extension = error.field.find("x-kubernetes-") != std::string::npos;
    if (!is_extension || error.detail.ends_with("to be structural")) continue;
    out += error.ToString() + "\n";
  }
  EXPECT_EQ(
      out,
      "s.not.properties[a].x-kubernetes-validations[1].rule: Required value: rule is not "
      "specified\n"
      "s.allOf[0].x-kubernetes-validations[0].rule: Required value: rule is not specified\n"
      "s.oneOf[1].items.x-kubernetes-validations[0].message: Invalid value: \" \": must be "
      "non-empty if specified\n"
      "s.anyOf[0].x-kubernetes-validations[0].fieldPath: Invalid value: \".b\": must be a valid "
      "path\n"
      "s.x-kubernetes-map-type: Unsupported value: \"odd\": supported values: \"atomic\", "
      "\"granular\"\n");
}

TEST(SchemaRulesTest, RefusesFieldPathsThatLeadNowhere) {
  for (const std::string_view path : {".a", ".m.x", ".m['x.y']", "['a']"}) {
    EXPECT_EQ(Problem(base::StrCat(R"({"rule":"true","fieldPath":")", path, "\"}")), "") << path;
  }
  for (const std::string_view path :
       {".z", ".a.b", "a", ".", ".l[0]", ".m['x'", ".m['x'.a", ".m['x\\q']"}) {
    const std::string escaped = base::ReplaceAll(path, "\\", "\\\\");
    EXPECT_EQ(Problem(base::StrCat(R"({"rule":"true","fieldPath":")", escaped, "\"}")),
              base::StrCat("fieldPath: Invalid value: \"", escaped, "\": must be a valid path;"));
  }
}

// What rules refuse of the object {"a":5,"l":["x"]}.
std::string Refusal(std::string_view rules, std::string_view field_rules = "") {
  json::Arena arena;
  const json::Value props =
      json::Parse(arena, base::StrCat(R"({"type":"object","properties":{"a":{"type":"integer")",
                                      field_rules, R"(},"l":{"type":"array","items":{"type":)",
                                      R"("string"}}},"x-kubernetes-validations":[)", rules, "]}"))
          .value();
  const kube_cel::RuleSet set(props);
  const json::Value object = json::Parse(arena, R"({"a":5,"l":["x"]})").value();
  api::FieldErrors errors;
  EvaluateSchemaRules(arena, set, object, nullptr, errors, nullptr);
  std::string out;
  for (const api::FieldError& error : errors) out += error.ToString() + ";";
  return out;
}

TEST(SchemaRulesTest, ShowsScalarsButNotObjects) {
  EXPECT_EQ(Refusal("", R"(,"x-kubernetes-validations":[{"rule":"self > 5"}])"),
            "a: Invalid value: 5: failed rule: self > 5;");
  EXPECT_EQ(Refusal(R"({"rule":"self.a > 5","fieldPath":".a","message":"too small"})"),
            "a: Invalid value: too small;");
  EXPECT_EQ(Refusal(R"x({"rule":"self.a > 5","fieldPath":".a","reason":"FieldValueForbidden",
                         "messageExpression":"'not ' + string(self.a)"})x"),
            "a: Forbidden: not 5;");
  EXPECT_EQ(Refusal(R"({"rule":"self.l[1] == 'x'","fieldPath":".l"})"),
            "<nil>: Invalid value: \"object\": index out of bounds: 1 evaluating rule: "
            "self.l[1] == 'x';");
}

// What a rule says of an update, warnings in parentheses.
std::string OfUpdate(std::string_view schema, std::string_view object, std::string_view old) {
  json::Arena arena;
  const json::Value props = json::Parse(arena, schema).value();
  const json::Value before = json::Parse(arena, old).value();
  const kube_cel::RuleSet rules(props);
  api::FieldErrors errors;
  std::vector<std::string> warnings;
  EvaluateSchemaRules(arena, rules, json::Parse(arena, object).value(), &before, errors, &warnings);
  std::string out;
  for (const api::FieldError& error : errors) out += error.ToString() + ";";
  for (const std::string& warning : warnings) out += "(" + warning + ")";
  return out;
}

TEST(SchemaRulesTest, WarnsOfWhatHasNotChanged) {
  constexpr std::string_view kSchema = R"({"type":"object","properties":{
      "a":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 2"}]},
      "b":{"type":"integer"},
      "l":{"type":"array","items":{"type":"integer",
           "x-kubernetes-validations":[{"rule":"self > 2"}]}},
      "m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
           "items":{"type":"object","properties":{"k":{"type":"string"},"v":{"type":"integer",
           "x-kubernetes-validations":[{"rule":"self > 2"}]}}}},
      "o":{"type":"object","properties":{"x":{"type":"integer"}},
           "x-kubernetes-preserve-unknown-fields":true,
           "x-kubernetes-validations":[{"rule":"self.x > 2"}]},
      "d":{"type":"integer","x-kubernetes-validations":[{"rule":"1 / self > 0"}]}}})";
  const auto of = [&](std::string_view object, std::string_view old) {
    return OfUpdate(kSchema, object, old);
  };
  constexpr std::string_view kA = "a: Invalid value: 1: failed rule: self > 2";
  EXPECT_EQ(of(R"({"a":1})", R"({"a":0})"), base::StrCat(kA, ";"));
  EXPECT_EQ(of(R"({"a":1,"b":2})", R"({"a":1,"b":1})"), base::StrCat("(", kA, ")"));
  // Elements of a plain list have no identity, but the whole list has.
  EXPECT_EQ(of(R"({"l":[1]})", R"({"l":[1]})"), "(l[0]: Invalid value: 1: failed rule: self > 2)");
  EXPECT_EQ(of(R"({"l":[1,3]})", R"({"l":[1]})"), "l[0]: Invalid value: 1: failed rule: self > 2;");
  EXPECT_EQ(of(R"({"m":[{"k":"b"},{"k":"a","v":1}]})", R"({"m":[{"k":"a","v":1}]})"),
            "(m[1].v: Invalid value: 1: failed rule: self > 2)");
  EXPECT_EQ(of(R"({"m":[{"k":"a","v":1}]})", R"({"m":[{"k":"b","v":1}]})"),
            "m[0].v: Invalid value: 1: failed rule: self > 2;");
  EXPECT_EQ(of(R"({"o":{"x":1}})", R"({"o":{"x":1}})"),
            "(o: Invalid value: failed rule: self.x > 2)");
  // What the schema does not name is never known to be the same.
  EXPECT_EQ(of(R"({"o":{"x":1,"y":1}})", R"({"o":{"x":1,"y":1}})"),
            "o: Invalid value: failed rule: self.x > 2;");
  // A rule that cannot be evaluated is an error all the same.
  EXPECT_EQ(of(R"({"d":0})", R"({"d":0})"),
            "d: Invalid value: \"integer\": division by zero evaluating rule: 1 / self > 0;");
}

}  // namespace
}  // namespace portcullis::registry
