// SPDX-License-Identifier: Apache-2.0

// Schemas of CustomResourceDefinitions and objects under them: a document {"schema":…,"object":…}
// is compiled as a definition's version; the object is pruned, defaulted, checked and validated by
// it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/catalog/catalog.h"
#include "api/schema/decode.h"
#include "api/schema/defaulting.h"
#include "api/schema/validate.h"
#include "json/reader.h"
#include "json/writer.h"

namespace {

using portcullis::json::Arena;
using portcullis::json::Value;
namespace catalog = portcullis::api::catalog;
namespace schema = portcullis::api::schema;

const schema::Schema* ObjectMeta() {
  static const auto kCatalog = catalog::Catalog::BuiltIn({}).value();
  return kCatalog->object_meta();
}

Value DefinitionOf(Arena& arena, Value props) {
  const Value version =
      portcullis::json::ObjectBuilder(arena)
          .Set("name", "v1")
          .Set("served", true)
          .Set("storage", true)
          .Set("schema",
               portcullis::json::ObjectBuilder(arena).Set("openAPIV3Schema", props).Build())
          .Build();
  const Value definition = portcullis::json::Parse(arena, R"({"spec":{"group":"e.io",
      "scope":"Cluster","names":{"plural":"as","kind":"A"}}})")
                               .value();
  return portcullis::json::SetPath(arena, definition, {"spec", "versions"},
                                   portcullis::json::MakeArray(arena, {version}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Arena arena;
  const auto parsed =
      portcullis::json::Parse(arena, std::string_view(reinterpret_cast<const char*>(data), size));
  if (!parsed.ok()) return 0;
  const Value props = (*parsed)["schema"];
  const Value object = (*parsed)["object"];
  const auto made = catalog::CustomResources::Compile(DefinitionOf(arena, props), {ObjectMeta()});
  if (!made.ok()) return 0;
  const schema::Schema& node = *(*made)->FindSchema("v1");
  std::vector<std::string> unknown;
  (void)schema::CheckMetadata(arena, node, object);
  const Value pruned = schema::Prune(arena, node, object, true, &unknown);
  // What is pruned stays pruned.
  if (!(schema::Prune(arena, node, pruned, true, nullptr) == pruned)) std::abort();
  const auto filled = schema::ApplySchemaDefaults(arena, node, pruned);
  if (!filled.ok()) return 0;  // too many defaults
  const Value defaulted = *filled;
  portcullis::api::FieldErrors errors;
  schema::ValidateValue(*node.constraints, defaulted, portcullis::api::FieldPath(), errors);
  schema::ValidateValue(*node.constraints, defaulted, portcullis::api::FieldPath(), errors,
                        &object);
  schema::ValidateListTypes(node.constraints->props, defaulted, portcullis::api::FieldPath(),
                            errors);
  for (const auto& error : errors) (void)error.ToString();
  return 0;
}
