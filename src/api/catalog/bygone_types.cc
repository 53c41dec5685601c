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

// The one type that an old version shares with the later one: a CronJob of v1beta1 makes Jobs of v1.
constexpr std::string_view kSharedType = "io.k8s.api.batch.v1.JobSpec";

constexpr std::string_view kApps = "io.k8s.api.apps.v1.";
constexpr std::string_view kNetworking = "io.k8s.api.networking.v1.";
// Kinds of docs/legacy.md, and the package in which the catalog has the types that they share with later versions.
constexpr std::pair<BygoneKinds, std::string_view> kRenamedKinds[] = {
    {{"apps", "v1beta1", "v1", "Deployment StatefulSet"}, kApps},
    {{"apps", "v1beta2", "v1", "DaemonSet Deployment ReplicaSet StatefulSet"}, kApps},
    {{"batch", "v1beta1", "v1", "CronJob"}, "io.k8s.api.batch.v1."},
    {{"extensions", "v1beta1", "v1", "DaemonSet Deployment ReplicaSet"}, kApps},
    {{"extensions", "v1beta1", "v1", "Ingress NetworkPolicy"}, kNetworking},
    {{"networking.k8s.io", "v1beta1", "v1", "Ingress"}, kNetworking},
    {{"policy", "v1beta1", "v1", "PodDisruptionBudget"}, "io.k8s.api.policy.v1."},
};

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

  // A kind that the catalog has, and whose types lie in `package`, too, where they have the names of the later
  // version.
  void RenameKind(const std::string& kind, std::string_view package) {
    const GroupVersionKind name{std::string(row_.group), std::string(row_.version), kind};
    const auto found = base_.kinds.find(name);
    if (found == base_.kinds.end()) return;
    package_ = package;
    old_version_ = base::StrCat(".", row_.version, ".");
    found->second = Copy(found->second);
    for (ResourceInfo& resource : base_.resources) {
      if (resource.kind == name) resource.schema = found->second;
    }
  }

 private:
  static std::string_view PackageOf(const Schema& type) {
    return type.definition.substr(0, type.definition.rfind('.') + 1);
  }

  bool IsOwn(const Schema& type) const {
    if (type.definition.empty()) return IsOwnText(type);
    const std::string_view package = PackageOf(type);
    const bool is_old = !old_version_.empty() && package.ends_with(old_version_);
    return (package == package_ || is_old) && type.definition != kSharedType;
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
    const bool own = IsOwn(*type);
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
  std::string old_version_;  // what packages of the version end in, of a kind that the catalog has
  std::unordered_map<const Schema*, const Schema*> made_;
};

// v1.List, which no document has: a list of objects of any kind.
void AddList(CatalogBase& base) {
  const auto pods = base.kinds.find({"", "v1", "PodList"});
  if (pods == base.kinds.end()) return;
  Schema* const any = base.pool.Add();
  any->kind = schema::Kind::kAny;
  any->go_type = "runtime.RawExtension";
  Schema* const items = base.pool.Add();
  items->kind = schema::Kind::kArray;
  items->go_type = "[]runtime.RawExtension";
  items->element = any;
  Schema* const list = base.pool.Add();
  *list = *pods->second;
  list->go_struct = "List";
  list->go_type = "v1.List";
  for (Field& field : list->fields) {
    if (field.name == "items") field.schema = items;
  }
  schema::SchemaPool::Finish(*list);
  base.definitions.emplace(base.pool.Copy(GroupVersionKind{"", "v1", "List"}.ToString()), list);
}

}  // namespace

void AddBygoneTypes(CatalogBase& base) {
  AddList(base);
  const TypeNames common = CommonTypes(base);
  for (const BygoneKinds& row : kBygoneKinds) {
    if (row.later.empty()) continue;
    Copier copier(base, row, common);
    for (const std::string_view kind : base::Split(row.kinds, ' ')) {
      copier.CopyKind(std::string(kind));
      copier.CopyKind(base::StrCat(kind, "List"));
    }
  }
  for (const auto& [row, package] : kRenamedKinds) {
    Copier copier(base, row, common);
    for (const std::string_view kind : base::Split(row.kinds, ' ')) {
      copier.RenameKind(std::string(kind), package);
      copier.RenameKind(base::StrCat(kind, "List"), package);
    }
  }
}

const schema::Schema* FindReadable(const Catalog& catalog, const GroupVersionKind& kind) {
  const schema::Schema* schema = catalog.FindSchema(kind);
  return schema != nullptr ? schema : catalog.FindDefinition(kind.ToString());
}

}  // namespace portcullis::api::catalog
