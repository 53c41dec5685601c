#include <algorithm>

#include "api/catalog/catalog.h"
#include "api/schema/structural.h"
#include "base/strings.h"

namespace portcullis::api::catalog {
namespace {

using json::Value;

std::vector<std::string> Strings(Value list) {
  std::vector<std::string> strings;
  for (const Value& element : list.elements()) strings.emplace_back(element.AsString());
  return strings;
}

std::vector<std::string> VerbsOf(Value definition) {
  // In the order in which an apiserver writes them for custom resources.
  for (const Value& condition : definition["status"]["conditions"].elements()) {
    if (condition["type"].AsString() == "Terminating" && condition["status"].AsString() == "True") {
      return {"delete", "deletecollection", "get", "list", "watch"};
    }
  }
  return {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
}

std::string_view StorageVersion(Value versions) {
  for (const Value& version : versions.elements()) {
    if (version["storage"].AsBool()) return version["name"].AsString();
  }
  return versions[std::size_t{0}]["name"].AsString();
}

std::string DeprecationWarning(Value spec, Value version) {
  if (!version["deprecated"].AsBool()) return "";
  const std::string_view given = version["deprecationWarning"].AsString();
  if (!given.empty()) return std::string(given);
  const std::string_view group = spec["group"].AsString();
  const std::string_view kind = spec["names"]["kind"].AsString();
  const std::string_view name = version["name"].AsString();
  std::string text = base::StrCat(group, "/", name, " ", kind, " is deprecated");
  std::string_view better;
  for (const Value& other : spec["versions"].elements()) {
    const std::string_view candidate = other["name"].AsString();
    if (!other["served"].AsBool() || other["deprecated"].AsBool()) continue;
    if (CompareKubeVersions(candidate, name) >= 0) continue;
    if (better.empty() || CompareKubeVersions(candidate, better) < 0) better = candidate;
  }
  if (!better.empty()) text += base::StrCat("; use ", group, "/", better, " ", kind);
  return text;
}

std::vector<ColumnInfo> ColumnsOf(Value version) {
  std::vector<ColumnInfo> columns;
  columns.push_back({"Name", "string", "name", "", 0, ".metadata.name"});
  const Value extra = version["additionalPrinterColumns"];
  if (extra.empty()) {
    columns.push_back({"Age", "date", "", "", 0, ".metadata.creationTimestamp"});
    return columns;
  }
  for (const Value& column : extra.elements()) {
    const std::string_view path = column["jsonPath"].AsString();
    const std::string_view given = column["description"].AsString();
    ColumnInfo& added = columns.emplace_back();
    added.name = column["name"].AsString();
    added.type = column["type"].AsString();
    added.format = column["format"].AsString();
    added.description =
        given.empty()
            ? base::StrCat("Custom resource definition column (in JSONPath format): ", path)
            : std::string(given);
    added.priority = static_cast<int>(column["priority"].AsInt());
    added.json_path = path;
  }
  return columns;
}

void AddSubresources(Value version, ResourceInfo& info) {
  const Value subresources = version["subresources"];
  const std::vector<std::string> verbs = {"get", "patch", "update"};
  if (subresources["status"].is_object()) {
    info.subresources.push_back({"status", info.kind, verbs, info.schema});
  }
  const Value scale = subresources["scale"];
  if (!scale.is_object()) return;
  info.subresources.push_back({"scale", {"autoscaling", "v1", "Scale"}, verbs, nullptr});
  info.scale = ScalePaths{std::string(scale["specReplicasPath"].AsString()),
                          std::string(scale["statusReplicasPath"].AsString()),
                          std::string(scale["labelSelectorPath"].AsString())};
}

ResourceInfo MakeResource(Value definition, Value version) {
  const Value spec = definition["spec"];
  const Value names = spec["names"];
  ResourceInfo info;
  const std::string group(spec["group"].AsString());
  const std::string name(version["name"].AsString());
  info.resource = {group, name, std::string(names["plural"].AsString())};
  info.kind = {group, name, std::string(names["kind"].AsString())};
  info.list_kind = names["listKind"].AsString();
  if (info.list_kind.empty()) info.list_kind = info.kind.kind + "List";
  info.singular = names["singular"].AsString();
  if (info.singular.empty()) info.singular = base::ToLower(info.kind.kind);
  info.namespaced = spec["scope"].AsString() == "Namespaced";
  info.custom = true;
  info.verbs = VerbsOf(definition);
  info.short_names = Strings(names["shortNames"]);
  info.categories = Strings(names["categories"]);
  info.storage_kind = {group, std::string(StorageVersion(spec["versions"])), info.kind.kind};
  info.storage_version_hash = StorageVersionHash(info.storage_kind);
  info.columns = ColumnsOf(version);
  info.deprecation_warning = DeprecationWarning(spec, version);
  for (const Value& field : version["selectableFields"].elements()) {
    std::string_view path = field["jsonPath"].AsString();
    if (path.starts_with('.')) path.remove_prefix(1);
    info.selectable_fields.emplace_back(path);
  }
  return info;
}

}  // namespace

base::Result<std::shared_ptr<const CustomResources>> CustomResources::Compile(
    Value definition, const schema::Schema* object_meta) {
  const Value spec = definition["spec"];
  if (spec["versions"].empty() || spec["names"]["plural"].AsString().empty()) {
    return base::Invalid("the definition has no versions or no names");
  }
  std::shared_ptr<CustomResources> made(new CustomResources());
  made->group_ = spec["group"].AsString();
  for (const Value& version : spec["versions"].elements()) {
    if (!version["served"].AsBool()) continue;
    ResourceInfo info = MakeResource(definition, version);
    info.schema =
        schema::MakeStructural(made->pool_, version["schema"]["openAPIV3Schema"], object_meta);
    AddSubresources(version, info);
    made->resources_.push_back(std::move(info));
  }
  return std::shared_ptr<const CustomResources>(std::move(made));
}

std::size_t CustomResources::bytes_used() const {
  constexpr std::size_t kPerResource = 512;  // names, verbs, columns
  return pool_.bytes_used() + resources_.size() * (sizeof(ResourceInfo) + kPerResource);
}

}  // namespace portcullis::api::catalog
