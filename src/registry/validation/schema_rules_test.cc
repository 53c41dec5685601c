#include "registry/validation/schema_rules.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/reader.h"

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
  ValidateSchemaRules(props, api::FieldPath("s"), errors);
  std::string out;
  for (const api::FieldError& error : errors) out += error.ToString() + ";";
  return base::ReplaceAll(out, "s.x-kubernetes-validations[0].", "");
}

TEST(SchemaRulesTest, SaysWhatIsWrongWithTexts) {
  EXPECT_EQ(Problem(R"({"rule":" "})"), "rule: Required value: rule is not specified;");
  EXPECT_EQ(Problem(R"({"rule":"true","message":" "})"),
            "message: Invalid value: \" \": message must be non-empty if specified;");
  EXPECT_EQ(Problem(R"({"rule":"true","message":"a\nb"})"),
            "message: Invalid value: \"a\\nb\": message must not contain line breaks;");
  EXPECT_EQ(Problem(R"({"rule":"true\n|| false"})"),
            "message: Required value: message must be specified if rule contains line breaks;");
}

TEST(SchemaRulesTest, SaysWhereAFieldPathGoesWrong) {
  const std::pair<std::string_view, std::string_view> facts[] = {
      {".a", ""},
      {".m.x", ""},
      {".m['x.y']", ""},
      {"['a']", ""},
      {".z", "does not refer to a valid field"},
      {".a.b", "does not refer to a valid field"},
      {"a", "expected [ or . but got: a"},
      {".", "unexpected end of JSON path"},
      {".l[0]", "expected single quoted string but got 0"},
      {".m['x'", "unexpected end of JSON path"},
      {".m['x'.a", "expected ] but got ."},
  };
  for (const auto& [path, problem] : facts) {
    const std::string expected =
        problem.empty() ? ""
                        : base::StrCat("fieldPath: Invalid value: \"", path,
                                       "\": fieldPath must be a valid path: ", problem, ";");
    EXPECT_EQ(Problem(base::StrCat(R"({"rule":"true","fieldPath":")", path, "\"}")), expected);
  }
}

}  // namespace
}  // namespace portcullis::registry
