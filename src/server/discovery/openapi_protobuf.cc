// SPDX-License-Identifier: Apache-2.0

// Each message is a table: member of the JSON, number of the field, how its value is written.
// Members that begin with "x-" go to the message's list of vendor extensions, their values as YAML.

#include "server/discovery/openapi_protobuf.h"

#include <bit>
#include <cstdint>
#include <span>

#include "json/yaml.h"

namespace portcullis::server {
namespace {

using json::Value;

enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2 };

void AppendVarint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80U));
    value >>= 7U;
  }
  out.push_back(static_cast<char>(value));
}

void AppendTag(std::string& out, std::uint32_t field, WireType type) {
  AppendVarint(out, std::uint64_t{field} << 3U | type);
}

void AppendBytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  AppendTag(out, field, kBytes);
  AppendVarint(out, bytes.size());
  out.append(bytes);
}

void AppendDouble(std::string& out, std::uint32_t field, double value) {
  AppendTag(out, field, kFixed64);
  auto bits = std::bit_cast<std::uint64_t>(value);
  for (int i = 0; i < 8; ++i, bits >>= 8U) out.push_back(static_cast<char>(bits & 255U));
}

// One field of a message. `encode` writes the whole field, its tag included.
struct Row {
  std::string_view member;
  std::uint32_t field;
  void (*encode)(std::string& out, std::uint32_t field, Value value);
};

// What is empty or zero is left out, but for a choice of a type.
void Text(std::string& out, std::uint32_t field, Value value) {
  if (!value.AsString().empty()) AppendBytes(out, field, value.AsString());
}
void Texts(std::string& out, std::uint32_t field, Value value) {
  for (const Value& item : value.elements()) AppendBytes(out, field, item.AsString());
}
void ChosenFlag(std::string& out, std::uint32_t field, Value value) {
  AppendTag(out, field, kVarint);
  out.push_back(value.AsBool() ? 1 : 0);
}
void Flag(std::string& out, std::uint32_t field, Value value) {
  if (value.AsBool()) ChosenFlag(out, field, value);
}
void Whole(std::string& out, std::uint32_t field, Value value) {
  if (value.AsInt() == 0) return;
  AppendTag(out, field, kVarint);
  AppendVarint(out, static_cast<std::uint64_t>(value.AsInt()));
}
void Number(std::string& out, std::uint32_t field, Value value) {
  if (value.AsDouble() != 0) AppendDouble(out, field, value.AsDouble());
}

// openapi.v2.Any {yaml = 2}.
void AnyValue(std::string& out, std::uint32_t field, Value value) {
  std::string any;
  AppendBytes(any, 2, json::ToYamlV3(value));
  AppendBytes(out, field, any);
}
void AnyValues(std::string& out, std::uint32_t field, Value value) {
  for (const Value& item : value.elements()) AnyValue(out, field, item);
}

std::string Message(std::span<const Row> rows, std::uint32_t extensions, Value value) {
  std::string out;
  for (const Row& row : rows) {
    if (const Value* member = value.Find(row.member)) row.encode(out, row.field, *member);
  }
  for (const json::Member& member : value.members()) {
    if (!member.name().starts_with("x-")) continue;
    std::string named;
    AppendBytes(named, 1, member.name());
    AnyValue(named, 2, member.value);
    AppendBytes(out, extensions, named);
  }
  return out;
}

// {name = 1, value = 2} for each member of an object, as one field of a message of their own.
template <typename Encode>
std::string Named(Value map, Encode encode, std::uint32_t field = 1) {
  std::string out;
  for (const json::Member& member : map.members()) {
    std::string named;
    AppendBytes(named, 1, member.name());
    AppendBytes(named, 2, encode(member.value));
    AppendBytes(out, field, named);
  }
  return out;
}

std::string Schema(Value value);

