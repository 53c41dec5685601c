// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/body.h"

#include <algorithm>
#include <vector>

#include "api/schema/merge_duplicates.h"
#include "base/strings.h"
#include "cbor/reader.h"
#include "engine/codec/protobuf.h"
#include "json/duplicates.h"
#include "json/edit.h"
#include "json/go_errors.h"
#include "json/reader.h"
#include "json/yaml.h"

namespace portcullis::engine {
namespace {

// The type of the struct that the Go server reads kind and version into.
constexpr std::string_view kTypeMetaStruct =
    R"(struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" })";

base::Status TypeMetaError(std::string_view error) {
  return base::BadRequest(base::StrCat("couldn't get version/kind; json parse error: ", error));
}

base::Result<Body> ReadJson(json::Arena& arena, std::string_view bytes) {
  Body body;
  json::ParseOptions options;
  options.repeats_keys = &body.repeats_keys;
  options.range_error = &body.range_error;
  auto value = json::Parse(arena, bytes, options);
  if (value.ok() && body.repeats_keys) {
    options.keep_duplicates = true;
    value = json::Parse(arena, bytes, options);
  }
  if (!value.ok()) return TypeMetaError(value.status().message());
  body.value = *value;
  return body;
}

// YAML becomes JSON on its way in, by Go's maps: members are in order.
json::Value InOrder(json::Arena& arena, json::Value value) {
  if (value.is_array()) {
    return json::EditElements(arena, value,
                              [&](json::Value element) { return InOrder(arena, element); });
  }
  if (!value.is_object()) return value;
  std::vector<json::Member> members(value.members().begin(), value.members().end());
  for (json::Member& member : members) member.value = InOrder(arena, member.value);
  std::stable_sort(
      members.begin(), members.end(),
      [](const json::Member& a, const json::Member& b) { return a.name() < b.name(); });
  return json::MakeObject(arena, members);
}

base::Result<Body> ReadYaml(json::Arena& arena, std::string_view bytes) {
  Body body;
  body.value = InOrder(arena, TRY(json::ParseYaml(arena, bytes)));
  return body;
}

base::Result<Body> ReadProtobuf(json::Arena& arena, const api::catalog::Catalog& catalog,
                                std::string_view bytes, const api::GroupVersionKind& expected) {
  const ProtobufEnvelope envelope = TRY(ReadProtobufEnvelope(bytes));
  api::GroupVersionKind kind = expected;
  if (!envelope.kind.empty()) kind.kind = envelope.kind;
  const auto version = api::ParseGroupVersion(envelope.api_version);
  if (version.ok() && !version->version.empty()) {
    kind.group = version->group;
    kind.version = version->version;
  }
  Body body;
  body.decoded_by = catalog.FindSchema(kind);
  auto value = ReadProtobufObject(arena, kind, envelope.raw, body.decoded_by, &body.met);
  if (!value.ok()) {
    body.decoded_by = nullptr;
    body.message_error = value.status().message();
    value = ReadProtobufObject(arena, kind, {}, nullptr);
  }
  body.value = TRY(std::move(value));
  return body;
}

base::Status CborMetaError(std::string_view error) {
  return base::BadRequest(base::StrCat("unable to determine group/version/kind: ", error));
}

// What the Go server reads before it knows the type; other members may be anything.
base::Result<json::Value> ReadCborTypeMeta(json::Arena& arena, std::string_view bytes) {
  static constexpr std::string_view kNames[] = {"apiVersion", "kind"};
  const auto meta = cbor::ParseMembers(arena, bytes, kNames);
  if (!meta.ok()) return CborMetaError(meta.status().message());
  if (!meta->is_object() && !meta->is_null()) {
    return CborMetaError(base::StrCat(
        "cbor: cannot unmarshal ", cbor::TypeName(*meta), " into Go value of type v1.TypeMeta",
        meta->is_array() ? " (cannot decode CBOR array to struct without toarray option)" : ""));
  }
  for (const json::Member& member : meta->members()) {
    if (member.value.is_string() || member.value.is_null()) continue;
    return CborMetaError(base::StrCat("cbor: cannot unmarshal ", cbor::TypeName(member.value),
                                      " into Go struct field v1.TypeMeta.", member.name(),
                                      " of type string"));
  }
  return *meta;
}

