// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/protobuf.h"

#include <gtest/gtest.h>

#include "api/catalog/catalog.h"
#include "api/schema/decode.h"
#include "base/strings.h"
#include "engine/codec/embedded_fields.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::engine {
namespace {

// Writes the wire form as far as the tests need it.
std::string Bytes(int number, std::string_view content) {
  std::string out;
  out += static_cast<char>(number << 3 | 2);
  out += static_cast<char>(content.size());
  return out.append(content);
}
std::string Number(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}
std::string EnvelopeOf(std::string_view version, std::string_view kind, std::string_view raw) {
  return std::string("k8s\0", 4) + Bytes(1, Bytes(1, version) + Bytes(2, kind)) + Bytes(2, raw);
}

// The object in a body, of the type that it names.
base::Result<json::Value> Read(json::Arena& arena, const std::string& body) {
  const ProtobufEnvelope envelope = TRY(ReadProtobufEnvelope(body));
  const auto version = TRY(api::ParseGroupVersion(envelope.api_version));
  const api::GroupVersionKind kind{version.group, version.version, std::string(envelope.kind)};
  return ReadProtobufObject(arena, kind, envelope.raw, nullptr);
}

std::string Json(const std::string& body) {
  json::Arena arena;
  const auto value = Read(arena, body);
  if (!value.ok()) return value.status().message();
  json::WriteOptions sorted;
  sorted.sort_keys = true;
  return json::ToString(*value, sorted);
}

TEST(Protobuf, ReadsAnObjectWithMaps) {
  const std::string raw = Bytes(1, Bytes(1, "a")) + Bytes(2, Bytes(1, "x") + Bytes(2, "1"));

  EXPECT_EQ(Json(EnvelopeOf("v1", "ConfigMap", raw)),
            R"({"apiVersion":"v1","data":{"x":"1"},"kind":"ConfigMap","metadata":{"name":"a"}})");
}

TEST(Protobuf, ReadsTimesOfAnyYear) {
  const auto timestamp = [](std::int64_t seconds, std::int32_t nanos) {
    std::string out;
    for (const auto& [tag, signed_value] : {std::pair('\x08', seconds), {'\x10', nanos}}) {
      out += tag;
      auto value = static_cast<std::uint64_t>(signed_value);
      for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
      out += static_cast<char>(value);
    }
    return out;
  };
  const auto renewed = [&](std::int64_t seconds, std::int32_t nanos) {
    const std::string spec = Bytes(4, timestamp(seconds, nanos));
    const std::string json = Json(EnvelopeOf("coordination.k8s.io/v1", "Lease", Bytes(2, spec)));
    const std::size_t at = json.find("Time\":");
    return at == std::string::npos ? "" : json.substr(at + 6, json.size() - at - 8);
  };
  EXPECT_EQ(renewed(-62135596798, 0), R"("0001-01-01T00:00:02.000000Z")");
  EXPECT_EQ(renewed(253402300799, 999999999), R"("9999-12-31T23:59:59.999999Z")");
  EXPECT_EQ(renewed(0, 1999), R"("1970-01-01T00:00:00.000001Z")");
  EXPECT_EQ(renewed(0, -1001), R"("1969-12-31T23:59:59.999999Z")");
  EXPECT_EQ(renewed(0, 2000001000), R"("1970-01-01T00:00:02.000001Z")");
  EXPECT_EQ(renewed(-62135596800, 0), "null");
  EXPECT_EQ(Json(EnvelopeOf("v1", "ConfigMap", Bytes(1, Bytes(8, timestamp(5, 1999999999))))),
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":)"
            R"({"creationTimestamp":"1970-01-01T00:00:05Z"}})");
}

// docs/legacy.md. The numbers are those of k8s.io/api of 1.8 and 1.22.
TEST(Protobuf, ReadsWhatKubernetesHasDropped) {
  const std::string rule = Bytes(1, "") + Bytes(2, "v1") + Bytes(3, "pods");
  const std::string pending = Bytes(1, Bytes(1, "x.y.z"));
  const std::string metadata =
      Bytes(1, "a") + "\x82\x01" + static_cast<char>(pending.size()) + pending;
  const std::string version = "admissionregistration.k8s.io/v1alpha1";
  const std::string initializers =
      EnvelopeOf(version, "InitializerConfiguration",
                 Bytes(1, metadata) + Bytes(2, Bytes(1, "a.b.c") + Bytes(2, rule)));
  EXPECT_EQ(
      Json(initializers),
      R"({"apiVersion":"admissionregistration.k8s.io/v1alpha1","initializers":[{"name":"a.b.c",)"
      R"("rules":[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]}],"kind":)"
      R"("InitializerConfiguration","metadata":{"initializers":{"pending":[{"name":"x.y.z"}]},)"
      R"("name":"a"}})");
  const std::string hook = Bytes(1, "a.b.c") +
                           Bytes(2, Bytes(1, Bytes(1, "ns") + Bytes(2, "svc")) + Bytes(2, "CA")) +
                           Bytes(3, Bytes(1, "CREATE") + Bytes(2, rule)) + Bytes(4, "Fail");
  EXPECT_EQ(
      Json(EnvelopeOf(version, "ExternalAdmissionHookConfiguration", Bytes(2, hook))),
      R"({"apiVersion":"admissionregistration.k8s.io/v1alpha1","externalAdmissionHooks":)"
      R"([{"clientConfig":{"caBundle":"Q0E=","service":{"name":"svc","namespace":"ns"}},)"
      R"("failurePolicy":"Fail","name":"a.b.c","rules":[{"apiGroups":[""],"apiVersions":["v1"],)"
      R"("operations":["CREATE"],"resources":["pods"]}]}],"kind":)"
      R"("ExternalAdmissionHookConfiguration"})");
  const std::string spec = Number(1, 1) + Bytes(10, Bytes(1, "RunAsAny")) +
                           Bytes(11, Bytes(1, "MustRunAs") + Bytes(2, Number(1, 7) + Number(2, 9)));
  EXPECT_EQ(
      Json(EnvelopeOf("policy/v1beta1", "PodSecurityPolicy", Bytes(2, spec))),
      R"({"apiVersion":"policy/v1beta1","kind":"PodSecurityPolicy","spec":{"privileged":true,)"
      R"("runAsUser":{"ranges":[{"max":9,"min":7}],"rule":"MustRunAs"},"seLinux":)"
      R"({"rule":"RunAsAny"}}})");
}

// What is read of them is written so that it is read again.
TEST(Protobuf, WritesWhatKubernetesHasDropped) {
  for (
      const char* text :
      {R"({"apiVersion":"admissionregistration.k8s.io/v1alpha1","initializers":[{"name":"a.b.c"}],)"
       R"("kind":"InitializerConfiguration","metadata":{"creationTimestamp":null,"initializers":{"pending":[{"name":"x.y.z"}]},)"
       R"("name":"a"}})",
       R"({"apiVersion":"settings.k8s.io/v1alpha1","kind":"PodPreset","metadata":{"creationTimestamp":null,"name":"a"},)"
       R"("spec":{"env":[{"name":"A","value":"b"}],"selector":{"matchLabels":{"a":"b"}}}})"}) {
    json::Arena arena;
    std::string body;
    ASSERT_TRUE(WriteProtobuf(*json::Parse(arena, text), body).ok()) << text;
    EXPECT_EQ(Json(body), text);
  }
}

TEST(Protobuf, ReadsNestedMessagesQuantitiesAndPorts) {
  const std::string resources = Bytes(2, Bytes(1, "cpu") + Bytes(2, Bytes(1, "100m")));
  const std::string container = Bytes(1, "c") + Bytes(8, resources);
  const std::string raw = Bytes(2, Bytes(2, container) + Number(4, 7));

  EXPECT_EQ(Json(EnvelopeOf("v1", "Pod", raw)),
            R"({"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"c","resources":)"
            R"({"requests":{"cpu":"100m"}}}],"terminationGracePeriodSeconds":7}})");
}