void SchemaField(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Schema(value));
}
void SchemaFields(std::string& out, std::uint32_t field, Value value) {
  for (const Value& item : value.elements()) SchemaField(out, field, item);
}
// {repeated schema = 1}
void Items(std::string& out, std::uint32_t field, Value value) {
  std::string item;
  SchemaField(item, 1, value);
  AppendBytes(out, field, item);
}
// {schema = 1 | boolean = 2}
void AdditionalProperties(std::string& out, std::uint32_t field, Value value) {
  std::string item;
  if (value.is_bool()) {
    ChosenFlag(item, 2, value);
  } else {
    SchemaField(item, 1, value);
  }
  AppendBytes(out, field, item);
}
// {repeated value = 1}
void TypeNames(std::string& out, std::uint32_t field, Value value) {
  std::string item;
  if (value.is_array()) {
    Texts(item, 1, value);
  } else {
    Text(item, 1, value);
  }
  AppendBytes(out, field, item);
}
void Properties(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Named(value, Schema));
}

constexpr Row kSchema[] = {
    {"$ref", 1, &Text},
    {"format", 2, &Text},
    {"title", 3, &Text},
    {"description", 4, &Text},
    {"default", 5, &AnyValue},
    {"multipleOf", 6, &Number},
    {"maximum", 7, &Number},
    {"exclusiveMaximum", 8, &Flag},
    {"minimum", 9, &Number},
    {"exclusiveMinimum", 10, &Flag},
    {"maxLength", 11, &Whole},
    {"minLength", 12, &Whole},
    {"pattern", 13, &Text},
    {"maxItems", 14, &Whole},
    {"minItems", 15, &Whole},
    {"uniqueItems", 16, &Flag},
    {"maxProperties", 17, &Whole},
    {"minProperties", 18, &Whole},
    {"required", 19, &Texts},
    {"enum", 20, &AnyValues},
    {"additionalProperties", 21, &AdditionalProperties},
    {"type", 22, &TypeNames},
    {"items", 23, &Items},
    {"allOf", 24, &SchemaFields},
    {"properties", 25, &Properties},
};

std::string Schema(Value value) { return Message(kSchema, 31, value); }

constexpr Row kBodyParameter[] = {
    {"description", 1, &Text}, {"name", 2, &Text},          {"in", 3, &Text},
    {"required", 4, &Flag},    {"schema", 5, &SchemaField},
};
constexpr Row kQueryParameter[] = {
    {"required", 1, &Flag}, {"in", 2, &Text},     {"description", 3, &Text},  {"name", 4, &Text},
    {"type", 6, &Text},     {"format", 7, &Text}, {"uniqueItems", 20, &Flag},
};
constexpr Row kPathParameter[] = {
    {"required", 1, &Flag}, {"in", 2, &Text},     {"description", 3, &Text},  {"name", 4, &Text},
    {"type", 5, &Text},     {"format", 6, &Text}, {"uniqueItems", 19, &Flag},
};

// openapi.v2.Parameter {body = 1 | non_body = 2 {query = 3 | path = 4}}.
std::string Parameter(Value value) {
  std::string out;
  const std::string_view in = value["in"].AsString();
  if (in == "body") {
    AppendBytes(out, 1, Message(kBodyParameter, 6, value));
    return out;
  }
  std::string non_body;
  if (in == "path") {
    AppendBytes(non_body, 4, Message(kPathParameter, 22, value));
  } else {
    AppendBytes(non_body, 3, Message(kQueryParameter, 23, value));
  }
  AppendBytes(out, 2, non_body);
  return out;
}

// {parameter = 1 | json_reference = 2 {_ref = 1}}
void Parameters(std::string& out, std::uint32_t field, Value value) {
  for (const Value& parameter : value.elements()) {
    std::string item;
    if (const Value* reference = parameter.Find("$ref")) {
      std::string target;
      Text(target, 1, *reference);
      AppendBytes(item, 2, target);
    } else {
      AppendBytes(item, 1, Parameter(parameter));
    }
    AppendBytes(out, field, item);
  }
}

void ResponseSchema(std::string& out, std::uint32_t field, Value value) {
  Items(out, field, value);
}

constexpr Row kResponse[] = {{"description", 1, &Text}, {"schema", 2, &ResponseSchema}};

void Responses(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Named(value, [](Value response) {
                std::string item;
                AppendBytes(item, 1, Message(kResponse, 5, response));
                return item;
              }));
}

