// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "api/patch/field_set.h"
#include "api/patch/managed_fields.h"
#include "api/patch/strategic_merge.h"
#include "api/patch/typed.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::patch {
namespace {

using json::Value;
using schema::Field;
using schema::Kind;
using schema::Schema;

// A kind with what matters to patches: {metadata{name,labels,annotations}, data{*}, spec{replicas,
// args(atomic), finalizers(set), containers(by name){name,image,ports(by port,protocol)}}}.
class PatchTest : public ::testing::Test {
 protected:
  PatchTest() {
    const Schema* text = pool_.Leaf(Kind::kString, "string", "");
    const Schema* number = pool_.Leaf(Kind::kInteger, "int32", "int32");
    const Schema* texts = Map(text);
    Field protocol = Of("protocol", text);
    protocol.details = pool_.AddDetails({.default_value = Value::StringView("TCP")});
    Schema* port = Struct({Of("port", number), protocol, Of("name", text)});
    Schema* ports = List(port, schema::ListType::kMap, {"port", "protocol"});
    Field ports_field = Of("ports", ports);
    ports_field.patch_merge = true;
    ports_field.details = pool_.AddDetails({.patch_merge_key = "port"});
    Schema* container = Struct({Of("name", text), Of("image", text), ports_field});
    Field containers = Of("containers", List(container, schema::ListType::kMap, {"name"}));
    containers.patch_merge = true;
    containers.details = pool_.AddDetails({.patch_merge_key = "name"});
    Field finalizers = Of("finalizers", List(text, schema::ListType::kSet, {}));
    finalizers.patch_merge = true;
    Schema* spec =
        Struct({Of("replicas", number), Of("args", List(text, schema::ListType::kAtomic, {})),
                finalizers, containers});
    Schema* metadata = Struct({Of("name", text), Of("labels", texts), Of("annotations", texts),
                               Of("managedFields", pool_.Leaf(Kind::kAny, "", ""))});
    root_ = Struct({Of("apiVersion", text), Of("kind", text), Of("metadata", metadata),
                    Of("data", texts), Of("spec", spec)});
  }

  static Field Of(std::string_view name, const Schema* type) {
    Field field;
    field.name = name;
    field.schema = type;
    return field;
  }
  Schema* Struct(std::vector<Field> fields) {
    Schema* out = pool_.Add();
    out->kind = Kind::kStruct;
    out->fields = std::move(fields);
    schema::SchemaPool::Finish(*out);
    return out;
  }
  Schema* Map(const Schema* element) {
    Schema* out = pool_.Add();
    out->kind = Kind::kMap;
    out->element = element;
    return out;
  }
  Schema* List(const Schema* element, schema::ListType type, std::vector<std::string_view> keys) {
    Schema* out = pool_.Add();
    out->kind = Kind::kArray;
    out->element = element;
    out->list_type = type;
    out->list_map_keys = std::move(keys);
    return out;
  }

  Value J(std::string_view text) {
    auto value = json::Parse(arena_, text);
    EXPECT_TRUE(value.ok()) << text << ": " << value.status().message();
    return value.ok() ? *value : Value();
  }
  std::string Strategic(std::string_view object, std::string_view patch) {
    const auto result = StrategicMerge(arena_, *root_, J(object), J(patch));
    return result.ok() ? json::ToString(result->object, {.sort_keys = true})
                       : "error: " + result.status().message();
  }
  Writer By(std::string_view manager) {
    return {
        .manager = manager, .api_version = "v1", .subresource = "", .now = "T1", .noted = &noted_};
  }
  Value Applied(Value live, std::string_view config, std::string_view manager,
                Force force = Force::kNo) {
    const Writer writer = By(manager);
    auto result = Apply(arena_, *root_, live, J(config), writer, force);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *result : Value();
  }
  Value Updated(Value live, std::string_view next, std::string_view manager) {
    const Writer writer = By(manager);
    Value object = J(next);
    if (live.is_object()) {
      object = json::SetPath(arena_, object, {"metadata", "managedFields"},
                             live["metadata"]["managedFields"]);
    }
    return Track(arena_, *root_, live, object, writer);
  }
  static std::string Text(Value value) { return json::ToString(value, {.sort_keys = true}); }

