// SPDX-License-Identifier: Apache-2.0

// Reads the JSON of a catalog file's `catalog` section into schemas and resources. The file is made
// by import.cc; its form is described in docs/internals/catalog.md.
#include <algorithm>
#include <array>

#include "api/catalog/bygone_types.h"
#include "api/catalog/catalog_base.h"
#include "api/catalog/catalog_file.h"
#include "api/embedded_data.h"
#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::api::catalog {
namespace {

using json::Value;
using schema::Kind;
using schema::Schema;

constexpr std::string_view kObjectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
constexpr std::string_view kInitializers = "io.k8s.apimachinery.pkg.apis.meta.v1.Initializers";
constexpr int kFirstToMergePending = 8;  // by name; v1.7 replaced the list

struct KindName {
  std::string_view name;
  Kind kind;
};
constexpr std::array<KindName, 15> kKinds = {{{"any", Kind::kAny},
                                              {"struct", Kind::kStruct},
                                              {"map", Kind::kMap},
                                              {"array", Kind::kArray},
                                              {"string", Kind::kString},
                                              {"bytes", Kind::kBytes},
                                              {"integer", Kind::kInteger},
                                              {"number", Kind::kNumber},
                                              {"boolean", Kind::kBoolean},
                                              {"quantity", Kind::kQuantity},
                                              {"intOrString", Kind::kIntOrString},
                                              {"time", Kind::kTime},
                                              {"microTime", Kind::kMicroTime},
                                              {"duration", Kind::kDuration},
                                              {"union", Kind::kUnion}}};

Kind KindOf(std::string_view name) {
  for (const KindName& entry : kKinds) {
    if (entry.name == name) return entry.kind;
  }
  return Kind::kAny;
}

schema::ListType ListTypeOf(std::string_view name) {
  if (name == "atomic") return schema::ListType::kAtomic;
  if (name == "set") return schema::ListType::kSet;
  if (name == "map") return schema::ListType::kMap;
  return schema::ListType::kUnset;
}

schema::MapType MapTypeOf(std::string_view name) {
  if (name == "atomic") return schema::MapType::kAtomic;
  if (name == "granular") return schema::MapType::kGranular;
  return schema::MapType::kUnset;
}

std::string_view StructName(std::string_view go_type) {
  return go_type.substr(go_type.rfind('.') + 1);
}

std::vector<std::string> Strings(Value list) {
  std::vector<std::string> strings;
  for (const Value& element : list.elements()) strings.emplace_back(element.AsString());
  return strings;
}

std::vector<std::string> SplitVerbs(Value verbs) {
  std::vector<std::string> list;
  if (verbs.AsString().empty()) return list;
  for (const std::string_view verb : base::Split(verbs.AsString(), ',')) list.emplace_back(verb);
  return list;
}

GroupVersionKind KindFrom(Value triple) {
  return {std::string(triple[std::size_t{0}].AsString()), std::string(triple[1].AsString()),
          std::string(triple[2].AsString())};
}

class Loader {
 public:
  Loader(CatalogBase& catalog, const LegacyOptions& legacy)
      : catalog_(catalog),
        pool_(catalog.pool),
        initializers_(legacy.initializers),
        replaces_pending_(legacy.minor < kFirstToMergePending) {}

  void Load(Value root) {
    LoadTypes(root["types"]);
    for (const Value& entry : root["kinds"].elements()) {
      const auto definition = catalog_.definitions.find(entry[3].AsString());
      if (definition == catalog_.definitions.end()) continue;
      catalog_.kinds.emplace(KindFrom(entry), definition->second);
    }
    for (const Value& group : root["groups"].elements()) {
      catalog_.groups.emplace_back(group["name"].AsString(), Strings(group["versions"]));
    }
    for (const Value& entry : root["resources"].elements()) LoadResource(entry);
  }

 private:
  // A type with a map type that one field gives it; a copy of the type, made once that is filled.
  struct Variant {
    Schema* node;
    const Schema* of;
    schema::MapType map_type;
  };