TEST(Protobuf, MembersOfInlineMessagesBelongToTheObjectAround) {
  const std::string volume = Bytes(1, "v") + Bytes(2, Bytes(2, ""));
  const std::string raw = Bytes(2, Bytes(1, volume));

  EXPECT_EQ(Json(EnvelopeOf("v1", "Pod", raw)),
            R"({"apiVersion":"v1","kind":"Pod","spec":{"volumes":[{"emptyDir":{},"name":"v"}]}})");
}

// A CustomResourceDefinition whose only version has this schema.
std::string Definition(std::string_view schema) {
  const std::string version = Bytes(1, "v1") + Bytes(4, Bytes(1, schema));
  return EnvelopeOf("apiextensions.k8s.io/v1", "CustomResourceDefinition",
                    Bytes(2, Bytes(7, version)));
}
std::string SchemaIn(const std::string& body) {
  json::Arena arena;
  const auto value = Read(arena, body);
  if (!value.ok()) return value.status().message();
  json::WriteOptions sorted;
  sorted.sort_keys = true;
  const json::Value version = (*value)["spec"]["versions"].elements()[0];
  return json::ToString(version["schema"]["openAPIV3Schema"], sorted);
}

TEST(Protobuf, MembersOfSchemasHaveTheirNamesInJson) {
  EXPECT_EQ(SchemaIn(Definition(Bytes(3, "r") + Bytes(5, "object") + Bytes(8, Bytes(1, "[1]")))),
            R"({"$ref":"r","default":[1],"type":"object"})");
  // Field 38 has a tag of two bytes.
  EXPECT_EQ(SchemaIn(Definition("\xb0\x02\x01")),
            R"({"x-kubernetes-preserve-unknown-fields":true})");
}

