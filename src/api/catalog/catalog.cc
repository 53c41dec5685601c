// SPDX-License-Identifier: Apache-2.0

#include "api/catalog/catalog.h"

#include <algorithm>
#include <optional>
#include <set>

#include "api/catalog/catalog_base.h"
#include "api/embedded_data.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/strconv.h"
#include "release/served_resources.h"

namespace portcullis::api::catalog {
namespace {

std::string Key(std::string_view group, std::string_view version, std::string_view resource) {
  return base::StrCat(group, "/", version, "/", resource);
}

bool Contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

std::string_view Stage(std::string_view version) {
  if (version.find("alpha") != std::string_view::npos) return "api/alpha";
  if (version.find("beta") != std::string_view::npos) return "api/beta";
  return "api/ga";
}

// Whether group/version in --runtime-config is about the legacy resource.
bool AnswersToVersion(const LegacyServing& legacy, const LegacyOptions& options) {
  if (legacy.enabled_by == "version") return true;
  return std::find(options.plugins.begin(), options.plugins.end(), legacy.enabled_by) !=
         options.plugins.end();
}

// Releases before v1.29 have the resources of v1.36.
int MinorServed(int minor) { return minor < release::kOldestMinor ? release::kNewestMinor : minor; }

bool IsDropped(const release::ServedResource& releases, int minor) {
  return releases.until_minor != 0 && MinorServed(minor) > releases.until_minor;
}

// The most specific setting wins: resource, version, stage, all, and last the default.
bool IsServed(const ResourceInfo& info, const release::ServedResource& releases,
              const RuntimeConfig& config, const LegacyOptions& options) {
  const GroupVersion gv = info.resource.group_version();
  std::string version = gv.ToString();
  if (gv.group.empty() && !config.contains(version)) version = "api/" + version;
  const auto setting = [&](const std::string& key) -> std::optional<bool> {
    const auto found = config.find(key);
    return found == config.end() ? std::nullopt : std::optional<bool>(found->second);
  };
  if (const auto set = setting(base::StrCat(version, "/", info.resource.resource))) return *set;
  const bool is_past = info.legacy && (options.minor < info.legacy->since_minor ||
                                       options.minor > info.legacy->until_minor);
  if (is_past && !AnswersToVersion(*info.legacy, options)) return false;
  if (const auto set = setting(version)) return *set;
  if (is_past || IsDropped(releases, options.minor)) return false;
  if (const auto set = setting(std::string(Stage(gv.version)))) return *set;
  if (const auto set = setting("api/all")) return *set;
  return info.served_by_default;
}

// The hash tells clients whether an object has to be stored anew: it is of the version that is stored.
void HashAsEmulated(ResourceInfo& info,
                    const std::map<std::string_view, release::ServedResource>& resources,
                    int minor) {
  GroupVersionKind kind = info.storage_kind;
  const std::string_view version = release::EmulatedStorageVersion(
      resources, kind.group, kind.version, info.resource.resource, minor);
  if (version.empty() || info.storage_version_hash.empty()) return;
  kind.version = version;
  info.storage_version_hash = StorageVersionHash(kind);
}

// Whether no release up to this one had the resource.
bool IsFuture(const release::ServedResource& releases, int minor) {
  return MinorServed(minor) < releases.since_minor;
}

release::ServedResource ReleasesOf(
    const ResourceInfo& info,
    const std::map<std::string_view, release::ServedResource>& resources) {
  const auto found = resources.find(
      base::StrCat(info.resource.group_version().ToString(), "/", info.resource.resource));
  return found == resources.end() ? release::ServedResource() : found->second;
}

// Settings of all versions of a stage.
bool IsStage(std::string_view key) {
  return key == "api/all" || key == "api/ga" || key == "api/beta" || key == "api/alpha";
}

// Before, an unknown group was told as a version that is unknown.
constexpr int kTellsUnknownGroups = 13;
// Since then, a server that would serve nothing does not start.
constexpr int kNeedsSomeVersion = 13;
// The last release that had resources only in versions that are enabled.
constexpr int kResourcesNeedVersion = 7;

base::Status CheckSomethingIsLeft(const RuntimeConfig& config, int minor) {
  const auto all = config.find("api/all");
  if (minor < kNeedsSomeVersion || config.size() != 1 || all == config.end() || all->second) {
    return base::OkStatus();
  }
  return base::ConfigError(minor < release::kOldestMinor
                               ? "invalid key with only api/all=false"
                               : "invalid runtime-config with only api/all=false");
}

bool IsVersionDisabled(const RuntimeConfig& config, const std::string& version) {
  const auto own = config.find(version);
  if (own != config.end()) return !own->second;
  const auto all = config.find("api/all");
  return all != config.end() && !all->second;
}

bool ByName(const ResourceInfo* a, const ResourceInfo* b) {
  return a->resource.resource < b->resource.resource;
}

}  // namespace

bool SubresourceInfo::HasVerb(std::string_view verb) const { return Contains(verbs, verb); }

bool ResourceInfo::HasVerb(std::string_view verb) const { return Contains(verbs, verb); }

const SubresourceInfo* ResourceInfo::FindSubresource(std::string_view name) const {
  for (const SubresourceInfo& subresource : subresources) {
    if (subresource.name == name) return &subresource;
  }
  return nullptr;
}

base::Result<RuntimeConfig> ParseRuntimeConfig(std::string_view text) {
  RuntimeConfig config;
  if (text.empty()) return config;
  for (const std::string_view piece : base::Split(text, ',')) {
    const auto parts = base::Cut(piece, "=");
    const std::string key(base::Trim(parts ? parts->first : piece));
    const std::string_view value = base::Trim(parts ? parts->second : "true");
    // A name alone, or with nothing behind its "=", enables.
    const auto enabled = golang::ParseBool(value.empty() ? "true" : value);
    if (IsStage(key) && value != "true" && value != "false") {
      return base::ConfigError(base::StrCat("invalid value ", key, "=", value));
    }
    if (!enabled.ok()) {
      return base::ConfigError(base::StrCat("invalid value of ", key, ": ", value,
                                            ", err: ", enabled.status().message()));
    }
    config[key] = *enabled;
  }
  return config;
}

// kube-apiserver accepts "v1" and "api/v1" for the core group.
base::Status CheckKeys(const std::deque<ResourceInfo>& resources, const RuntimeConfig& config,
                       int minor) {
  TRY(CheckSomethingIsLeft(config, minor));
  std::set<std::string> groups = {"", "api"};
  std::set<std::string> versions = {"v1", "api/v1"};
  for (const ResourceInfo& info : resources) {
    groups.insert(info.resource.group);
    versions.insert(info.resource.group_version().ToString());
  }
  std::vector<std::string> unknown;
  for (const auto& [key, enabled] : config) {
    if (IsStage(key) || key == "v1") continue;
    const std::vector<std::string_view> tokens = base::Split(key, '/');
    if (tokens.size() != 2 && tokens.size() != 3) {
      return base::ConfigError(base::StrCat("runtime-config invalid key ", key));
    }
    const std::string version = base::StrCat(tokens[0], "/", tokens[1]);
    if (!groups.contains(std::string(tokens[0])) && minor >= kTellsUnknownGroups) {
      unknown.push_back(version);
    } else if (!versions.contains(version)) {
      return base::ConfigError(
          base::StrCat("group version ", version, " that has not been registered"));
    } else if (tokens.size() == 3 && base::ToLower(tokens[2]) != tokens[2]) {
      return base::ConfigError(
          base::StrCat("invalid key ", key,
                       ": group/version/resource and resource is always lowercase plural, "
                       "not ",
                       base::GoQuote(tokens[2])));
    } else if (tokens.size() == 3 && minor <= kResourcesNeedVersion &&
               IsVersionDisabled(config, version)) {
      return base::ConfigError(
          base::StrCat(version, " is disabled, you cannot configure its resources individually"));
    }
  }
  if (unknown.empty()) return base::OkStatus();
  return base::ConfigError(base::StrCat("unknown api groups ", base::Join(unknown, ",")));
}

base::Result<std::shared_ptr<const Catalog>> Catalog::BuiltIn(const RuntimeConfig& config,
                                                              const LegacyOptions& legacy) {
  return Load(EmbeddedCatalogFile(), config, legacy);
}

base::Result<std::shared_ptr<const Catalog>> Catalog::Load(std::string_view bytes,
                                                           const RuntimeConfig& config,
                                                           const LegacyOptions& legacy) {
  const std::shared_ptr<CatalogBase> loaded = TRY(LoadBase(bytes, legacy));
  TRY(CheckKeys(loaded->resources, config, legacy.minor));
  const auto resources = release::ServedResources();
  for (ResourceInfo& info : loaded->resources) {
    HashAsEmulated(info, resources, legacy.minor);
    const release::ServedResource releases = ReleasesOf(info, resources);
    if (IsFuture(releases, legacy.minor)) continue;
    if (IsServed(info, releases, config, legacy)) loaded->served.push_back(&info);
  }
  std::shared_ptr<Catalog> catalog(new Catalog());
  catalog->base_ = loaded;
  const auto meta = loaded->definitions.find("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  if (meta != loaded->definitions.end()) catalog->object_meta_ = meta->second;
  catalog->Index();
  return std::shared_ptr<const Catalog>(std::move(catalog));
}

std::shared_ptr<const Catalog> Catalog::WithCustomResources(
    std::vector<std::shared_ptr<const CustomResources>> custom) const {
  std::shared_ptr<Catalog> catalog(new Catalog());
  catalog->base_ = base_;
  catalog->object_meta_ = object_meta_;
  catalog->custom_ = std::move(custom);
  catalog->Index();
  return catalog;
}

void Catalog::Index() {
  // Each request looks for its kind several times; where two share a bucket, both are hashed.
  by_kind_.max_load_factor(0.25F);
  std::map<std::string_view, std::map<std::string_view, std::vector<const ResourceInfo*>>> grouped;
  const auto add = [&](const ResourceInfo& info) {
    const GroupVersionResource& name = info.resource;
    const bool added =
        by_resource_.emplace(Key(name.group, name.version, name.resource), &info).second;
    if (!added) return;
    by_kind_.emplace(info.kind, &info);
    by_storage_[info.stored_as().ToString()].push_back(&info);
    grouped[name.group][name.version].push_back(&info);
    resources_.push_back(&info);
  };
  std::set<std::string_view> built_in;
  for (const ResourceInfo* info : base_->served) {
    add(*info);
    built_in.insert(info->resource.group);
  }
  for (const auto& resources : custom_) {
    for (const ResourceInfo& info : resources->resources()) {
      built_in.contains(info.resource.group) ? shadowed_.push_back(&info) : add(info);
    }
  }
  const auto add_group = [&](std::string_view name, const std::vector<std::string>& order) {
    const auto found = grouped.find(name);
    if (found == grouped.end()) return;
    GroupInfo& group = groups_.emplace_back();
    group.name = name;
    const auto take = [&](std::string_view version) {
      const auto node = found->second.find(version);
      if (node == found->second.end()) return;
      std::sort(node->second.begin(), node->second.end(), ByName);
      group.versions.push_back({std::string(version), std::move(node->second)});
      found->second.erase(node);
    };
    for (const std::string& version : order) take(version);
    std::vector<std::string_view> rest;
    for (const auto& [version, list] : found->second) rest.push_back(version);
    std::sort(rest.begin(), rest.end(),
              [](std::string_view a, std::string_view b) { return CompareKubeVersions(a, b) < 0; });
    for (const std::string_view version : rest) take(version);
    grouped.erase(found);
  };
  for (const auto& [name, versions] : base_->groups) add_group(name, versions);
  while (!grouped.empty()) add_group(std::string(grouped.begin()->first), {});
}

const ResourceInfo* Catalog::Find(std::string_view group, std::string_view version,
                                  std::string_view resource) const {
  const auto found = by_resource_.find(Key(group, version, resource));
  return found == by_resource_.end() ? nullptr : found->second;
}

const ResourceInfo* Catalog::FindKind(const GroupVersionKind& kind) const {
  const auto found = by_kind_.find(kind);
  return found == by_kind_.end() ? nullptr : found->second;
}

const GroupInfo* Catalog::FindGroup(std::string_view group) const {
  for (const GroupInfo& info : groups_) {
    if (info.name == group) return &info;
  }
  return nullptr;
}

const ResourceInfo* Catalog::FindPreferred(std::string_view group,
                                           std::string_view resource) const {
  const GroupInfo* info = FindGroup(group);
  if (info == nullptr) return nullptr;
  for (const VersionInfo& version : info->versions) {
    if (const ResourceInfo* found = Find(group, version.version, resource)) return found;
  }
  return nullptr;
}

bool Catalog::ServesVersion(std::string_view group, std::string_view version) const {
  const GroupInfo* info = FindGroup(group);
  return info != nullptr && std::any_of(info->versions.begin(), info->versions.end(),
                                        [&](const VersionInfo& v) { return v.version == version; });
}

std::vector<const ResourceInfo*> Catalog::Equivalents(const ResourceInfo& resource) const {
  std::vector<const ResourceInfo*> result = {&resource};
  const auto found = by_storage_.find(resource.stored_as().ToString());
  if (found == by_storage_.end()) return result;
  for (const ResourceInfo* other : found->second) {
    if (other->resource != resource.resource) result.push_back(other);
  }
  return result;
}

const schema::Schema* Catalog::FindSchema(const GroupVersionKind& kind) const {
  const auto found = base_->kinds.find(kind);
  if (found != base_->kinds.end()) return found->second;
  const ResourceInfo* info = FindKind(kind);
  return info != nullptr ? info->schema : nullptr;
}

const schema::Schema* Catalog::FindDefinition(std::string_view name) const {
  const auto found = base_->definitions.find(name);
  return found == base_->definitions.end() ? nullptr : found->second;
}

std::string_view Catalog::file() const { return base_->file; }

}  // namespace portcullis::api::catalog
