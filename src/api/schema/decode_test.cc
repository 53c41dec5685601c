// SPDX-License-Identifier: Apache-2.0

#include "api/schema/decode.h"

#include <gtest/gtest.h>

#include "api/catalog/catalog.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::schema {
namespace {

class DecodeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { catalog_ = new auto(catalog::Catalog::BuiltIn({}).value()); }
  static void TearDownTestSuite() { delete catalog_; }

  std::string Decode(const GroupVersionKind& kind, std::string_view text,
                     bool empty_becomes_null = false) {
    unknown_.clear();
    DecodeOptions options;
    options.unknown_fields = &unknown_;
    options.empty_becomes_null = empty_becomes_null;
    const auto input = json::Parse(arena_, text);
    if (!input.ok()) return input.status().message();
    const auto decoded = schema::Decode(arena_, *(*catalog_)->FindSchema(kind), *input, options);
    return decoded.ok() ? json::ToString(*decoded) : decoded.status().message();
  }

  static std::shared_ptr<const catalog::Catalog>* catalog_;
  json::Arena arena_;
  std::vector<std::string> unknown_;
};
std::shared_ptr<const catalog::Catalog>* DecodeTest::catalog_ = nullptr;

const GroupVersionKind kPod{"", "v1", "Pod"};
const GroupVersionKind kConfigMap{"", "v1", "ConfigMap"};

TEST_F(DecodeTest, WritesWhatGoWouldWrite) {
  EXPECT_EQ(Decode(kPod, R"({"spec":{"containers":[{"image":"i","name":"c","command":[],
      "resources":{"limits":{"cpu":"1000m","memory":1024}},"stdin":false}],"nodeName":"",
      "terminationGracePeriodSeconds":0},"metadata":{"creationTimestamp":null,"labels":{},
      "name":"p"},"kind":"Pod","apiVersion":"v1"})"),
            R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[)"
            R"({"name":"c","image":"i","resources":{"limits":{"cpu":"1","memory":"1024"}}}],)"
            R"("terminationGracePeriodSeconds":0},"status":{}})");
}

TEST_F(DecodeTest, AFieldWithoutOmitemptyIsAlwaysWritten) {
  const GroupVersionKind role{"rbac.authorization.k8s.io", "v1", "ClusterRole"};
  EXPECT_EQ(Decode(role, "{}"), R"({"metadata":{},"rules":null})");
  EXPECT_EQ(Decode(role, R"({"rules":[]})"), R"({"metadata":{},"rules":[]})");
  EXPECT_EQ(Decode(role, R"({"rules":[]})", true), R"({"metadata":{},"rules":null})");
}

TEST_F(DecodeTest, TellsWhatTheObjectMayHold) {
  const auto met = [&](const GroupVersionKind& kind, std::string_view text) {
    Decoded seen;
    DecodeOptions options;
    options.met = &seen;
    const auto decoded =
        schema::Decode(arena_, *(*catalog_)->FindSchema(kind), *json::Parse(arena_, text), options);
    return std::pair(decoded.ok() && seen.empty_lists, seen.any);
  };
  EXPECT_EQ(met(kPod, R"({"spec":{"containers":[{"name":"c"}]}})"), std::pair(false, false));
  EXPECT_EQ(met(kPod, R"({"spec":{"containers":[]}})"), std::pair(true, false));
  const GroupVersionKind revision{"apps", "v1", "ControllerRevision"};
  EXPECT_EQ(met(revision, R"({"data":{"a":[]}})"), std::pair(false, true));
}

TEST_F(DecodeTest, NullElementsBecomeZeros) {
  EXPECT_EQ(Decode(kConfigMap, R"({"data":{"a":null}})"), R"({"metadata":{},"data":{"a":""}})");
}

TEST_F(DecodeTest, NamesUnknownFieldsWithTheirPaths) {
  Decode(kPod, R"({"foo":1,"spec":{"containers":[{"name":"c","Name":"d","env":[{"x":{"y":1}}]}]},
                   "metadata":{"labels":{"any":"x"},"bar":{}}})");
  EXPECT_EQ(unknown_, (std::vector<std::string>{"foo", "spec.containers[0].Name",
                                                "spec.containers[0].env[0].x", "metadata.bar"}));
  EXPECT_EQ(StrictDecodingError({"a"}, {"b"}),
            R"(strict decoding error: duplicate field "a", unknown field "b")");
}