  json::Arena arena_;
  bool noted_ = false;
  schema::SchemaPool pool_;
  Schema* root_ = nullptr;
};

TEST_F(PatchTest, StrategicMergeFollowsDirectivesAndKeys) {
  struct Case {
    std::string_view name, object, patch, expected;
  };
  const Case cases[] = {
      {"members are merged", R"({"data":{"a":"1"}})", R"({"data":{"b":"2"}})",
       R"({"data":{"a":"1","b":"2"}})"},
      {"null removes", R"({"data":{"a":"1","b":"2"}})", R"({"data":{"a":null}})",
       R"({"data":{"b":"2"}})"},
      {"null in something new is dropped", R"({})", R"({"data":{"a":null,"b":"2"}})",
       R"({"data":{"b":"2"}})"},
      {"replace", R"({"data":{"a":"1"}})", R"({"data":{"$patch":"replace","z":"1"}})",
       R"({"data":{"z":"1"}})"},
      {"delete", R"({"data":{"a":"1"}})", R"({"data":{"$patch":"delete"}})", R"({"data":{}})"},
      {"unknown directive", R"({"data":{"a":"1"}})", R"({"data":{"$patch":"explode"}})",
       "error: unknown patch type: explode in map: map[$patch:explode]"},
      {"elements are matched by key, the patch's first",
       R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"c"},{"name":"a","image":"2"}]}})",
       R"({"spec":{"containers":[{"name":"c"},{"image":"2","name":"a"},{"name":"b"}]}})"},
      {"an element is deleted", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"$patch":"delete","name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"b"}]}})"},
      {"an element without key", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"image":"x"}]}})",
       "error: map: map[image:x] does not contain declared merge key: name"},
      {"atomic lists are replaced", R"({"spec":{"args":["a","b"]}})", R"({"spec":{"args":["c"]}})",
       R"({"spec":{"args":["c"]}})"},
      {"sets are joined", R"({"spec":{"finalizers":["a","b"]}})",
       R"({"spec":{"finalizers":["c","b"]}})", R"({"spec":{"finalizers":["c","a","b"]}})"},
      {"scalars leave a set", R"({"spec":{"finalizers":["a","b"]}})",
       R"({"spec":{"$deleteFromPrimitiveList/finalizers":["a"]}})",
       R"({"spec":{"finalizers":["b"]}})"},
      {"the wanted order", R"({"spec":{"containers":[{"name":"a"},{"name":"x"},{"name":"b"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],)"
       R"("containers":[{"name":"b","image":"2"}]}})",
       R"({"spec":{"containers":[{"name":"x"},{"image":"2","name":"b"},{"name":"a"}]}})"},
      {"empty texts in an error", R"({"spec":{"finalizers":[]}})",
       R"({"spec":{"$setElementOrder/finalizers":["x"],"finalizers":["","a",""]}})",
       "error: The order in patch list:\n[ a ]\n doesn't match $setElementOrder list:\n[x]\n"},
      {"an order that leaves elements out", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"b"}]}})",
       "error: The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n"
       "[map[name:a]]\n"},
      {"deletions need no place in the order",
       R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],)"
       R"("containers":[{"$patch":"delete","name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"a"}]}})"},
      {"what is new takes the place of what is deleted",
       R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"x"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"d"}],"containers":[{"name":"c"},)"
       R"({"name":"d"},{"$patch":"delete","name":"a"},{"$patch":"delete","name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"x"},{"name":"c"},{"name":"d"}]}})"},
      {"keys to retain", R"({"spec":{"replicas":1,"args":["a"]}})",
       R"({"spec":{"$retainKeys":["replicas"],"replicas":2}})", R"({"spec":{"replicas":2}})"},
      {"keys to retain that leave some out", R"({"spec":{"replicas":1}})",
       R"({"spec":{"$retainKeys":["args"],"replicas":2}})",
       "error: invalid patch format of retainKeys"},
      {"an order that is no list", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"$setElementOrder/containers":"x"}})",
       "error: expected a []interface {}, but received a string"},
      {"deletions that are no list", R"({"spec":{"finalizers":["a"]}})",
       R"({"spec":{"$deleteFromPrimitiveList/finalizers":"a"}})",
       R"({"spec":{"finalizers":["a"]}})"},
      {"elements of several types", R"({"spec":{"finalizers":["a"]}})",
       R"({"spec":{"finalizers":[1]}})", "error: list element types are not identical: [[a] [1]]"},
      {"lists of lists", R"({"spec":{"finalizers":[]}})", R"({"spec":{"finalizers":[["a"]]}})",
       "error: the server rejected our request due to an error in our request"},
  };
  for (const Case& c : cases) EXPECT_EQ(Strategic(c.object, c.patch), c.expected) << c.name;
}

