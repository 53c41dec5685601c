// SPDX-License-Identifier: Apache-2.0

#include "api/schema/validate.h"

#include "api/schema/schema.h"

#include <gtest/gtest.h>

#include "json/reader.h"

namespace portcullis::api::schema {
namespace {

class ValidateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const json::Value props = json::Parse(arena_, R"({"type":"object","properties":{"spec":{
      "type":"object","required":["name"],"properties":{
        "name":{"type":"string","pattern":"^[a-z]+$","maxLength":5,"minLength":2},
        "size":{"type":"integer","minimum":1,"maximum":10,"multipleOf":2},
        "kind":{"type":"string","enum":["A","B"]},
        "when":{"type":"string","format":"date-time"},
        "ipv4":{"type":"string","format":"ipv4"},
        "ipv6":{"type":"string","format":"ipv6"},
        "cidr":{"type":"string","format":"cidr"},
        "port":{"x-kubernetes-int-or-string":true},
        "tags":{"type":"array","items":{"type":"string"},"maxItems":2,
          "x-kubernetes-list-type":"set"},
        "numbers":{"type":"array","items":{"type":"number"},"x-kubernetes-list-type":"set"},
        "parts":{"type":"array","x-kubernetes-list-type":"map",
          "x-kubernetes-list-map-keys":["id"],
          "items":{"type":"object","properties":{"id":{"type":"string"},
            "n":{"type":"integer","minimum":0}}}},
        "map":{"type":"object","maxProperties":1,"additionalProperties":{"type":"boolean"}},
        "one":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},
          "oneOf":[{"required":["a"]},{"required":["b"]}]}
      }}}})")
                                  .value();
    props_ = props;
  }

  std::vector<std::string> Errors(std::string_view spec, std::string_view old = {}) {
    FieldErrors errors;
    const json::Value before = old.empty() ? json::Value() : Parse(old);
    ValidateValue({props_}, Parse(spec), FieldPath(), errors, old.empty() ? nullptr : &before);
    ValidateListTypes(props_, Parse(spec), FieldPath(), errors);
    std::vector<std::string> texts;
    for (const FieldError& error : errors) texts.push_back(error.ToString());
    return texts;
  }
  json::Value Parse(std::string_view spec) {
    return json::Parse(arena_, std::string(R"({"spec":)") + std::string(spec) + "}").value();
  }

  json::Arena arena_;
  json::Value props_;
};

using Texts = std::vector<std::string>;

TEST_F(ValidateTest, AcceptsWhatFits) {
  EXPECT_EQ(Errors(R"({"name":"abc","size":4,"kind":"A","when":"2024-01-01T00:00:00Z","port":"x",
                       "tags":["a","b"],"map":{"x":true},"one":{"a":"1"}})"),
            Texts{});
}

// kube-openapi/pkg/validation/strfmt: leading zeros are taken but in IPv6.
TEST_F(ValidateTest, AddressesMayHaveLeadingZeros) {
  const auto count = [this](std::string_view format, std::string_view text) {
    return Errors(R"({"name":"abc",")" + std::string(format) + R"(":")" + std::string(text) + "\"}")
        .size();
  };
  EXPECT_EQ(count("ipv4", "010.0.0.1"), 0U);
  EXPECT_EQ(count("ipv4", "::ffff:1.2.3.4"), 0U);
  EXPECT_EQ(count("ipv4", "1.2.3"), 1U);
  EXPECT_EQ(count("ipv4", "::1"), 1U);
  EXPECT_EQ(count("ipv6", "::1"), 0U);
  EXPECT_EQ(count("ipv6", "::ffff:01.2.3.4"), 1U);
  EXPECT_EQ(count("ipv6", "1.2.3.4"), 1U);
  EXPECT_EQ(count("cidr", "010.0.0.0/08"), 0U);
  EXPECT_EQ(count("cidr", "10.0.0.0/33"), 1U);
  EXPECT_EQ(count("cidr", "10.0.0.0"), 1U);
}