  // Types refer to one another, so all nodes exist before the first is filled.
  void LoadTypes(Value types) {
    std::vector<Schema*> nodes;
    nodes.reserve(types.size());
    for (const json::Member& member : types.members()) {
      Schema* node = pool_.Add();
      node->definition = pool_.Copy(member.name());
      catalog_.definitions.emplace(node->definition, node);
      nodes.push_back(node);
    }
    std::size_t next = 0;
    for (const json::Member& member : types.members()) Fill(*nodes[next++], member.value);
    for (const Variant& variant : variants_) {
      *variant.node = *variant.of;
      variant.node->map_type = variant.map_type;
    }
  }

  const Schema* TypeOf(Value type) {
    if (type.is_string()) {
      const std::string_view text = type.AsString();
      if (text.starts_with('#')) {
        const auto found = catalog_.definitions.find(text.substr(1));
        return found != catalog_.definitions.end() ? found->second : pool_.Leaf(Kind::kAny, "", "");
      }
      const auto parts = SplitLeaf(text);
      return pool_.Leaf(KindOf(parts[0]), parts[1], parts[2]);
    }
    Schema* node = pool_.Add();
    Fill(*node, type);
    return node;
  }

  static std::array<std::string_view, 3> SplitLeaf(std::string_view text) {
    const std::size_t first = text.find('|');
    const std::size_t second = text.find('|', first + 1);
    if (second == std::string_view::npos) return {text, "", ""};
    return {text.substr(0, first), text.substr(first + 1, second - first - 1),
            text.substr(second + 1)};
  }

  void FillLeaf(Schema& node, std::string_view text) {
    const auto parts = SplitLeaf(text);
    node.kind = KindOf(parts[0]);
    node.go_type = pool_.Copy(parts[1]);
    node.format = pool_.Copy(parts[2]);
  }

  void Fill(Schema& node, Value type) {
    if (type.is_string()) return FillLeaf(node, type.AsString());
    if (type.Has("leaf")) {
      FillLeaf(node, type["leaf"].AsString());
      for (const Value& value : type["enum"].elements()) {
        node.enum_values.push_back(pool_.Copy(value.AsString()));
      }
      return;
    }
    node.kind = KindOf(type["kind"].AsString());
    node.go_type = pool_.Copy(type["go"].AsString());
    node.list_type = ListTypeOf(type["list"].AsString());
    node.map_type = MapTypeOf(type["map"].AsString());
    node.element_pointer = type["elementPointer"].AsBool();
    for (const Value& key : type["keys"].elements()) {
      node.list_map_keys.push_back(pool_.Copy(key.AsString()));
    }
    if (type.Has("element")) node.element = TypeOf(type["element"]);
    if (node.kind == Kind::kStruct) FillStruct(node, type["fields"]);
  }

  void FillStruct(Schema& node, Value fields) {
    node.go_struct = StructName(node.go_type);
    node.fields.reserve(fields.size());
    for (const Value& entry : fields.elements()) node.fields.push_back(FieldFrom(entry));
    if (initializers_ && node.definition == kObjectMeta) AddInitializers(node);
    if (replaces_pending_ && node.definition == kInitializers) {
      for (schema::Field& field : node.fields) field.patch_merge = false;
    }
    schema::SchemaPool::Finish(node);
  }

  // Where Go had it: behind ownerReferences.
  void AddInitializers(Schema& object_meta) {
    schema::Field field;
    field.name = "initializers";
    field.pointer = true;
    field.schema = catalog_.definitions.find(kInitializers)->second;
    field.details = pool_.AddDetails({.go_name = "Initializers"});
    auto& fields = object_meta.fields;
    const auto owners = std::find_if(fields.begin(), fields.end(), [](const schema::Field& before) {
      return before.name == "ownerReferences";
    });
    fields.insert(owners == fields.end() ? owners : owners + 1, field);
  }

  schema::Field FieldFrom(Value entry) {
    schema::Field field;
    field.name = pool_.Copy(entry[std::size_t{0}].AsString());
    field.omit = schema::Omit::kNever;
    for (const char flag : entry[2].AsString()) ApplyFlag(field, flag);
    field.schema = TypeOf(entry[3]);
    const Value more = entry[4];
    if (more.Has("map")) {
      Schema* node = pool_.Add();
      variants_.push_back({node, field.schema, MapTypeOf(more["map"].AsString())});
      field.schema = node;
    }
    field.details =
        pool_.AddDetails({.go_name = GoName(field.name, entry[1].AsString()),
                          .patch_merge_key = pool_.Copy(more["mergeKey"].AsString()),
                          .default_value = json::DeepCopy(pool_.arena(), more["default"])});
    return field;
  }