TEST(PathElement, IsOrderedAsItsValueIs) {
  const auto key = [](std::string text) {
    return PathElement{PathElement::Kind::kKey, std::move(text)};
  };
  EXPECT_LT(key(R"({"port":80,"protocol":"TCP"})"), key(R"({"port":443,"protocol":"TCP"})"));
  EXPECT_LT(key(R"({"port":80,"protocol":"TCP"})"), key(R"({"port":80,"protocol":"UDP"})"));
  EXPECT_LT(key(R"({"name":"x:443"})"), key(R"({"name":"x:80"})"));
  EXPECT_LT(key(R"({"port":-1})"), key(R"({"port":0})"));
  EXPECT_LT(key(R"({"name":"a"})"), key(R"({"name":"a b"})"));
  EXPECT_LT(key(R"({"name":"a\\"})"), key(R"({"name":"a\\!"})"));
  EXPECT_LT((PathElement{PathElement::Kind::kValue, R"("a")"}),
            (PathElement{PathElement::Kind::kValue, R"("a!")"}));
  EXPECT_LT((PathElement{PathElement::Kind::kValue, "9"}),
            (PathElement{PathElement::Kind::kValue, "10"}));
  EXPECT_LT(PathElement::Field("10"), PathElement::Field("9"));
}

TEST_F(PatchTest, AnUpdaterOwnsWhatItChanged) {
  const Value object =
      Updated({}, R"({"metadata":{"name":"a","labels":{"x":"1"}},"data":{"k":"v"}})", "curl");

  EXPECT_EQ(Text(object["metadata"]["managedFields"]),
            R"([{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:k":{}},)"
            R"("f:metadata":{"f:labels":{".":{},"f:x":{}}}},"manager":"curl",)"
            R"("operation":"Update","time":"T1"}])");
}

// Written at once, they are what the comparison of a new object with the empty one tells.
TEST_F(PatchTest, FieldsOfANewObjectAreWhatComparingItTells) {
  const std::string_view empty_ones[] = {
      R"({})", R"({"kind":"","spec":{"args":null,"containers":null},"data":{}})",
      R"({"metadata":{"labels":{}},"spec":{"finalizers":[],"replicas":0}})", R"({"spec":null})"};
  const std::string_view objects[] = {
      R"({"kind":"K","metadata":{"name":"a","labels":{"b":"1","a":"2"}},"data":{"k":"v"}})",
      R"({"spec":{"replicas":3,"args":["x"],"finalizers":["b","a","a"],"containers":[]}})",
      R"({"spec":{"containers":[{"name":"z"},{"name":"a","ports":[{"port":443},{"port":80}]}]}})",
      R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"a","image":"2"}]}})",
      R"({"metadata":{"labels":{}},"data":null,"spec":{}})",
      R"({"metadata":{"labels":{"a":""},"name":"n"},"spec":{"replicas":0,"args":[]}})"};
  FieldSet reset;
  reset.Insert(FieldPathSteps{PathElement::Field("spec"), PathElement::Field("args")});
  reset.Insert(PathElement::Field("data"));
  FieldSet stripped;
  stripped.Insert(PathElement::Field("kind"));
  stripped.Insert(PathElement::Field("metadata"));
  stripped.Insert(FieldPathSteps{PathElement::Field("metadata"), PathElement::Field("name")});
  const FieldSet* const resets[] = {nullptr, &reset};
  for (const std::string_view empty : empty_ones) {
    for (const std::string_view object : objects) {
      for (const FieldSet* pruned : resets) {
        const Comparison all = Compare(root_, J(empty), J(object));
        FieldSet expected = all.added.Union(all.modified);
        if (pruned != nullptr) expected.Prune(*pruned);
        expected.Subtract(stripped);

        const auto fields =
            FieldsOfNew(arena_, *root_, J(empty), J(object), {}, {pruned, &stripped});

        ASSERT_TRUE(fields) << empty << object;
        EXPECT_EQ(json::ToString(*fields), json::ToString(expected.ToJson(arena_)))
            << empty << object;
      }
    }
  }
}