TEST_F(ValidateTest, SaysWhatIsWrongAsKubernetesDoes) {
  EXPECT_EQ(Errors(R"({})"), Texts{"spec.name: Required value"});
  EXPECT_EQ(Errors(R"({"name":1})"),
            (Texts{R"(spec.name: Invalid value: "integer": spec.name in body must be of type )"
                   R"(string: "integer")"}));
  EXPECT_EQ(Errors(R"({"name":"A1"})"),
            Texts{R"(spec.name: Invalid value: "A1": spec.name in body should match '^[a-z]+$')"});
  EXPECT_EQ(Errors(R"({"name":"abcdef"})"),
            Texts{"spec.name: Too long: may not be more than 5 bytes"});
  EXPECT_EQ(Errors(R"({"name":"a"})"),
            Texts{R"(spec.name: Invalid value: "a": spec.name in body should be at least 2 chars)"
                  R"( long)"});
  EXPECT_EQ(Errors(R"({"name":"ab","size":12})"),
            Texts{"spec.size: Invalid value: 12: spec.size in body should be less than or equal to"
                  " 10"});
  EXPECT_EQ(Errors(R"({"name":"ab","size":3})"),
            Texts{"spec.size: Invalid value: 3: spec.size in body should be a multiple of 2"});
  EXPECT_EQ(Errors(R"({"name":"ab","kind":"C"})"),
            Texts{R"(spec.kind: Unsupported value: "C": supported values: "A", "B")"});
  EXPECT_EQ(Errors(R"({"name":"ab","when":"x"})"),
            Texts{R"(spec.when: Invalid value: "x": spec.when in body must be of type date-time: )"
                  R"("x")"});
  EXPECT_EQ(Errors(R"({"name":"ab","port":1.5})"),
            Texts{R"(spec.port: Invalid value: "number": spec.port in body must be of type )"
                  R"(integer,string: "number")"});
  EXPECT_EQ(Errors(R"({"name":"ab","tags":["a","b","a"]})"),
            (Texts{"spec.tags: Too many: 3: must have at most 2 items",
                   R"(spec.tags[2]: Duplicate value: "a")"}));
  EXPECT_EQ(Errors(R"({"name":"ab","parts":[{"id":"x"},{"id":"x","n":-1}]})"),
            (Texts{"spec.parts[1].n: Invalid value: -1: spec.parts[1].n in body should be greater"
                   " than or equal to 0",
                   R"(spec.parts[1]: Duplicate value: {"id":"x"})"}));
  EXPECT_EQ(Errors(R"({"name":"ab","map":{"x":null}})"),
            Texts{R"(spec.map.x: Invalid value: "null": spec.map.x in body must be of type )"
                  R"(boolean: "null")"});
  EXPECT_EQ(Errors(R"({"name":"ab","one":{}})"),
            (Texts{R"(<nil>: Invalid value: "": "spec.one" must validate one and only one schema )"
                   R"((oneOf). Found none valid)",
                   "spec.one.a: Required value"}));
}

TEST_F(ValidateTest, ANumberWithAPointIsAnotherThanOneWithout) {
  EXPECT_EQ(Errors(R"({"name":"ab","numbers":[1,1.0]})"), Texts{});
  EXPECT_EQ(Errors(R"({"name":"ab","numbers":[1.0,1,1.0]})"),
            Texts{"spec.numbers[2]: Duplicate value: 1"});
}

TEST_F(ValidateTest, LeavesUnchangedMistakesAlone) {
  EXPECT_EQ(Errors(R"({"name":"A1","size":2})", R"({"name":"A1"})"), Texts{});
  EXPECT_EQ(Errors(R"({"name":"A2"})", R"({"name":"A1"})").size(), 1U);
  EXPECT_EQ(Errors(R"({"name":"ab","parts":[{"id":"y"},{"id":"x","n":-1}]})",
                   R"({"name":"ab","parts":[{"id":"x","n":-1}]})"),
            Texts{});
}

}  // namespace
}  // namespace portcullis::api::schema
