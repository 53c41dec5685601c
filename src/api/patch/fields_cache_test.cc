// SPDX-License-Identifier: Apache-2.0

#include "api/patch/fields_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/catalog/catalog.h"
#include "api/patch/managed_fields.h"
#include "api/schema/decode.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::patch {
namespace {

using json::Value;

FieldSet Reset(std::string_view field) {
  FieldSet set;
  set.Insert({PathElement::Field(field)});
  return set;
}

class FieldsCacheTest : public ::testing::Test {
 protected:
  Value Parsed(std::string_view text) {
    auto value = json::Parse(arena_, arena_.Copy(text));
    EXPECT_TRUE(value.ok()) << text;
    return value.ok() ? *value : Value();
  }

  // The result of the cache is that without it, also when it is found there; and so is its text.
  void ExpectSame(std::string_view kind, std::string_view text, bool with_sent = true) {
    const GroupVersion gv =
        kind == "Deployment" ? GroupVersion{"apps", "v1"} : GroupVersion{"", "v1"};
    const schema::Schema& schema =
        *catalog_->FindKind({gv.group, gv.version, std::string(kind)})->schema;
    const Value sent = Parsed(text);
    const auto empty = schema::Decode(arena_, schema, json::MakeObject(arena_, {}));
    const auto object = schema::Decode(arena_, schema, sent);
    ASSERT_TRUE(empty.ok() && object.ok()) << text;
    const Value given = with_sent ? sent : Value();
    const NotOwned not_owned{&reset_, &stripped_};
    EXPECT_EQ(json::ToString(cache_.EmptyOf(schema)), json::ToString(*empty)) << kind;
    const auto direct = FieldsOfNew(arena_, schema, *empty, *object, given, not_owned);
    for (int i = 0; i < 3; ++i) {
      const auto cached = cache_.FieldsOfNew(arena_, schema, *empty, *object, given, not_owned);
      ASSERT_EQ(cached.has_value(), direct.has_value()) << text;
      if (!direct) continue;
      EXPECT_EQ(*cached, *direct) << text;
      EXPECT_EQ(json::ToString(*cached), json::ToString(*direct)) << text;
      EXPECT_EQ(json::ToString(*cached, {.splice_source = false}), json::ToString(*direct)) << text;
    }
  }

  json::Arena arena_;
  std::shared_ptr<const catalog::Catalog> catalog_ = *catalog::Catalog::BuiltIn({});
  FieldsCache cache_;
  const FieldSet reset_ = Reset("status");
  const FieldSet stripped_ = Reset("kind");
};

TEST_F(FieldsCacheTest, TellsObjectsOfOneShapeFromThoseOfAnother) {
  const std::vector<std::string_view> metadata = {
      R"({"name":"a"})",
      R"({"name":"b","labels":{"x":"y"}})",
      R"({"name":"b","labels":{"y":"x"}})",
      R"({"name":"b","labels":{}})",
      R"({"name":"b","labels":null,"finalizers":["a/b","c/d"]})",
      R"({"name":"b","finalizers":["a/b"]})",
      R"({"name":"b","finalizers":["a/b","a/b"]})",
      R"({"generateName":"b","creationTimestamp":"2026-01-01T00:00:00Z"})",
      R"({"ownerReferences":[{"uid":"1","name":"x"},{"uid":"2"}]})",
      R"({"ownerReferences":[{"uid":"1","name":"y"},{"uid":"1"}]})",
      R"({"ownerReferences":[{"uid":"3"}]})",
  };
  const std::vector<std::string_view> pods = {
      R"({"containers":[{"name":"a"}]})",
      R"({"containers":[{"name":"b","image":"x"}]})",
      R"({"containers":[{"name":"b","image":"y"}]})",
      R"({"containers":[{"name":"a\"<","env":[{"name":"E","value":"1"}]}]})",
      R"({"containers":[{"name":"a\"<","env":[{"name":"F","value":"1"}]}]})",
      R"({"containers":[{"name":"a","ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}]}]})",
      R"({"containers":[{"name":"a","ports":[{"containerPort":81},{"containerPort":80,"protocol":"TCP"}]}]})",
      R"({"containers":[{"name":"a","ports":[{"containerPort":80},{"containerPort":80}]}]})",
      R"({"containers":[{"name":"a","args":["x","y"],"resources":{"limits":{"cpu":1}}}]})",
      R"({"containers":[{"name":"a","args":["x"],"resources":{"limits":{"memory":"1Gi"}}}]})",
      R"({"containers":[{"image":"nameless"}],"nodeSelector":{"a":"b"}})",
      R"({"containers":[],"volumes":[{"name":"v","emptyDir":{}}]})",
      R"({"containers":null,"securityContext":{},"tolerations":[{"key":"a"}]})",
      R"({})",
  };
  for (int round = 0; round < 2; ++round) {
    for (const std::string_view meta : metadata) {
      for (const std::string_view pod : pods) {
        const std::string text = base::StrCat(R"({"metadata":)", meta, R"(,"spec":)", pod);
        ExpectSame("Pod", text + "}");
        ExpectSame("Pod", text + R"(,"status":{"phase":"Running"}})");
      }
    }
  }
}