// `custom`: of a kind without a type, which may say of what kind it is in any way.
base::Result<Body> ReadCbor(json::Arena& arena, std::string_view bytes, bool custom) {
  Body body;
  auto value = custom ? cbor::Parse(arena, bytes) : cbor::ParseTyped(arena, bytes);
  const auto is_read = [](const json::Member& member) {
    return cbor::KeyFault(member.name(), true, "value").empty();
  };
  if (value.ok() && value->is_object() &&
      std::all_of(value->members().begin(), value->members().end(), is_read) &&
      (custom || ((*value)["kind"].is_string() && (*value)["apiVersion"].is_string()))) {
    body.value = *value;
    return body;
  }
  const json::Value meta = TRY(ReadCborTypeMeta(arena, bytes));
  if (!value.ok()) body.message_error = value.status().message();
  body.value = value.ok() ? *value : meta;
  return body;
}

// Whether encoding/json takes `name` for the field: besides the case of letters, it takes the
// Kelvin sign for a k and the long s for an s.
bool NamesField(std::string_view name, std::string_view field) {
  if (name == field) return true;
  if (name.size() < field.size() || name.size() > field.size() + 2) return false;
  if (base::EqualsIgnoreCase(name, field)) return true;
  if (name.size() == field.size()) return false;  // these have more bytes
  const std::string plain = base::ReplaceAll(base::ReplaceAll(name, "\u212A", "k"), "\u017F", "s");
  return base::EqualsIgnoreCase(plain, field);
}

}  // namespace

base::Result<Body> ReadBody(json::Arena& arena, const api::catalog::Catalog& catalog,
                            std::string_view bytes, MediaType type,
                            const api::GroupVersionKind& expected) {
  switch (type) {
    case MediaType::kYaml:
      return ReadYaml(arena, bytes);
    case MediaType::kProtobuf:
      return ReadProtobuf(arena, catalog, bytes, expected);
    case MediaType::kCbor: {
      const api::catalog::ResourceInfo* resource = catalog.FindKind(expected);
      return ReadCbor(arena, bytes, resource != nullptr && resource->custom);
    }
    default:
      return ReadJson(arena, bytes);
  }
}

base::Result<TypeMeta> ReadTypeMeta(json::Value document) {
  TypeMeta meta;
  if (!document.is_object() && !document.is_null()) {
    return TypeMetaError(base::StrCat("json: cannot unmarshal ", json::GoTypeName(document),
                                      " into Go value of type ", kTypeMetaStruct));
  }
  for (const json::Member& member : document.members()) {
    const bool is_kind = NamesField(member.name(), "kind");
    if (!is_kind && !NamesField(member.name(), "apiVersion")) continue;
    if (member.value.is_string()) {
      (is_kind ? meta.kind : meta.api_version) = member.value.AsString();
    } else if (!member.value.is_null()) {
      return TypeMetaError(base::StrCat("json: cannot unmarshal ", json::GoTypeName(member.value),
                                        " into Go struct field .", is_kind ? "kind" : "apiVersion",
                                        " of type string"));
    }
  }
  return meta;
}

json::Value Untyped(json::Arena& arena, const Body& body) {
  return body.repeats_keys ? json::LastOfDuplicates(arena, body.value) : body.value;
}

base::Result<json::Value> Typed(json::Arena& arena, const Body& body,
                                const api::schema::Schema& schema,
                                std::vector<std::string>* strict_errors) {
  if (!body.repeats_keys) return body.value;
  return api::schema::MergeDuplicates(arena, schema, body.value, strict_errors);
}

std::vector<std::string> UnknownFields(const std::vector<std::string>& paths) {
  std::vector<std::string> texts;
  for (const std::string& path : paths) {
    texts.push_back(base::StrCat("unknown field \"", path, "\""));
  }
  return texts;
}

}  // namespace portcullis::engine