constexpr Row kOperation[] = {
    {"tags", 1, &Texts},
    {"summary", 2, &Text},
    {"description", 3, &Text},
    {"operationId", 5, &Text},
    {"produces", 6, &Texts},
    {"consumes", 7, &Texts},
    {"parameters", 8, &Parameters},
    {"responses", 9, &Responses},
    {"schemes", 10, &Texts},
    {"deprecated", 11, &Flag},
};

void Operation(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Message(kOperation, 13, value));
}

constexpr Row kPathItem[] = {
    {"get", 2, &Operation},    {"put", 3, &Operation},         {"post", 4, &Operation},
    {"delete", 5, &Operation}, {"options", 6, &Operation},     {"head", 7, &Operation},
    {"patch", 8, &Operation},  {"parameters", 9, &Parameters},
};

// {repeated path = 2 {name = 1, value = 2}}
void Paths(std::string& out, std::uint32_t field, Value value) {
  std::string paths;
  for (const json::Member& member : value.members()) {
    std::string named;
    AppendBytes(named, 1, member.name());
    AppendBytes(named, 2, Message(kPathItem, 10, member.value));
    AppendBytes(paths, 2, named);
  }
  AppendBytes(out, field, paths);
}

constexpr Row kInfo[] = {{"title", 1, &Text}, {"version", 2, &Text}, {"description", 3, &Text}};

void Info(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Message(kInfo, 7, value));
}
void Definitions(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Named(value, Schema));
}
void SharedParameters(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Named(value, Parameter));
}

constexpr Row kDocument[] = {
    {"swagger", 1, &Text},
    {"info", 2, &Info},
    {"paths", 8, &Paths},
    {"definitions", 9, &Definitions},
    {"parameters", 10, &SharedParameters},
};

// Of v3.

// {schema = 1 | reference = 2 {_ref = 1}}
std::string SchemaOrReference(Value value);

void SchemaV3(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, SchemaOrReference(value));
}
void SchemasV3(std::string& out, std::uint32_t field, Value value) {
  for (const Value& item : value.elements()) SchemaV3(out, field, item);
}
void ItemsV3(std::string& out, std::uint32_t field, Value value) {
  std::string item;
  SchemaV3(item, 1, value);
  AppendBytes(out, field, item);
}
void AdditionalPropertiesV3(std::string& out, std::uint32_t field, Value value) {
  if (!value.is_bool()) return ItemsV3(out, field, value);
  std::string item;
  ChosenFlag(item, 2, value);
  AppendBytes(out, field, item);
}
void NamedSchemas(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Named(value, SchemaOrReference));
}
// {number = 1 | boolean = 2 | string = 3}, or none of them
void DefaultV3(std::string& out, std::uint32_t field, Value value) {
  std::string item;
  if (value.is_number()) AppendDouble(item, 1, value.AsDouble());
  if (value.is_bool()) ChosenFlag(item, 2, value);
  if (value.is_string()) AppendBytes(item, 3, value.AsString());
  AppendBytes(out, field, item);
}
void NotV3(std::string& out, std::uint32_t field, Value value);

constexpr Row kDocs[] = {{"description", 1, &Text}, {"url", 2, &Text}};
void Docs(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Message(kDocs, 3, value));
}

constexpr Row kSchemaV3[] = {
    {"nullable", 1, &Flag},
    {"externalDocs", 6, &Docs},
    {"example", 7, &AnyValue},
    {"title", 9, &Text},
    {"multipleOf", 10, &Number},
    {"maximum", 11, &Number},
    {"exclusiveMaximum", 12, &Flag},
    {"minimum", 13, &Number},
    {"exclusiveMinimum", 14, &Flag},
    {"maxLength", 15, &Whole},
    {"minLength", 16, &Whole},
    {"pattern", 17, &Text},
    {"maxItems", 18, &Whole},
    {"minItems", 19, &Whole},
    {"uniqueItems", 20, &Flag},
    {"maxProperties", 21, &Whole},
    {"minProperties", 22, &Whole},
    {"required", 23, &Texts},
    {"enum", 24, &AnyValues},
    {"type", 25, &Text},
    {"allOf", 26, &SchemasV3},
    {"oneOf", 27, &SchemasV3},
    {"anyOf", 28, &SchemasV3},
    {"not", 29, &NotV3},
    {"items", 30, &ItemsV3},
    {"properties", 31, &NamedSchemas},
    {"additionalProperties", 32, &AdditionalPropertiesV3},
    {"default", 33, &DefaultV3},
    {"description", 34, &Text},
    {"format", 35, &Text},
};

