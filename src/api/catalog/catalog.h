// SPDX-License-Identifier: Apache-2.0

// Catalog: the groups, versions, kinds, resources and schemas an apiserver serves, as one immutable
// snapshot. The built-in kinds are data made by `portcullis schema import`; custom resources are
// added in a new snapshot that shares everything with the old one.
//
//   auto catalog = TRY(Catalog::BuiltIn({}));
//   const ResourceInfo* pods = catalog->Find("", "v1", "pods");
//   json::Value object = TRY(schema::Decode(arena, *pods->schema, body));
//
// Immutable after construction, shared as std::shared_ptr<const Catalog>. Pointers to its entries
// live as long as the snapshot (keep the shared_ptr for the length of a request).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/names.h"
#include "api/schema/schema.h"
#include "base/status.h"
#include "json/value.h"
#include "release/release.h"

namespace portcullis::api {
class CustomConverter;
}

namespace portcullis::api::catalog {

class CustomResources;

struct ColumnInfo {
  std::string name;
  std::string type;
  std::string format;
  std::string description;
  int priority = 0;
  std::string json_path;  // custom resources: additionalPrinterColumns[].jsonPath
};

struct SubresourceInfo {
  std::string name;                        // "status", "scale", "log"
  GroupVersionKind kind;                   // what is read and written: {autoscaling, v1, Scale}
  std::vector<std::string> verbs;          // sorted
  const schema::Schema* schema = nullptr;  // null for kinds without one (connect options)
  bool HasVerb(std::string_view verb) const;
};

// Paths of a custom resource's scale subresource.
struct ScalePaths {
  std::string spec_replicas;
  std::string status_replicas;
  std::string label_selector;
};

// A resource that v1.36 does not have (docs/legacy.md).
struct LegacyServing {
  int since_minor = 0;  // the releases that served it
  int until_minor = 0;
  // What serves it in other releases besides group/version/resource in --runtime-config: "version":
  // group/version there; "resource": nothing else; else group/version together with this plugin.
  std::string enabled_by;
};

struct ResourceInfo {
  GroupVersionResource resource;
  GroupVersionKind kind;
  std::string list_kind;  // "PodList"
  std::string singular;
  bool namespaced = false;
  bool custom = false;
  bool served_by_default = true;  // false: only with --runtime-config
  std::optional<LegacyServing> legacy;
  std::vector<std::string> verbs;  // sorted
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  std::string storage_version_hash;  // "" for what is not stored
  GroupVersionKind storage_kind;     // as which objects are stored
  std::vector<SubresourceInfo> subresources;
  std::vector<ColumnInfo> columns;
  std::vector<std::string> selectable_fields;  // beyond metadata.name and metadata.namespace
  const schema::Schema* schema = nullptr;      // of `kind`; null if nothing is known of it
  const schema::Schema* list_schema = nullptr;
  std::optional<ScalePaths> scale;  // custom resources
  std::string deprecation_warning;  // sent with every answer; "" if the version is current
  const CustomResources* definition = nullptr;  // of a custom resource; else null
  // Of a custom resource: different for each version of each definition that was compiled in this
  // process; else 0.
  std::uint32_t number = 0;

  const SubresourceInfo* FindSubresource(std::string_view name) const;
  bool HasVerb(std::string_view verb) const;
  // Objects of this resource lie in the store under this group and resource.
  GroupResource stored_as() const { return {storage_kind.group, resource.resource}; }
};

struct VersionInfo {
  std::string version;
  std::vector<const ResourceInfo*> resources;  // served, in order of their names
};

struct GroupInfo {
  std::string name;                   // "" for the core group
  std::vector<VersionInfo> versions;  // preferred first; only those with something served
};

// Names that a definition goes by: those of its spec, or those that it got.
struct CustomNames {
  std::string plural;
  std::string singular;
  std::string kind;
  std::string list_kind;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  bool operator==(const CustomNames&) const = default;
};

// A CustomResourceDefinition made ready: one resource per served version. Compiled once when the
// definition changes and shared between snapshots. Immutable after construction.
class CustomResources {
 public:
  struct Parts {
    // The schema of ObjectMeta (Catalog::object_meta()).
    const schema::Schema* object_meta = nullptr;
    // Between the versions; null: strategy None.
    std::shared_ptr<const CustomConverter> converter;
    // Under which names it is served; unset: those of the spec.
    std::optional<CustomNames> names;
    bool terminating = false;  // no new objects
  };
  // `definition` is a valid, defaulted apiextensions.k8s.io/v1 object, needed only here.
  static base::Result<std::shared_ptr<const CustomResources>> Compile(json::Value definition,
                                                                      Parts parts);
  const std::vector<ResourceInfo>& resources() const { return resources_; }
  const std::string& group() const { return group_; }
  const CustomConverter& converter() const { return *converter_; }
  bool terminating() const { return terminating_; }
  // Of any version of the definition, served or not; null if it has no such version.
  const schema::Schema* FindSchema(std::string_view version) const;
  // Of the versions as they were given: tells two states of a definition apart.
  std::uint64_t digest() const { return digest_; }
  std::size_t bytes_used() const;  // about