TEST_F(FieldsCacheTest, LooksAtWhatEmptyObjectsHaveToo) {
  for (const std::string_view spec :
       {R"({})", R"({"selector":{}})", R"({"selector":{"matchLabels":{"a":"b"}}})",
        R"({"selector":{"matchLabels":{}},"template":{"metadata":{"labels":{"a":"b"}}}})",
        R"({"template":{"metadata":{"creationTimestamp":null},"spec":{"containers":[]}}})",
        R"({"strategy":{},"replicas":1})", R"({"replicas":2,"strategy":{"type":"Recreate"}})"}) {
    for (const bool with_sent : {true, false}) {
      ExpectSame("Deployment", base::StrCat(R"({"spec":)", spec, "}"), with_sent);
      ExpectSame("Deployment", base::StrCat(R"({"spec":)", spec, R"(,"status":{}})"), with_sent);
    }
  }
  for (const std::string_view status :
       {R"({})", R"({"loadBalancer":{}})", R"({"loadBalancer":{"ingress":[]}})",
        R"({"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}})"}) {
    ExpectSame("Service",
               base::StrCat(R"({"spec":{"ports":[{"port":80}]},"status":)", status, "}"));
    ExpectSame("Service",
               base::StrCat(R"({"spec":{"ports":[{"port":81}]},"status":)", status, "}"));
  }
  for (const std::string_view data : {R"({})", R"({"a":"b"})", R"({"a":"c"})", R"({"b":"c"})"}) {
    ExpectSame("ConfigMap", base::StrCat(R"({"data":)", data, "}"));
    ExpectSame("ConfigMap", base::StrCat(R"({"immutable":true,"data":)", data, "}"));
  }
}

TEST_F(FieldsCacheTest, KnowsSetsThatAreWrittenAsTheyWereRead) {
  const schema::Schema& schema = *catalog_->FindKind({"", "v1", "Pod"})->schema;
  const auto known = [&](std::string_view text) { return cache_.SetOf(schema, Parsed(text)); };
  constexpr std::string_view kFields =
      R"({"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{}}}}})";
  EXPECT_EQ(known(kFields), nullptr);
  const auto set = known(kFields);
  ASSERT_NE(set, nullptr);
  EXPECT_EQ(*set, *FieldSet::FromJson(Parsed(kFields)));
  EXPECT_EQ(known(kFields), set);
  const schema::Schema& other = *catalog_->FindKind({"", "v1", "Service"})->schema;
  EXPECT_EQ(cache_.SetOf(other, Parsed(kFields)), nullptr);

  for (const std::string_view text : {
           R"({"f:spec":{},"f:metadata":{}})",                           // in another order
           R"({"f:metadata":{"f:labels":{"f:a":{},".":{}}}})",           // likewise
           R"({"f:spec":{"f:nodeSelector":{"f:a":{}}}})",                // in what is atomic
           R"({"f:spec":{"f:containers":{"k:{\"name\": \"a\"}":{}}}})",  // with white space
           R"({"f:spec":null})",
           R"({"spec":{}})",
       }) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(known(text), nullptr) << text;
  }
}

TEST_F(FieldsCacheTest, ChangesNothingAboutWhoOwnsWhat) {
  const schema::Schema& schema = *catalog_->FindKind({"", "v1", "Pod"})->schema;
  const auto pod = [&](std::string_view labels, std::string_view managers) {
    return Parsed(base::StrCat(
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","uid":"1","labels":)", labels,
        R"(,"managedFields":[)", managers, R"(]},"spec":{"nodeName":"n"}})"));
  };
  const auto entry = [](std::string_view manager, std::string_view version,
                        std::string_view fields) {
    return base::StrCat(R"({"manager":")", manager, R"(","operation":"Update","apiVersion":")",
                        version, R"(","fieldsType":"FieldsV1","fieldsV1":)", fields, "}");
  };
  constexpr std::string_view kAll =
      R"({"f:metadata":{"f:labels":{".":{},"f:a":{},"f:b":{}}},"f:spec":{"f:nodeName":{}}})";
  for (const std::string& managers :
       {entry("me", "v1", kAll), entry("other", "v1", kAll),
        base::StrCat(entry("me", "v1", R"({"f:metadata":{"f:labels":{"f:a":{}}}})"), ",",
                     entry("other", "v1", kAll)),
        base::StrCat(entry("me", "v1", R"({"f:metadata":{"f:labels":{"f:b":{}}}})"), ",",
                     entry("other", "v2", kAll))}) {
    for (const std::string_view labels :
         {R"({"a":"1","b":"1"})", R"({"a":"2","b":"1"})", R"({"a":"2"})", R"({"b":"1"})",
          R"({"a":"1","b":"1","c":"1"})", R"({"a":"2","b":"2","c":"1"})", R"({})"}) {
      const Value live = pod(R"({"a":"1","b":"1"})", managers);
      const Value next = pod(labels, managers);
      Writer writer{.manager = "me", .api_version = "v1", .subresource = "", .now = "now"};
      const std::string direct = json::ToString(Track(arena_, schema, live, next, writer));
      const auto applied =
          Apply(arena_, schema, live, Parsed(R"({"metadata":{"labels":{"a":"1"}}})"), writer,
                Force::kYes);
      writer.cache = &cache_;
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(json::ToString(Track(arena_, schema, live, next, writer)), direct) << managers;
        const auto again =
            Apply(arena_, schema, live, Parsed(R"({"metadata":{"labels":{"a":"1"}}})"), writer,
                  Force::kYes);
        ASSERT_EQ(again.ok(), applied.ok());
        EXPECT_EQ(json::ToString(*again), json::ToString(*applied)) << managers;
      }
    }
  }
}

}  // namespace
}  // namespace portcullis::api::patch
