// SPDX-License-Identifier: Apache-2.0

#include "admission/manifests/manifest_loader.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "api/schema/decode.h"
#include "api/selector/label_selector.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/yaml.h"

namespace portcullis::admission {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGroup = "admissionregistration.k8s.io";
constexpr std::string_view kGroupVersion = "admissionregistration.k8s.io/v1";

bool IsManifest(const fs::path& path) {
  const std::string extension = base::ToLower(path.extension().string());
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

std::string KindText(json::Value object) {
  const auto version = api::ParseGroupVersion(object["apiVersion"].AsString());
  if (!version.ok()) return std::string(object["kind"].AsString());
  return api::GroupVersionKind{version->group, version->version,
                               std::string(object["kind"].AsString())}
      .ToString();
}

}  // namespace

base::Result<std::vector<ManifestFile>> ReadManifests(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> paths;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;  // what cannot be looked at fails to open below
    if (!IsManifest(entry->path()) || entry->is_directory(ignored)) continue;
    paths.push_back((fs::path(directory) / entry->path().filename()).string());
  }
  if (error) {
    return base::ConfigError(base::StrCat("failed to read manifest directory ",
                                          base::GoQuote(directory), ": open ", directory, ": ",
                                          base::ToLower(error.message())));
  }
  std::sort(paths.begin(), paths.end());
  std::vector<ManifestFile> files;
  for (std::string& path : paths) {
    std::string text = TRY(base::ReadFile(path));
    if (!text.empty()) files.push_back({std::move(path), std::move(text)});
  }
  return files;
}

std::string HashOf(const std::vector<ManifestFile>& files) {
  if (files.empty()) return "";
  std::string all;
  for (const ManifestFile& file : files) all.append(file.text).push_back('\0');
  return base::StrCat("sha256:", base::Sha256Hex(all));
}

ManifestLoader::ManifestLoader(std::vector<ManifestKind> kinds)
    : kinds_(std::move(kinds)), objects_(kinds_.size()), places_(kinds_.size()) {}

base::Status ManifestLoader::Load(const std::vector<ManifestFile>& files) {
  catalog_ = TRY(api::catalog::Catalog::BuiltIn({}));
  defaulter_ = TRY(api::schema::Defaulter::BuiltIn());
  for (const ManifestFile& file : files) {
    for (const std::string_view document : json::SplitYaml(file.text)) {
      const base::Status status = LoadDocument(file.path, document);
      if (status.ok()) continue;
      return base::ConfigError(base::StrCat("error loading ", file.path, ": ", status.message()));
    }
  }
  return base::OkStatus();
}

base::Status ManifestLoader::LoadDocument(const std::string& path, std::string_view text) {
  std::vector<std::string> duplicates;
  std::string strict;
  auto parsed = json::HasJsonPrefix(text)
                    ? json::Parse(arena_, text, {.duplicate_keys = &duplicates})
                    : json::ParseYaml(arena_, text, {&strict});
  if (!parsed.ok()) return std::move(parsed).status();
  if (parsed->is_null()) return base::OkStatus();
  if (!strict.empty()) return base::ConfigError("strict decoding error: " + strict);
  const std::string_view kind = (*parsed)["kind"].AsString();
  const std::string_view version = (*parsed)["apiVersion"].AsString();
  std::string_view of;  // of which kind it is a typed list
  for (const ManifestKind& known : kinds_) {
    if (version == kGroupVersion && kind == base::StrCat(known.name, "List")) of = known.name;
  }
  if (of.empty() && (version != "v1" || kind != "List")) {
    return LoadObject(path, *parsed, duplicates);
  }
  for (json::Value item : (*parsed)["items"].elements()) {
    if (!of.empty() && !item.Has("kind")) {
      item = json::With(arena_, item, "kind", json::String(arena_, of));
      item = json::With(arena_, item, "apiVersion", json::String(arena_, kGroupVersion));
    }
    TRY(LoadObject(path, item, {}));
  }
  return base::OkStatus();
}

base::Status ManifestLoader::LoadObject(const std::string& path, json::Value input,
                                        const std::vector<std::string>& duplicates) {
  const std::string kind_name(input["kind"].AsString());
  const auto known = std::find_if(kinds_.begin(), kinds_.end(),
                                  [&](const ManifestKind& k) { return k.name == kind_name; });
  if (known == kinds_.end() || input["apiVersion"].AsString() != kGroupVersion) {
    return base::ConfigError(base::StrCat("unsupported resource type ", KindText(input)));
  }
  const api::GroupVersionKind gvk = {std::string(kGroup), "v1", kind_name};
  std::vector<std::string> unknown;
  const json::Value decoded =
      TRY(api::schema::Decode(arena_, *catalog_->FindSchema(gvk), input, {&unknown}));
  const std::string strict = api::schema::StrictDecodingError(duplicates, unknown);
  if (!strict.empty()) return base::ConfigError(strict);
  const json::Value object = defaulter_->Apply(arena_, gvk, decoded);

  const std::string_view name = object["metadata"]["name"].AsString();
  api::FieldErrors errors;
  if (!name.empty()) {
    for (const std::string& problem : api::IsDns1123Subdomain(name)) {
      errors.push_back(api::Invalid(api::FieldPath("metadata", "name"), name, problem));
    }
  }
  if (known->validate) known->validate(object, errors);
  if (!errors.empty()) {
    return base::ConfigError(
        base::StrCat(kind_name, " ", base::GoQuote(name), ": ", api::AggregateText(errors)));
  }
  return Keep(static_cast<std::size_t>(known - kinds_.begin()), object, path);
}

base::Status ManifestLoader::Keep(std::size_t kind, json::Value object, const std::string& path) {
  const std::string name(object["metadata"]["name"].AsString());
  const std::string quoted = base::GoQuote(name);
  const std::string file = base::GoQuote(path);
  if (name.empty()) {
    return base::ConfigError(base::StrCat("resource in file ", file, " must have a name"));
  }
  if (!name.ends_with(kStaticSuffix)) {
    return base::ConfigError(base::StrCat(quoted, " in file ", file,
                                          " must have a name ending with \"", kStaticSuffix, "\""));
  }
  const auto [place, added] = places_[kind].try_emplace(name, path);
  if (!added) {
    return base::ConfigError(base::StrCat("duplicate name ", quoted, " found in file ", file,
                                          " (previously seen in ", base::GoQuote(place->second),
                                          ")"));
  }
  if (kinds_[kind].check) TRY(kinds_[kind].check(object, path));
  objects_[kind][name] = object;
  return base::OkStatus();
}

}  // namespace portcullis::admission