TEST(Protobuf, MembersThatAreASchemaOrSomethingElse) {
  const auto field = [](int number, std::string_view content) {
    std::string out = {static_cast<char>(((number << 3 | 2) & 127) | 128),
                       static_cast<char>(number >> 4), static_cast<char>(content.size())};
    return out.append(content);
  };
  const std::string text = Bytes(5, "string");
  EXPECT_EQ(SchemaIn(Definition(field(24, Bytes(1, text)))), R"({"items":{"type":"string"}})");
  EXPECT_EQ(SchemaIn(Definition(field(24, Bytes(2, text)))), R"({"items":[{"type":"string"}]})");
  EXPECT_EQ(SchemaIn(Definition(field(30, Number(1, 1)))), R"({"additionalProperties":true})");
  EXPECT_EQ(SchemaIn(Definition(field(30, ""))), R"({"additionalProperties":false})");
  EXPECT_EQ(SchemaIn(Definition(field(30, Number(1, 1) + Bytes(2, text)))),
            R"({"additionalProperties":{"type":"string"}})");
  EXPECT_EQ(SchemaIn(Definition(field(32, Bytes(1, "a") + Bytes(2, Bytes(2, "b"))))),
            R"({"dependencies":{"a":["b"]}})");
}

// A Secret with that many entries of data and finalizers.
std::size_t BytesOfReading(int size) {
  std::string metadata;
  std::string data;
  for (int i = 0; i < size; ++i) {
    metadata += "\x72" + std::string(1, '\x01') + "f";  // field 14
    const std::string key = std::to_string(1000 + i);
    data += Bytes(2, Bytes(1, key) + Bytes(2, "v"));
  }
  std::string body;
  const auto varint = [](std::size_t value) {
    std::string out;
    for (; value > 127; value >>= 7) out += static_cast<char>((value & 127) | 128);
    return out += static_cast<char>(value);
  };
  const std::string raw = "\x0a" + varint(metadata.size()) + metadata + data;
  body = std::string("k8s\0", 4) + Bytes(1, Bytes(1, "v1") + Bytes(2, "Secret")) + "\x12" +
         varint(raw.size()) + raw;
  json::Arena arena;
  const auto secret = Read(arena, body);
  EXPECT_TRUE(secret.ok()) << secret.status().message();
  EXPECT_EQ((*secret)["metadata"]["finalizers"].size(), static_cast<std::size_t>(size));
  EXPECT_EQ((*secret)["data"].size(), static_cast<std::size_t>(size));
  return arena.bytes_used();
}