TEST_F(DecodeTest, RefusesWithGosTexts) {
  EXPECT_EQ(Decode(kConfigMap, R"({"metadata":"x"})"),
            "json: cannot unmarshal string into Go struct field ConfigMap.metadata of type "
            "v1.ObjectMeta");
  EXPECT_EQ(Decode(kConfigMap, R"({"data":{"x":5}})"),
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string");
  EXPECT_EQ(Decode(kPod, R"({"spec":{"activeDeadlineSeconds":30.0}})"),
            "json: cannot unmarshal number 30.0 into Go struct field "
            "PodSpec.spec.activeDeadlineSeconds of type int64");
  EXPECT_EQ(Decode(kPod, R"({"spec":{"containers":{}}})"),
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type "
            "[]v1.Container");
  EXPECT_EQ(Decode(kPod, "[]"), "json: cannot unmarshal array into Go value of type v1.Pod");
  EXPECT_EQ(Decode({"", "v1", "Secret"}, R"({"data":{"x":"not base64!"}})"),
            "illegal base64 data at input byte 3");
  EXPECT_EQ(Decode(kPod, R"({"metadata":{"creationTimestamp":"x"}})"),
            R"(parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006")");
  EXPECT_EQ(Decode({"apps", "v1", "Deployment"}, R"({"spec":{"replicas":99999999999}})"),
            "json: cannot unmarshal number 99999999999 into Go struct field "
            "DeploymentSpec.spec.replicas of type int32");
}

TEST_F(DecodeTest, TheFirstErrorOfTheTextIsReported) {
  EXPECT_EQ(Decode(kPod, R"({"spec":{"hostNetwork":"x","nodeName":5}})"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type "
            "bool");
}

TEST_F(DecodeTest, TimesAreWrittenInUtc) {
  EXPECT_EQ(
      Decode(kConfigMap, R"({"metadata":{"creationTimestamp":"2024-01-01T02:00:00.5+02:00"}})"),
      R"({"metadata":{"creationTimestamp":"2024-01-01T00:00:00Z"}})");
}

TEST_F(DecodeTest, ACanonicalTextKeepsItsNodes) {
  const json::Value input =
      json::Parse(arena_, R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}})")
          .value();
  const auto decoded = schema::Decode(arena_, *(*catalog_)->FindSchema(kConfigMap), input);
  EXPECT_TRUE(decoded->IsSameAs(input));
}

TEST_F(DecodeTest, AFieldInPlaceOfAnUnknownOneIsWritten) {
  const json::Value input =
      json::Parse(arena_, R"({"kind":"ConfigMap","apiVersion":"v1","metadatum":{}})").value();
  const auto decoded = schema::Decode(arena_, *(*catalog_)->FindSchema(kConfigMap), input);
  EXPECT_TRUE(decoded->Has("metadata"));
  EXPECT_FALSE(decoded->Has("metadatum"));
}

TEST_F(DecodeTest, SchemasInsideDefinitionsMayBeBooleans) {
  const std::string text = Decode({"apiextensions.k8s.io", "v1", "CustomResourceDefinition"},
                                  R"({"spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":
      {"additionalProperties":true,"foo":1,"items":{"type":"string","bar":2},
       "default":{"x":1}}}}]}})");
  EXPECT_NE(text.find(R"("additionalProperties":true)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("default":{"x":1})"), std::string::npos) << text;
  // A schema that may be a list or a boolean decodes itself, and reports nothing.
  EXPECT_EQ(unknown_.size(), 1U);
}

