// SPDX-License-Identifier: Apache-2.0

// What Kubernetes' own types write in protobuf, of every kind (testdata/kinds.*).

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "api/catalog/catalog.h"
#include "api/schema/decode.h"
#include "base/strings.h"
#include "engine/codec/protobuf.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::engine {
namespace {

std::string Inflated(const std::string& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return text;
  char buffer[1 << 16];
  for (int count = 0; (count = gzread(file, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  gzclose(file);
  return text;
}

base::Result<json::Value> Read(json::Arena& arena, std::string_view body) {
  const ProtobufEnvelope envelope = TRY(ReadProtobufEnvelope(body));
  const auto version = TRY(api::ParseGroupVersion(envelope.api_version));
  const api::GroupVersionKind kind{version.group, version.version, std::string(envelope.kind)};
  return ReadProtobufObject(arena, kind, envelope.raw, nullptr);
}

std::string Written(json::Value object) {
  std::string out;
  const base::Status status = WriteProtobuf(object, out);
  return status.ok() ? out : status.message();
}

// A body as JSON, to show how two of them differ.
std::string ShownBody(std::string_view body) {
  json::Arena arena;
  const auto value = Read(arena, body);
  if (!value.ok()) return value.status().message();
  json::WriteOptions options;
  options.indent = 1;
  options.sort_keys = true;
  return json::ToString(*value, options);
}

struct Fact {
  std::string json;
  std::string body;
};

// Each line of the JSON belongs to a body, which stands behind its length.
std::vector<Fact> Facts() {
  const std::string folder = PC_SOURCE_DIR "/src/engine/codec/testdata/";
  const std::string lines = Inflated(folder + "kinds.json.gz");
  const std::string bodies = Inflated(folder + "kinds.pb.gz");
  std::vector<Fact> facts;
  std::size_t at = 0;
  for (std::string_view line : base::Split(lines, '\n')) {
    if (line.empty()) break;
    std::size_t size = 0;
    for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(bodies[at++]);
    facts.push_back({std::string(line), bodies.substr(at, size)});
    at += size;
  }
  return facts;
}

TEST(ProtobufWriter, WritesEveryKindAsKubernetesTypesDo) {
  const std::vector<Fact> facts = Facts();
  ASSERT_GT(facts.size(), 180U);
  for (const Fact& fact : facts) {
    json::Arena arena;
    const auto object = json::Parse(arena, fact.json);
    ASSERT_TRUE(object.ok()) << object.status().message();
    const std::string written = Written(*object);
    if (written == fact.body) continue;
    ADD_FAILURE() << fact.json.substr(0, 80) << "\n" << written.size() << " " << fact.body.size();
    EXPECT_EQ(ShownBody(written), ShownBody(fact.body));
  }
}

TEST(ProtobufWriter, WhatIsReadIsWrittenTheSame) {
  for (const Fact& fact : Facts()) {
    json::Arena arena;
    const auto object = Read(arena, fact.body);
    ASSERT_TRUE(object.ok()) << object.status().message();
    EXPECT_TRUE(Written(*object) == fact.body) << fact.json.substr(0, 80);
  }
}

// Once as it comes and then decoded by the schema, once by the schema at once.
void ExpectTheSameForm(const api::GroupVersionKind& kind, std::string_view raw) {
  static const auto catalog = api::catalog::Catalog::BuiltIn({{"api/all", true}}).value();
  const api::schema::Schema* const schema = catalog->FindSchema(kind);
  if (schema == nullptr) return;  // of a release before
  json::Arena arena;
  const auto plain = ReadProtobufObject(arena, kind, raw, schema);
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  api::schema::Decoded met_before;
  api::schema::DecodeOptions options;
  options.met = &met_before;
  const auto before = api::schema::Decode(arena, *schema, *plain, options);
  ASSERT_TRUE(before.ok()) << before.status().message();
  api::schema::Decoded met;
  const auto now = ReadProtobufObject(arena, kind, raw, schema, &met);
  ASSERT_TRUE(now.ok()) << now.status().message();
  EXPECT_EQ(json::ToString(*now), json::ToString(*before));
  EXPECT_EQ(met.any, met_before.any);
  EXPECT_EQ(met.empty_lists, met_before.empty_lists);
}

TEST(ProtobufWriter, WhatIsReadByTheSchemaIsWhatDecodingMakes) {
  for (const Fact& fact : Facts()) {
    const auto envelope = ReadProtobufEnvelope(fact.body);
    ASSERT_TRUE(envelope.ok());
    const auto version = api::ParseGroupVersion(envelope->api_version);
    const api::GroupVersionKind kind{version->group, version->version, std::string(envelope->kind)};
    SCOPED_TRACE(fact.json.substr(0, 80));
    ExpectTheSameForm(kind, envelope->raw);
    // All its messages come twice, with one more entry in each list.
    ExpectTheSameForm(kind, base::StrCat(envelope->raw, envelope->raw));
    ExpectTheSameForm(kind, "");
  }
}

// What no encoder writes.
TEST(ProtobufWriter, WhatIsReadByTheSchemaIsWhatDecodingMakesOfOddBytes) {
  const auto bytes = [](char number, std::string_view content) {
    return base::StrCat(std::string{static_cast<char>(number << 3 | 2)},
                        std::string{static_cast<char>(content.size())}, content);
  };
  // An empty packed list, and a list with a name of its own that is empty.
  ExpectTheSameForm({"", "v1", "Pod"}, bytes(2, bytes(14, bytes(4, ""))));
  ExpectTheSameForm({"authorization.k8s.io", "v1", "SubjectAccessReview"},
                    bytes(2, bytes(5, bytes(1, "k") + bytes(2, ""))));
  // A number or a text in a message that comes in parts.
  const std::string text = base::StrCat("\x08\x01", bytes(3, "25%"));
  for (const std::string& second : {std::string(), std::string("\x08\x01"), text}) {
    for (const std::string& first : {text, std::string("\x10\x07"), std::string()}) {
      const std::string strategy = bytes(2, bytes(2, first)) + bytes(2, bytes(2, second));
      ExpectTheSameForm({"apps", "v1", "Deployment"}, bytes(2, bytes(4, strategy)));
    }
  }
}

TEST(ProtobufWriter, SchemasMayBeAsDeepAsDocuments) {
  constexpr std::size_t kLevels = 4990;
  std::string schema;
  for (std::size_t i = 0; i < kLevels; ++i) schema += R"({"properties":{"a":)";
  schema += "{}" + std::string(2 * kLevels, '}');
  json::Arena arena;
  const auto object = json::Parse(
      arena, R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",)"
             R"("spec":{"versions":[{"schema":{"openAPIV3Schema":)" +
                 schema + "}}]}}");
  ASSERT_TRUE(object.ok()) << object.status().message();
  EXPECT_GT(Written(*object).size(), kLevels);
}

TEST(ProtobufWriter, ObjectsOfOtherKindsCannotBeWritten) {
  json::Arena arena;
  const auto object = json::Parse(arena, R"({"apiVersion":"example.com/v1","kind":"Thing"})");
  std::string out;
  EXPECT_EQ(WriteProtobuf(*object, out).http_code(), 406);
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace portcullis::engine