TEST(Protobuf, MemoryGrowsWithTheElementsOfListsAndMaps) {
  EXPECT_LT(BytesOfReading(2000), 3 * BytesOfReading(1000));
}

// Go's names of some fields differ from those in JSON ("uID", "Webhooks").
TEST(Protobuf, MembersHaveTheirNamesInJson) {
  for (std::string_view line : base::Split(EmbeddedProtobufFields(), '\n')) {
    if (line.empty() || line[0] == '#' || line[0] == '@') continue;
    const auto words = base::Split(line, ' ');
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string_view name = words[i].substr(0, words[i].find('='));
      const auto upper = [&](std::size_t at) {
        return at < name.size() && name[at] >= 'A' && name[at] <= 'Z';
      };
      if (name == "Port" || name == "Raw") continue;  // these are called so
      EXPECT_FALSE(upper(0) || upper(1)) << line;
    }
  }
}

TEST(Protobuf, RefusesWhatIsNoProtobuf) {
  EXPECT_NE(Json("{}").find("does not appear to be a protobuf message"), std::string::npos);
  EXPECT_EQ(Json(""), "empty data");
  EXPECT_EQ(Json(std::string("k8s\0", 4)), "empty body");
  EXPECT_EQ(Json(std::string("k8s\0", 4) + "\x0a\x7f"), "unexpected EOF");
  EXPECT_EQ(Json(EnvelopeOf("v1", "Nonsense", "x")), R"({"apiVersion":"v1","kind":"Nonsense"})");
}

TEST(Protobuf, ErrorsAreThoseOfGosDecoders) {
  const auto config_map = [](const std::string& raw) {
    return Json(EnvelopeOf("v1", "ConfigMap", raw));
  };
  EXPECT_EQ(config_map(std::string(1, '\0')), "proto: ConfigMap: illegal tag 0 (wire type 0)");
  EXPECT_EQ(config_map("\x0c"), "proto: ConfigMap: wiretype end group for non-group");
  EXPECT_EQ(config_map(Number(1, 1)), "proto: wrong wireType = 0 for field ObjectMeta");
  EXPECT_EQ(config_map(Number(2, 1)), "proto: wrong wireType = 0 for field Data");
  EXPECT_EQ(config_map("\x7e"), "proto: illegal wireType 6");
  EXPECT_EQ(config_map("\x7b"), "unexpected EOF") << "an open group";
  EXPECT_EQ(config_map("\x7b\x7c"), R"({"apiVersion":"v1","kind":"ConfigMap"})");
  EXPECT_EQ(config_map(std::string(11, '\xff')), "proto: integer overflow");
}

TEST(Protobuf, NumbersOfAListMayBePacked) {
  const std::string context = Bytes(4, "\x01\x02");
  EXPECT_EQ(Json(EnvelopeOf("v1", "Pod", Bytes(2, Bytes(14, context)))),
            R"({"apiVersion":"v1","kind":"Pod","spec":{"securityContext":{"supplementalGroups":)"
            R"([1,2]}}})");
}

