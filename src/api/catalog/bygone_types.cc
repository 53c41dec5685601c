// SPDX-License-Identifier: Apache-2.0

#include "api/catalog/bygone_types.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/catalog/bygone_kinds.h"
#include "api/catalog/catalog_base.h"
#include "base/strings.h"

namespace portcullis::api::catalog {
namespace {

using schema::Field;
using schema::Schema;

using TypeNames = std::set<std::string_view>;

// Go's types without fields, "v1.Protocol", that the core group and meta/v1 have: the packages of other groups
// refer to these by the same names as to their own.
TypeNames CommonTypes(const CatalogBase& base) {
  TypeNames names;
  for (const auto& [name, type] : base.definitions) {
    if (!name.starts_with("io.k8s.api.core.v1.") &&
        !name.starts_with("io.k8s.apimachinery.pkg.apis.meta.v1.")) {
      continue;
    }
    for (const Field& field : type->fields) {
      const Schema* leaf = field.schema;
      while (leaf != nullptr && leaf->element != nullptr) leaf = leaf->element;
      if (leaf != nullptr && leaf->definition.empty()) names.insert(leaf->go_type);
    }
  }
  return names;
}

// Copies the types of one version that lie in the package of the later one, with the fields that they
// have in the bygone version.
class Copier {
 public:
  Copier(CatalogBase& base, const BygoneKinds& row, const TypeNames& common)
      : base_(base),
        row_(row),
        common_(common),
        version_(base::StrCat(row.group, "/", row.version)) {}

  void CopyKind(const std::string& kind) {
    const auto later = base_.kinds.find({std::string(row_.group), std::string(row_.later), kind});
    if (later == base_.kinds.end()) return;
    package_ = PackageOf(*later->second);
    const GroupVersionKind name{std::string(row_.group), std::string(row_.version), kind};
    base_.definitions.emplace(base_.pool.Copy(name.ToString()), Copy(later->second));
  }

 private:
  static std::string_view PackageOf(const Schema& type) {
    return type.definition.substr(0, type.definition.rfind('.') + 1);
  }

  // "[]v1.Endpoint" becomes "[]v1beta1.Endpoint".
  std::string_view InVersion(std::string_view go_type) {
    const std::string later = base::StrCat(row_.later, ".");
    const std::size_t at = go_type.find(later);
    if (at == std::string_view::npos) return go_type;
    return base_.pool.Copy(
        base::StrCat(go_type.substr(0, at), row_.version, ".", go_type.substr(at + later.size())));
  }

  bool IsOwnText(const Schema& type) const {
    return type.element == nullptr && type.fields.empty() &&
           type.go_type.starts_with(base::StrCat(row_.later, ".")) &&
           !common_.contains(type.go_type);
  }

  // The type itself if nothing in it is of the package.
  const Schema* Copy(const Schema* type) {
    if (type == nullptr) return nullptr;
    if (const auto made = made_.find(type); made != made_.end()) return made->second;
    const bool own = type->definition.empty() ? IsOwnText(*type) : PackageOf(*type) == package_;
    if (!own && !type->definition.empty()) return type;
    const Schema* element = nullptr;
    if (!own) {
      element = Copy(type->element);
      if (element == type->element) return type;
    }
    Schema* const node = base_.pool.Add();
    made_.emplace(type, node);
    *node = *type;
    node->go_type = InVersion(type->go_type);
    node->element = own ? Copy(type->element) : element;
    for (Field& field : node->fields) field.schema = Copy(field.schema);
    for (const BygoneField& change : kBygoneFields) {
      if (change.type == type->go_struct && IsOf(change)) Change(*node, change);
    }
    schema::SchemaPool::Finish(*node);
    return node;
  }

  bool IsOf(const BygoneField& change) const {
    for (const std::string_view version : base::Split(change.versions, ' ')) {
      if (version == version_) return true;
    }
    return false;
  }

  void Change(Schema& node, const BygoneField& change) {
    std::optional<Field> made;
    for (auto field = node.fields.begin(); field != node.fields.end(); ++field) {
      if (change.field.empty() || field->name != change.field) continue;
      made = *field;
      node.fields.erase(field);
      break;
    }
    if (change.name.empty()) return;
    if (change.like == "*") {
      if (made) made->pointer = true;
    } else if (change.like.find(' ') != std::string_view::npos) {
      made->schema = Gathered(change.like);
    } else if (const auto path = base::Cut(change.like, ".")) {
      made = LaterField(path->first, path->second);
      if (made) made->schema = Copy(made->schema);
    }
    if (made) Add(node, *made, change.name);
  }

  void Add(Schema& node, Field field, std::string_view name) {
    field.name = base_.pool.Copy(name);
    node.fields.push_back(field);
  }

  std::optional<Field> LaterField(std::string_view type, std::string_view name) const {
    const auto later = base_.definitions.find(base::StrCat(package_, type));
    if (later == base_.definitions.end()) return std::nullopt;
    for (const Field& field : later->second->fields) {
      if (field.name == name) return field;
    }
    return std::nullopt;
  }

  const Schema* Gathered(std::string_view like) {
    Schema* const node = base_.pool.Add();
    node->kind = schema::Kind::kStruct;
    const auto words = base::Split(like, ' ');
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto names = base::Cut(words[i], "=");
      auto field = LaterField(words[0], names->second);
      if (!field) continue;
      field->schema = Copy(field->schema);
      Add(*node, *field, names->first);
    }
    node->go_struct = base_.pool.Copy(base::StrCat(words[0], "Spec"));
    node->go_type = base_.pool.Copy(base::StrCat(row_.version, ".", node->go_struct));
    schema::SchemaPool::Finish(*node);
    return node;
  }

  CatalogBase& base_;
  const BygoneKinds& row_;
  const TypeNames& common_;
  const std::string version_;
  std::string_view package_;
  std::unordered_map<const Schema*, const Schema*> made_;
};

}  // namespace

void AddBygoneTypes(CatalogBase& base) {
  const TypeNames common = CommonTypes(base);
  for (const BygoneKinds& row : kBygoneKinds) {
    if (row.later.empty()) continue;
    Copier copier(base, row, common);
    for (const std::string_view kind : base::Split(row.kinds, ' ')) {
      copier.CopyKind(std::string(kind));
      copier.CopyKind(base::StrCat(kind, "List"));
    }
  }
}

const schema::Schema* FindReadable(const Catalog& catalog, const GroupVersionKind& kind) {
  const schema::Schema* schema = catalog.FindSchema(kind);
  return schema != nullptr ? schema : catalog.FindDefinition(kind.ToString());
}

}  // namespace portcullis::api::catalog