void NotV3(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Message(kSchemaV3, 36, value));
}

std::string SchemaOrReference(Value value) {
  std::string out;
  if (const Value* reference = value.Find("$ref")) {
    std::string target;
    Text(target, 1, *reference);
    AppendBytes(out, 2, target);
  } else {
    AppendBytes(out, 1, Message(kSchemaV3, 36, value));
  }
  return out;
}

// A message as the first choice of another one: `rows` and the number of its extensions.
template <const auto& rows, std::uint32_t extensions>
std::string First(Value value) {
  std::string out;
  AppendBytes(out, 1, Message(rows, extensions, value));
  return out;
}

constexpr Row kParameterV3[] = {
    {"name", 1, &Text},     {"in", 2, &Text},          {"description", 3, &Text},
    {"required", 4, &Flag}, {"schema", 10, &SchemaV3},
};
void ParametersV3(std::string& out, std::uint32_t field, Value value) {
  for (const Value& item : value.elements()) AppendBytes(out, field, First<kParameterV3, 14>(item));
}

constexpr Row kMediaType[] = {{"schema", 1, &SchemaV3}};
void MediaTypes(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Named(value, [](Value type) { return Message(kMediaType, 5, type); }));
}

constexpr Row kRequestBody[] = {
    {"description", 1, &Text}, {"content", 2, &MediaTypes}, {"required", 3, &Flag}};
void RequestBody(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, First<kRequestBody, 4>(value));
}

constexpr Row kResponseV3[] = {{"description", 1, &Text}, {"content", 3, &MediaTypes}};
void ResponsesV3(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Named(value, First<kResponseV3, 5>, 2));
}

constexpr Row kOperationV3[] = {
    {"tags", 1, &Texts},
    {"summary", 2, &Text},
    {"description", 3, &Text},
    {"operationId", 5, &Text},
    {"parameters", 6, &ParametersV3},
    {"requestBody", 7, &RequestBody},
    {"responses", 8, &ResponsesV3},
    {"deprecated", 10, &Flag},
};
void OperationV3(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Message(kOperationV3, 13, value));
}

constexpr Row kPathItemV3[] = {
    {"get", 4, &OperationV3},    {"put", 5, &OperationV3},          {"post", 6, &OperationV3},
    {"delete", 7, &OperationV3}, {"options", 8, &OperationV3},      {"head", 9, &OperationV3},
    {"patch", 10, &OperationV3}, {"parameters", 13, &ParametersV3},
};
void PathsV3(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Named(value, [](Value path) { return Message(kPathItemV3, 14, path); }));
}

constexpr Row kSecurity[] = {
    {"type", 1, &Text}, {"description", 2, &Text}, {"name", 3, &Text}, {"in", 4, &Text}};
void SecuritySchemes(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Named(value, First<kSecurity, 9>));
}

constexpr Row kComponents[] = {{"schemas", 1, &NamedSchemas},
                               {"securitySchemes", 7, &SecuritySchemes}};
void Components(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Message(kComponents, 10, value));
}

constexpr Row kInfoV3[] = {{"title", 1, &Text}, {"description", 2, &Text}, {"version", 6, &Text}};
void InfoV3(std::string& out, std::uint32_t field, Value value) {
  AppendBytes(out, field, Message(kInfoV3, 7, value));
}

constexpr Row kDocumentV3[] = {{"openapi", 1, &Text},
                               {"info", 2, &InfoV3},
                               {"paths", 4, &PathsV3},
                               {"components", 5, &Components}};

}  // namespace

std::string EncodeOpenApiV3(Value document) { return Message(kDocumentV3, 9, document); }

std::string EncodeOpenApiV2(Value document) { return Message(kDocument, 16, document); }

}  // namespace portcullis::server