TEST(Protobuf, FieldsThatAreNoJsonAreAText) {
  const auto managed = [](const std::string& raw) {
    const std::string entry = Bytes(7, Bytes(1, raw));
    const std::string field =
        base::StrCat("\x8a\x01", std::string(1, static_cast<char>(entry.size())), entry);
    return Json(EnvelopeOf("v1", "ConfigMap", Bytes(1, field)));
  };
  constexpr std::string_view kBefore = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":)"
                                       R"({"managedFields":[{"fieldsV1":)";
  EXPECT_EQ(managed(R"({"f:data":{}})"), base::StrCat(kBefore, R"({"f:data":{}}}]}})"));
  EXPECT_EQ(managed("{"), base::StrCat(kBefore, R"(""}]}})"));
  EXPECT_EQ(managed(""), base::StrCat(kBefore, R"(""}]}})"));
}

TEST(Protobuf, PartsOfAMessageAreMerged) {
  const std::string first = Bytes(1, Bytes(1, "a") + Bytes(11, Bytes(1, "x") + Bytes(2, "1")));
  const std::string second = Bytes(1, Bytes(11, Bytes(1, "y") + Bytes(2, "2")));
  EXPECT_EQ(Json(EnvelopeOf("v1", "ConfigMap", first + second)),
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"x":"1","y":"2"},)"
            R"("name":"a"}})");
  const auto port = [](const std::string& parts) {
    return Json(EnvelopeOf("v1", "Service", Bytes(2, Bytes(1, parts))));
  };
  constexpr std::string_view kPort = R"({"apiVersion":"v1","kind":"Service","spec":{"ports":)";
  EXPECT_EQ(port(Bytes(4, Number(1, 1) + Number(2, 7)) + Bytes(4, Bytes(3, "http"))),
            base::StrCat(kPort, R"([{"targetPort":"http"}]}})"));
  EXPECT_EQ(port(Bytes(4, Bytes(1, "x"))), "proto: wrong wireType = 2 for field Type");
}

// The message around them comes in parts, so that the first of theirs is known as JSON only.
TEST(Protobuf, PartsOfIntsOrStringsAreMergedWhereTheMessageIs) {
  const auto surge = [](const std::string& first, const std::string& second) {
    const std::string parts = Bytes(2, Bytes(2, first)) + Bytes(2, Bytes(2, second));
    return Json(EnvelopeOf("apps/v1", "Deployment", Bytes(2, Bytes(4, parts))));
  };
  const auto merged = [](std::string_view value) {
    return base::StrCat(R"({"apiVersion":"apps/v1","kind":"Deployment","spec":{"strategy":)",
                        R"({"rollingUpdate":{"maxSurge":)", value, "}}}}");
  };
  const std::string text = Number(1, 1) + Bytes(3, "25%");
  EXPECT_EQ(surge(text, ""), merged(R"("25%")"));
  EXPECT_EQ(surge(text, Number(1, 1)), merged(R"("25%")"));
  EXPECT_EQ(surge(text, Number(1, 0) + Number(2, 3)), merged("3"));
  EXPECT_EQ(surge(Number(2, 7), ""), merged("7"));
  EXPECT_EQ(surge(Number(2, 7), Bytes(3, "1")), merged("7"));
  EXPECT_EQ(surge(Number(2, 7), text), merged(R"("25%")"));
  EXPECT_EQ(surge("", text), merged(R"("25%")"));
}

TEST(Protobuf, ManyPartsCostNoMoreThanTheirSize) {
  std::string spec;
  for (int i = 0; i < 20000; ++i) spec += Bytes(2, Bytes(1, Bytes(4, Number(2, 7))));
  std::string parts;
  for (int i = 0; i < 20000; ++i) parts += Bytes(1, Bytes(1, "a"));
  json::Arena arena;
  const api::GroupVersionKind service{"", "v1", "Service"};
  EXPECT_EQ((*ReadProtobufObject(arena, service, spec, nullptr))["spec"]["ports"].size(), 20000U);
  EXPECT_EQ((*ReadProtobufObject(arena, service, parts, nullptr))["metadata"]["name"].AsString(),
            "a");
  EXPECT_LT(arena.bytes_used(), std::size_t{16} << 20);
}