  std::string_view GoName(std::string_view name, std::string_view go_name) {
    if (!go_name.empty() || name.empty()) return pool_.Copy(go_name);
    std::string capital(name);
    if (capital[0] >= 'a' && capital[0] <= 'z') capital[0] = static_cast<char>(capital[0] - 32);
    return pool_.Copy(capital);
  }

  static void ApplyFlag(schema::Field& field, char flag) {
    switch (flag) {
      case 'r':
        field.required = true;
        break;
      case 'p':
        field.pointer = true;
        break;
      case 'e':
        if (field.omit == schema::Omit::kNever) field.omit = schema::Omit::kEmpty;
        break;
      case 'z':
        field.omit = schema::Omit::kZero;
        break;
      case 'm':
        field.patch_merge = true;
        break;
      case 'R':
        field.patch_replace = true;
        break;
      case 'k':
        field.patch_retain_keys = true;
        break;
      default:
        break;
    }
  }

  const Schema* SchemaOf(const GroupVersionKind& kind) const {
    const auto found = catalog_.kinds.find(kind);
    return found == catalog_.kinds.end() ? nullptr : found->second;
  }

  void LoadResource(Value entry) {
    ResourceInfo& info = catalog_.resources.emplace_back();
    info.resource = {std::string(entry["group"].AsString()),
                     std::string(entry["version"].AsString()),
                     std::string(entry["name"].AsString())};
    info.kind = KindFrom(entry["kind"]);
    info.singular = entry["singular"].AsString();
    info.list_kind = info.kind.kind + "List";
    info.namespaced = entry["namespaced"].AsBool();
    info.served_by_default = !entry["optIn"].AsBool();
    if (const Value legacy = entry["legacy"]; legacy.is_array()) {
      info.legacy = {static_cast<int>(legacy[std::size_t{0}].AsInt()),
                     static_cast<int>(legacy[1].AsInt()), std::string(legacy[2].AsString())};
    }
    info.verbs = SplitVerbs(entry["verbs"]);
    info.short_names = Strings(entry["shortNames"]);
    info.categories = Strings(entry["categories"]);
    info.storage_version_hash = entry["hash"].AsString();
    info.storage_kind = entry.Has("storage") ? KindFrom(entry["storage"]) : info.kind;
    info.deprecation_warning = entry["deprecated"].AsString();
    info.selectable_fields = Strings(entry["selectable"]);
    info.schema = SchemaOf(info.kind);
    info.list_schema = SchemaOf({info.kind.group, info.kind.version, info.list_kind});
    for (const Value& column : entry["columns"].elements()) {
      ColumnInfo& added = info.columns.emplace_back();
      added.name = column[std::size_t{0}].AsString();
      added.type = column[1].AsString();
      added.format = column[2].AsString();
      added.priority = static_cast<int>(column[3].AsInt());
      added.description = column[4].AsString();
    }
    for (const Value& subresource : entry["subresources"].elements()) {
      SubresourceInfo& added = info.subresources.emplace_back();
      added.name = subresource[std::size_t{0}].AsString();
      added.verbs = SplitVerbs(subresource[1]);
      added.kind = KindFrom(subresource[2]);
      added.schema = SchemaOf(added.kind);
    }
  }

  CatalogBase& catalog_;
  schema::SchemaPool& pool_;
  std::vector<Variant> variants_;
  const bool initializers_;
  const bool replaces_pending_;  // strategic merge patches replace metadata.initializers.pending
};

}  // namespace

base::Result<std::shared_ptr<CatalogBase>> LoadBase(std::string_view file,
                                                    const LegacyOptions& legacy) {
  const std::string text = TRY(UnpackSection(file, kCatalogSection));
  json::Arena arena;
  json::ParseOptions options;
  options.borrow_text = true;
  const Value root = TRY(json::Parse(arena, text, options));
  auto base = std::make_shared<CatalogBase>();
  base->file = file;
  if (file.data() != EmbeddedCatalogFile().data()) {
    base->owned_file = file;
    base->file = base->owned_file;
  }
  Loader(*base, legacy).Load(root);
  AddBygoneTypes(*base);
  return base;
}

}  // namespace portcullis::api::catalog