TEST_F(PatchTest, FieldsOfANewObjectThatHasNamelessElementsAreNotTold) {
  const std::string_view object = R"({"spec":{"containers":[{"image":"i"}]}})";

  EXPECT_TRUE(Compare(root_, J("{}"), J(object)).nameless);
  EXPECT_FALSE(FieldsOfNew(arena_, *root_, J("{}"), J(object), {}, {}));
}

TEST_F(PatchTest, AnotherUpdaterTakesOverWhatItChanges) {
  const Value first = Updated({}, R"({"data":{"k":"v","l":"w"}})", "one");
  const Value second = Updated(first, R"({"data":{"k":"new"}})", "two");

  EXPECT_EQ(Text(second["metadata"]["managedFields"]),
            R"([{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}},)"
            R"("manager":"one","operation":"Update","time":"T1"},{"apiVersion":"v1",)"
            R"("fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k":{}}},"manager":"two",)"
            R"("operation":"Update","time":"T1"}])");
}

TEST_F(PatchTest, AnApplierOwnsExactlyWhatItSends) {
  const Value object = Applied({}, R"({"spec":{"containers":[{"name":"c","image":"i"}]}})", "me");

  EXPECT_EQ(
      Text(object["metadata"]["managedFields"][0]["fieldsV1"]),
      R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{}}}}})");
}

TEST_F(PatchTest, KeysTakeTheirDefaults) {
  const Value object =
      Applied({}, R"({"spec":{"containers":[{"name":"c","ports":[{"port":80}]}]}})", "me");

  EXPECT_NE(Text(object).find(R"(k:{\"port\":80,\"protocol\":\"TCP\"})"), std::string::npos)
      << Text(object);
}

TEST_F(PatchTest, WhatAnApplierNoLongerSendsGoes) {
  Value object = Applied({}, R"({"data":{"a":"1","b":"2"}})", "me");
  object = Applied(object, R"({"data":{"a":"1"}})", "me");

  EXPECT_EQ(Text(object["data"]), R"({"a":"1"})");
}

TEST_F(PatchTest, WhatAnotherApplierSendsStays) {
  Value object = Applied({}, R"({"data":{"a":"1","b":"2"}})", "me");
  object = Applied(object, R"({"data":{"b":"2"}})", "other");
  object = Applied(object, R"({"data":{"a":"1"}})", "me");

  EXPECT_EQ(Text(object["data"]), R"({"a":"1","b":"2"})");
}

TEST_F(PatchTest, ElementsOfOthersKeepTheirPlace) {
  Value object = Applied({}, R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})", "me");
  object = Applied(object, R"({"spec":{"containers":[{"name":"side"}]}})", "other");
  object = Applied(object, R"({"spec":{"containers":[{"name":"b"},{"name":"c"}]}})", "me");

  EXPECT_EQ(Text(object["spec"]["containers"]), R"([{"name":"b"},{"name":"side"},{"name":"c"}])");
}

TEST_F(PatchTest, AConflictNamesManagerAndField) {
  const Value object = Applied({}, R"({"spec":{"containers":[{"name":"c","image":"1"}]}})", "one");
  const Writer writer{.manager = "two", .api_version = "v1", .subresource = "", .now = "T2"};
  const std::string_view config = R"({"spec":{"containers":[{"name":"c","image":"2"}]}})";

  const auto refused = Apply(arena_, *root_, object, J(config), writer, Force::kNo);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(),
            "Apply failed with 1 conflict: conflict with \"one\": "
            ".spec.containers[name=\"c\"].image");
  EXPECT_EQ(refused.status().http_code(), 409);

  const Value forced = Applied(object, config, "two", Force::kYes);
  EXPECT_EQ(forced["spec"]["containers"][0]["image"].AsString(), "2");
}

TEST_F(PatchTest, ApplyingTheSameAgainChangesNothing) {
  const Value object = Applied({}, R"({"data":{"a":"1"}})", "me");
  const Writer later{.manager = "me", .api_version = "v1", .subresource = "", .now = "T2"};

  const auto again = Apply(arena_, *root_, object, J(R"({"data":{"a":"1"}})"), later, Force::kNo);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(Text(*again), Text(object));
}

