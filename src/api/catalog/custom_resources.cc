// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <map>

#include "api/catalog/catalog.h"
#include "api/conversion/custom_converter.h"
#include "api/json_path.h"
#include "api/schema/structural.h"
#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::api::catalog {
namespace {

using json::Value;

std::vector<std::string> Texts(Value list) {
  std::vector<std::string> strings;
  for (const Value& element : list.elements()) strings.emplace_back(element.AsString());
  return strings;
}

CustomNames NamesOf(Value names) {
  CustomNames out;
  out.plural = names["plural"].AsString();
  out.kind = names["kind"].AsString();
  out.list_kind = names["listKind"].AsString();
  if (out.list_kind.empty()) out.list_kind = out.kind + "List";
  out.singular = names["singular"].AsString();
  if (out.singular.empty()) out.singular = base::ToLower(out.kind);
  out.short_names = Texts(names["shortNames"]);
  out.categories = Texts(names["categories"]);
  return out;
}

// FNV-1a.
std::uint64_t DigestOf(std::string_view text) {
  std::uint64_t digest = 0xcbf29ce484222325U;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return digest;
}

std::uint32_t NextNumber() {
  static std::atomic<std::uint32_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
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
    // Kubernetes gives up at the first one that it cannot read.
    if (!ParseJsonPath(path).ok()) break;
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

ResourceInfo MakeResource(Value spec, Value version, const CustomNames& names) {
  ResourceInfo info;
  const std::string group(spec["group"].AsString());
  const std::string name(version["name"].AsString());
  info.resource = {group, name, names.plural};
  info.kind = {group, name, names.kind};
  info.list_kind = names.list_kind;
  info.singular = names.singular;
  info.namespaced = spec["scope"].AsString() == "Namespaced";
  info.custom = true;
  // In the order in which an apiserver writes them for custom resources.
  info.verbs = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
  info.short_names = names.short_names;
  info.categories = names.categories;
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

base::Result<std::shared_ptr<const CustomResources>> CustomResources::Compile(Value definition,
                                                                              Parts parts) {
  const Value spec = definition["spec"];
  if (spec["versions"].empty() || spec["names"]["plural"].AsString().empty()) {
    return base::Invalid("the definition has no versions or no names");
  }
  std::shared_ptr<CustomResources> made(new CustomResources());
  made->group_ = spec["group"].AsString();
  made->terminating_ = parts.terminating;
  made->converter_ = parts.converter != nullptr ? std::move(parts.converter) : MakeNoConversion();
  const CustomNames names = parts.names ? *std::move(parts.names) : NamesOf(spec["names"]);
  const Value versions = spec["versions"];
  const bool preserves = spec["preserveUnknownFields"].AsBool();
  made->digest_ = DigestOf(base::StrCat(json::ToString(versions), preserves ? "preserves" : ""));
  std::map<std::string, const schema::Schema*> by_text;
  for (const Value& version : versions.elements()) {
    const Value props = version["schema"]["openAPIV3Schema"];
    // Versions often have the same schema; one is enough.
    const schema::Schema*& node = by_text[json::ToString(props, {.sort_keys = true})];
    if (node == nullptr) {
      node = schema::MakeStructural(made->pool_, props, parts.object_meta, preserves);
    }
    made->schemas_.emplace_back(version["name"].AsString(), node);
    if (!version["served"].AsBool()) continue;
    ResourceInfo info = MakeResource(spec, version, names);
    info.schema = node;
    info.definition = made.get();
    info.number = NextNumber();
    AddSubresources(version, info);
    made->resources_.push_back(std::move(info));
  }
  made->resources_.shrink_to_fit();
  return std::shared_ptr<const CustomResources>(std::move(made));
}

const schema::Schema* CustomResources::FindSchema(std::string_view version) const {
  for (const auto& [name, node] : schemas_) {
    if (name == version) return node;
  }
  return nullptr;
}

std::size_t CustomResources::bytes_used() const {
  constexpr std::size_t kPerResource = 512;  // names, verbs, columns
  return pool_.bytes_used() + resources_.size() * (sizeof(ResourceInfo) + kPerResource);
}

}  // namespace portcullis::api::catalog