 private:
  CustomResources() = default;
  std::uint64_t digest_ = 0;
  bool terminating_ = false;
  std::string group_;
  std::shared_ptr<const CustomConverter> converter_;
  schema::SchemaPool pool_;
  std::vector<std::pair<std::string, const schema::Schema*>> schemas_;  // by version
  std::vector<ResourceInfo> resources_;
};

// What --runtime-config says: "api/all", "api/beta", "group/version" or "group/version/resource"
// to true or false.
using RuntimeConfig = std::map<std::string, bool>;
// Parses "apps/v1=true,api/beta=false"; a key without value means true.
base::Result<RuntimeConfig> ParseRuntimeConfig(std::string_view text);

// What of the past is served besides: see docs/legacy.md.
struct LegacyOptions {
  int minor = release::kNewestMinor;      // release::Release::legacy_minor()
  std::vector<std::string_view> plugins;  // enabled
  bool initializers = false;              // objects have metadata.initializers
};

struct CatalogBase;

class Catalog {
 public:
  // The catalog embedded in the program, with the resources that `config` leaves served.
  static base::Result<std::shared_ptr<const Catalog>> BuiltIn(const RuntimeConfig& config,
                                                              const LegacyOptions& legacy = {});
  // The same of a catalog file's bytes (docs/internals/catalog.md).
  static base::Result<std::shared_ptr<const Catalog>> Load(std::string_view bytes,
                                                           const RuntimeConfig& config,
                                                           const LegacyOptions& legacy = {});
  // This catalog's built-in kinds with exactly these custom resources.
  std::shared_ptr<const Catalog> WithCustomResources(
      std::vector<std::shared_ptr<const CustomResources>> custom) const;

  // Served resources only; null if there is none.
  const ResourceInfo* Find(std::string_view group, std::string_view version,
                           std::string_view resource) const;
  const ResourceInfo* Find(const GroupVersionResource& r) const {
    return Find(r.group, r.version, r.resource);
  }
  // The resource whose objects are of this kind (not subresources).
  const ResourceInfo* FindKind(const GroupVersionKind& kind) const;
  // The resource in its preferred version.
  const ResourceInfo* FindPreferred(std::string_view group, std::string_view resource) const;
  const GroupInfo* FindGroup(std::string_view group) const;
  bool ServesVersion(std::string_view group, std::string_view version) const;

  // In discovery order: core first, then by Kubernetes' group priorities, then custom groups.
  const std::vector<GroupInfo>& groups() const { return groups_; }
  const std::vector<const ResourceInfo*>& resources() const { return resources_; }
  // Custom resources in a group with built-in ones: kube-apiserver takes all paths of such a group
  // for its own, so that these are in OpenAPI documents alone.
  const std::vector<const ResourceInfo*>& shadowed() const { return shadowed_; }

  // All served versions and groups in which the objects of this resource can be had, the resource
  // itself first (apps/v1 deployments, extensions/v1beta1 deployments, …): matchPolicy Equivalent.
  std::vector<const ResourceInfo*> Equivalents(const ResourceInfo& resource) const;

  // Schema of any kind, also of those that are no resource (Scale, DeleteOptions, Status, Binding)
  // or are not served; null if unknown.
  const schema::Schema* FindSchema(const GroupVersionKind& kind) const;
  // Schema by OpenAPI definition name: "io.k8s.api.core.v1.PodSpec".
  const schema::Schema* FindDefinition(std::string_view name) const;
  const schema::Schema* object_meta() const { return object_meta_; }
  // The catalog file this was loaded from (its OpenAPI sections: catalog/openapi.h).
  std::string_view file() const;

 private:
  Catalog() = default;
  void Index();

  std::shared_ptr<const CatalogBase> base_;  // the built-in part, shared by all snapshots
  std::vector<std::shared_ptr<const CustomResources>> custom_;
  std::vector<GroupInfo> groups_;
  std::vector<const ResourceInfo*> resources_;
  std::vector<const ResourceInfo*> shadowed_;
  std::unordered_map<std::string, const ResourceInfo*> by_resource_;  // "group/version/resource"
  std::unordered_map<GroupVersionKind, const ResourceInfo*> by_kind_;
  std::unordered_map<std::string, std::vector<const ResourceInfo*>> by_storage_;
  const schema::Schema* object_meta_ = nullptr;
};

// The sum by which clients recognise a change of the storage version: base64 of the first 8 bytes
// of SHA-256 over "group/version/kind".
std::string StorageVersionHash(const GroupVersionKind& kind);

}  // namespace portcullis::api::catalog