// kube-apiserver keeps the JSON of a definition's schema as Go values (recorded).
TEST_F(DecodeTest, JsonOfDefinitionsIsSorted) {
  const GroupVersionKind kind{"apiextensions.k8s.io", "v1", "CustomResourceDefinition"};
  const auto input = json::Parse(arena_, R"({"spec":{"versions":[{"schema":{"openAPIV3Schema":
      {"default":{"z":1,"b":[{"y":1,"c":2}]},"enum":[{"z":1,"a":2},1],"example":{"z":1,"a":null}}
      }}]}})");
  const auto decoded = schema::Decode(arena_, *(*catalog_)->FindSchema(kind), *input);
  ASSERT_TRUE(decoded.ok());
  const json::Value props =
      (*decoded)["spec"]["versions"].elements()[0]["schema"]["openAPIV3Schema"];
  EXPECT_EQ(json::ToString(props["default"]), R"({"b":[{"c":2,"y":1}],"z":1})");
  EXPECT_EQ(json::ToString(props["enum"]), R"([{"a":2,"z":1},1])");
  EXPECT_EQ(json::ToString(props["example"]), R"({"a":null,"z":1})");
}

// Immutable ones are compared with what has been stored of them.
TEST_F(DecodeTest, RawExtensionsAreEqualToWhatIsReadBack) {
  const GroupVersionKind kind{"apps", "v1", "ControllerRevision"};
  const auto input = json::Parse(arena_, R"({"data":{"a":1.0,"b":[1e2,1.50]}})");
  const auto decoded = schema::Decode(arena_, *(*catalog_)->FindSchema(kind), *input);
  ASSERT_TRUE(decoded.ok());
  const std::string written = json::ToString((*decoded)["data"]);
  EXPECT_EQ(written, R"({"a":1,"b":[100,1.5]})");
  EXPECT_TRUE((*decoded)["data"] == *json::Parse(arena_, written));
}

// Those of a definition's schema are float64s, which are compared with what has been stored of them.
TEST_F(DecodeTest, FloatsAreEqualToWhatIsReadBack) {
  const GroupVersionKind kind{"apiextensions.k8s.io", "v1", "CustomResourceDefinition"};
  const auto maximum = [&](std::string_view number) {
    const std::string text = R"({"spec":{"versions":[{"schema":{"openAPIV3Schema":{"maximum":)" +
                             std::string(number) + "}}}]}}";
    const auto input = json::Parse(arena_, text);
    const auto decoded = schema::Decode(arena_, *(*catalog_)->FindSchema(kind), *input);
    return (*decoded)["spec"]["versions"].elements()[0]["schema"]["openAPIV3Schema"]["maximum"];
  };
  for (const auto& [given, stored] : {std::pair{"1.0", "1"},
                                      {"1e2", "100"},
                                      {"9007199254740992", "9007199254740992"},
                                      {"9007199254740993", "9007199254740992"},
                                      {"123456789012345678", "123456789012345680"},
                                      {"9223372036854775000", "9223372036854775000"},
                                      {"-9223372036854775807", "-9223372036854776000"},
                                      {"1e19", "10000000000000000000"},
                                      {"0.5", "0.5"}}) {
    EXPECT_EQ(json::ToString(maximum(given)), stored);
    EXPECT_TRUE(maximum(given) == *json::Parse(arena_, stored)) << given;
  }
}

TEST_F(DecodeTest, BytesMayBeAListOfNumbers) {
  const GroupVersionKind secret{"", "v1", "Secret"};
  EXPECT_EQ(Decode(secret, R"({"data":{"a":[1,null,255],"b":[]}})"),
            R"({"metadata":{},"data":{"a":"AQD/","b":""}})");
  const std::string wrong = "json: cannot unmarshal ";
  const std::string field = " into Go struct field Secret.data of type uint8";
  EXPECT_EQ(Decode(secret, R"({"data":{"a":[1,"x",true]}})"), wrong + "string" + field);
  EXPECT_EQ(Decode(secret, R"({"data":{"a":[256]}})"), wrong + "number 256" + field);
  EXPECT_EQ(Decode(secret, R"({"data":{"a":[-1]}})"), wrong + "number -1" + field);
  EXPECT_EQ(Decode(secret, R"({"data":{"a":[1.5]}})"), wrong + "number 1.5" + field);
  EXPECT_EQ(Decode(secret, R"({"data":{"a":[[1]]}})"), wrong + "array" + field);
}

}  // namespace
}  // namespace portcullis::api::schema