// Also if its entry has had that time before: its second is not over.
TEST_F(PatchTest, AWriteThatChangesAnOwnedValueNotesItsTime) {
  const Value object = Updated({}, R"({"data":{"a":"1","b":"1"}})", "me");
  EXPECT_TRUE(noted_);
  const Value changed = Updated(object, R"({"data":{"a":"2","b":"1"}})", "me");
  EXPECT_TRUE(noted_);
  EXPECT_EQ(Text(changed["metadata"]), Text(object["metadata"]));
  Updated(changed, R"({"data":{"a":"2","b":"1"}})", "me");
  EXPECT_FALSE(noted_);
  Updated(changed, R"({"data":{"a":"2"}})", "other");
  EXPECT_FALSE(noted_);
}

TEST_F(PatchTest, AnApplyThatChangesAValueNotesItsTime) {
  const Value object = Applied({}, R"({"data":{"a":"1"}})", "me");
  EXPECT_TRUE(noted_);
  Applied(object, R"({"data":{"a":"1"}})", "me");
  EXPECT_FALSE(noted_);
  Applied(object, R"({"data":{"a":"2"}})", "me");
  EXPECT_TRUE(noted_);
}

TEST_F(PatchTest, AConfigurationMustFitTheSchema) {
  const Writer writer{.manager = "me", .api_version = "v1", .subresource = "", .now = "T1"};
  const auto error = [&](std::string_view config) {
    const auto result = Apply(arena_, *root_, {}, J(config), writer, Force::kNo);
    return result.ok() ? "" : result.status().message();
  };
  EXPECT_EQ(error(R"({"apiVersion":"v1","kind":"K","metadata":{"name":"d"},"speck":{}})"),
            "failed to create typed patch object (/d; /v1, Kind=K): .speck: field not declared in "
            "schema");
  // Of the unknown fields of one map the first by name is told.
  EXPECT_EQ(error(R"({"apiVersion":"v1","kind":"K","metadata":{"name":"d"},"b":{},"a":{}})"),
            "failed to create typed patch object (/d; /v1, Kind=K): .a: field not declared in "
            "schema");
  EXPECT_EQ(error(R"({"apiVersion":"g/v1","kind":"K","spec":{"replicas":"x"}})"),
            "failed to create typed patch object (/; g/v1, Kind=K): .spec.replicas: expected "
            "numeric (int or float), got string");
}

TEST_F(PatchTest, FieldSetsShrinkInPlaceAsTheirDifference) {
  const FieldSet all =
      *FieldSet::FromJson(J(R"({"f:a":{".":{},"f:x":{},"f:y":{}},"f:b":{"f:z":{}},"f:c":{}})"));
  const FieldSet part = *FieldSet::FromJson(J(R"({"f:a":{"f:x":{}},"f:b":{"f:z":{}},"f:d":{}})"));
  FieldSet rest = all;
  rest.Subtract(part);
  EXPECT_EQ(rest, all.Difference(part));
  EXPECT_EQ(json::ToString(rest.ToJson(arena_)), R"({"f:a":{".":{},"f:y":{}},"f:c":{}})");

  FieldSet pruned = all;
  pruned.Prune(*FieldSet::FromJson(J(R"({"f:a":{},"f:b":{"f:z":{}}})")));
  EXPECT_EQ(json::ToString(pruned.ToJson(arena_)), R"({"f:c":{}})");
}

TEST_F(PatchTest, FieldSetsAreWithinThoseThatHaveAllTheirPaths) {
  const auto set = [&](std::string_view text) { return *FieldSet::FromJson(J(text)); };
  const FieldSet all =
      set(R"({"f:a":{".":{},"f:x":{},"f:y":{}},"f:b":{"k:{\"n\":1}":{"f:z":{}}}})");
  for (const std::string_view part : {R"({})", R"({"f:a":{}})", R"({"f:a":{"f:y":{}}})",
                                      R"({"f:b":{"k:{\"n\":1}":{"f:z":{}}}})"}) {
    EXPECT_TRUE(set(part).IsWithin(all)) << part;
    EXPECT_EQ(set(part).Difference(all), FieldSet()) << part;
  }
  EXPECT_TRUE(all.IsWithin(all));
  for (const std::string_view other : {R"({"f:c":{}})", R"({"f:b":{}})", R"({"f:a":{"f:z":{}}})",
                                       R"({"f:b":{"k:{\"n\":1}":{".":{},"f:z":{}}}})"}) {
    EXPECT_FALSE(set(other).IsWithin(all)) << other;
  }
}