// A member of an object that is read by its schema.
std::string InGoForm(const api::GroupVersionKind& kind, const std::string& raw,
                     std::string_view member, api::schema::Decoded& met) {
  static const auto catalog = api::catalog::Catalog::BuiltIn({}).value();
  json::Arena arena;
  const auto value = ReadProtobufObject(arena, kind, raw, catalog->FindSchema(kind), &met);
  return value.ok() ? json::ToString((*value)[member]) : value.status().message();
}

// A Pod as it is read by its schema, asked of kube-apiserver 1.36.
std::string PodInGoForm(const std::string& metadata, const std::string& spec) {
  api::schema::Decoded met;
  return InGoForm({"", "v1", "Pod"}, Bytes(1, metadata) + Bytes(2, spec),
                  metadata.empty() ? "spec" : "metadata", met);
}

TEST(Protobuf, BySchemaFieldsAreInGosOrderAndZerosAreLeftOut) {
  EXPECT_EQ(PodInGoForm(Bytes(11, Bytes(1, "b") + Bytes(2, "")) + Bytes(11, Bytes(1, "a")) +
                            Bytes(3, "n") + Bytes(2, "") + Bytes(1, "p"),
                        ""),
            R"({"name":"p","namespace":"n","labels":{"a":"","b":""}})");
  const std::string initializers =
      base::StrCat("\x82\x01", Bytes(1, Bytes(1, Bytes(1, "x.y.z"))).substr(1));
  EXPECT_EQ(PodInGoForm(initializers + Bytes(1, "p"), ""), R"({"name":"p"})")
      << "a field that the schema does not know";
}

TEST(Protobuf, BySchemaQuantitiesAreCanonical) {
  const auto limit = [](const std::string& quantity) {
    return PodInGoForm("", Bytes(1, Bytes(1, "v") + Bytes(2, Bytes(2, Bytes(2, quantity)))));
  };
  const auto size = [](std::string_view text) {
    return base::StrCat(R"({"volumes":[{"name":"v","emptyDir":{"sizeLimit":")", text,
                        R"("}}],"containers":null})");
  };
  EXPECT_EQ(limit(Bytes(1, "1024Mi")), size("1Gi"));
  EXPECT_EQ(limit(Bytes(1, "100m")), size("100m"));
  EXPECT_EQ(limit(Bytes(1, "1024Mi") + Bytes(1, "3Gi")), size("3Gi")) << "canonical at a glance";
  EXPECT_TRUE(limit(Bytes(1, "1x") + Bytes(1, "3Gi")).starts_with("quantities must match"));
  EXPECT_EQ(limit(""), size("0")) << "a pointer to a zero";
  EXPECT_EQ(limit(Bytes(1, "1") + Bytes(1, "2")), size("2"));
  EXPECT_TRUE(limit(Bytes(1, "1x") + Bytes(1, "1")).starts_with("quantities must match"));
  EXPECT_TRUE(limit(Bytes(1, "")).starts_with("quantities must match"));
}

TEST(Protobuf, BySchemaEmptyListsAreMet) {
  const auto meets = [](const api::GroupVersionKind& kind, const std::string& raw) {
    api::schema::Decoded met;
    InGoForm(kind, raw, "spec", met);
    return met.empty_lists;
  };
  const api::GroupVersionKind pod{"", "v1", "Pod"};
  const auto groups = [](const std::string& packed) { return Bytes(2, Bytes(14, packed)); };
  EXPECT_TRUE(meets(pod, groups(Bytes(4, "")))) << "a packed list";
  EXPECT_FALSE(meets(pod, groups(Bytes(4, "\x01"))));
  EXPECT_FALSE(meets(pod, groups(Bytes(4, "\x01") + Number(6, 1) + Bytes(4, ""))));
  EXPECT_FALSE(meets(pod, groups("")));
  const api::GroupVersionKind review{"authorization.k8s.io", "v1", "SubjectAccessReview"};
  const auto extra = [](const std::string& value) {
    return Bytes(2, Bytes(5, Bytes(1, "k") + Bytes(2, value)));
  };
  EXPECT_TRUE(meets(review, extra("")));
  EXPECT_FALSE(meets(review, extra(Bytes(1, "v"))));
}