// Keys that are written as the server writes them are taken as they are.
TEST_F(PatchTest, FieldSetsReadKeysInAnyForm) {
  const auto keys = [&](std::string_view fields) {
    const auto set = FieldSet::FromJson(J(fields));
    return set.ok() ? json::ToString(set->ToJson(arena_)) : set.status().message();
  };
  for (const std::string_view canonical : {R"({"k:{\"a\":\"x\",\"b\":80}":{}})",
                                           R"({"v:\"x\"":{},"v:\"y\"":{}})", R"({"v:true":{}})"}) {
    EXPECT_EQ(keys(canonical), canonical);
  }
  EXPECT_EQ(keys(R"({"v:80":{},"v:8":{}})"), R"({"v:8":{},"v:80":{}})");
  EXPECT_EQ(keys(R"({"k:{\"b\": 80, \"a\":\"x\"}":{}})"), R"({"k:{\"a\":\"x\",\"b\":80}":{}})");
  EXPECT_EQ(keys(R"({"k:{\"b\":80,\"a\":\"x\"}":{}})"), R"({"k:{\"a\":\"x\",\"b\":80}":{}})");
  EXPECT_EQ(keys(R"({"k:{\"a\":1,\"a\":2}":{}})"), R"({"k:{\"a\":2}":{}})");
  EXPECT_EQ(keys(R"({"k:{\"a\":\"\\u0041<\"}":{}})"), R"({"k:{\"a\":\"A\\u003c\"}":{}})");
  EXPECT_EQ(keys(R"({"v: 1":{}})"), R"({"v:1":{}})");
  EXPECT_EQ(keys(R"({"v:\"b\"":{},"v:\"a\"":{}})"), R"({"v:\"a\"":{},"v:\"b\"":{}})");
  EXPECT_FALSE(FieldSet::FromJson(J(R"({"k:1":{}})")).ok());
  EXPECT_FALSE(FieldSet::FromJson(J(R"({"v:01":{}})")).ok());
  EXPECT_FALSE(FieldSet::FromJson(J(R"({"k:{\"a\":1}x":{}})")).ok());
  EXPECT_FALSE(FieldSet::FromJson(J(R"({"k:{\"a\":1":{}})")).ok());
}

TEST_F(PatchTest, FieldSetsReadWhatTheyWrite) {
  const Value fields =
      J(R"({"f:a":{".":{},"f:b":{}},"f:l":{"k:{\"name\":\"x\"}":{".":{}},"v:\"y\"":{},"i:3":{}}})");
  const auto set = FieldSet::FromJson(fields);
  ASSERT_TRUE(set.ok());
  EXPECT_EQ(Text(set->ToJson(arena_)),
            R"({"f:a":{".":{},"f:b":{}},"f:l":{"i:3":{},"k:{\"name\":\"x\"}":{},"v:\"y\"":{}}})");
  EXPECT_FALSE(FieldSet::FromJson(J(R"({"zzz":{}})")).ok());
}

TEST_F(PatchTest, TheManagerIsTheFirstWordOfTheUserAgent) {
  EXPECT_EQ(ManagerFromUserAgent("kubectl/v1.32.4 (linux/amd64)"), "kubectl");
  EXPECT_EQ(ManagerFromUserAgent(""), "unknown");
  EXPECT_EQ(ManagerFromUserAgent("a\tb\x01/c"), "ab");
  EXPECT_EQ(ManagerFromUserAgent("\xff"), "\xEF\xBF\xBD");
  // The first character that has no room ends it, though a shorter one would fit.
  const std::string almost(127, 'a');
  EXPECT_EQ(ManagerFromUserAgent(almost + "\xC3\xA9" + "b"), almost);
  EXPECT_EQ(ManagerFromUserAgent(almost + "bc"), almost + "b");
}

}  // namespace
}  // namespace portcullis::api::patch