// As those that are not packed.
TEST(Protobuf, BySchemaPackedNumbersHaveTheSizeOfTheirType) {
  const std::string codes = Bytes(3, "\x85\x80\x80\x80\x10");  // 2^32 + 5
  const std::string policy = Bytes(1, Bytes(1, "Ignore") + Bytes(2, Bytes(2, "In") + codes));
  api::schema::Decoded met;
  const std::string spec =
      InGoForm({"batch", "v1", "Job"}, Bytes(2, Bytes(11, policy)), "spec", met);
  EXPECT_NE(spec.find(R"("values":[5])"), std::string::npos) << spec;
}

// Each level comes in two parts, the first of which holds the next level.
TEST(Protobuf, PartsOfPartsCostNoMoreThanTheirSize) {
  std::string schema;
  for (int level = 0; level < 40; ++level) {
    const std::string size = schema.size() > 127
                                 ? std::string{static_cast<char>((schema.size() & 127) | 128),
                                               static_cast<char>(schema.size() >> 7)}
                                 : std::string(1, static_cast<char>(schema.size()));
    // The field `not` has the number 28.
    schema = base::StrCat("\xe2\x01", size, schema, std::string("\xe2\x01\0", 3));
  }
  const auto field = [](char tag, const std::string& bytes) {
    return std::string{tag, static_cast<char>((bytes.size() & 127) | 128),
                       static_cast<char>(bytes.size() >> 7)} +
           bytes;
  };
  json::Arena arena;
  const api::GroupVersionKind definition{"apiextensions.k8s.io", "v1", "CustomResourceDefinition"};
  const std::string version = field('\x22', field('\x0a', schema));
  const auto object =
      ReadProtobufObject(arena, definition, field('\x12', field('\x3a', version)), nullptr);
  ASSERT_TRUE(object.ok()) << object.status().message();
  EXPECT_EQ((*object)["spec"]["versions"][0U]["schema"]["openAPIV3Schema"].depth(), 41U);
  EXPECT_LT(arena.bytes_used(), std::size_t{1} << 16);
}

// Go's decoders have no limit; a client writes back what it has read.
TEST(Protobuf, MessagesMayBeThousandsOfLevelsDeep) {
  const auto field = [](std::string_view tag, const std::string& bytes) {
    std::string out(tag);
    std::size_t size = bytes.size();
    for (; size > 127; size >>= 7) out += static_cast<char>((size & 127) | 128);
    return out + static_cast<char>(size) + bytes;
  };
  const auto read = [&](json::Arena& arena, int levels) {
    std::string schema;
    for (int level = 0; level < levels; ++level) schema = field("\xe2\x01", schema);  // `not`
    const std::string version = field("\x22", field("\x0a", schema));
    const api::GroupVersionKind kind{"apiextensions.k8s.io", "v1", "CustomResourceDefinition"};
    return ReadProtobufObject(arena, kind, field("\x12", field("\x3a", version)), nullptr);
  };
  json::Arena arena;
  const auto object = read(arena, 2000);
  ASSERT_TRUE(object.ok()) << object.status().message();
  EXPECT_EQ((*object)["spec"]["versions"][0U]["schema"]["openAPIV3Schema"].depth(), 2001U);
  EXPECT_FALSE(read(arena, 3000).ok());
}

TEST(Protobuf, PartsOfTheTypeAreMerged) {
  const std::string body =
      std::string("k8s\0", 4) + Bytes(1, Bytes(1, "v1")) + Bytes(1, Bytes(2, "ConfigMap"));
  const auto envelope = ReadProtobufEnvelope(body);
  ASSERT_TRUE(envelope.ok());
  EXPECT_EQ(envelope->api_version, "v1");
  EXPECT_EQ(envelope->kind, "ConfigMap");
}

}  // namespace
}  // namespace portcullis::engine
