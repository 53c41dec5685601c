// SPDX-License-Identifier: Apache-2.0

// Admission configuration from files (gate ManifestBasedAdmissionControlConfig): webhook
// configurations, policies and bindings that no request can change, in a folder named by
// `staticManifestsDir` of a plugin's configuration.
//
//   ManifestLoader loader({{.name = "ValidatingAdmissionPolicy", .validate = …, .check = …}});
//   TRY(loader.Load(TRY(ReadManifests(folder))));
//   for (const auto& [name, object] : loader.objects(0)) …
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/catalog/catalog.h"
#include "api/field_error.h"
#include "api/schema/defaulting.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::admission {

inline constexpr std::string_view kStaticSuffix = ".static.k8s.io";

// The files of a folder with an extension of YAML or JSON, in alphabetical order; empty ones and
// subfolders are left out.
struct ManifestFile {
  std::string path;
  std::string text;
};
base::Result<std::vector<ManifestFile>> ReadManifests(const std::string& directory);

// "sha256:…" over what the files hold; "" if there are none.
std::string HashOf(const std::vector<ManifestFile>& files);

// A kind of admissionregistration.k8s.io/v1 that is taken in.
struct ManifestKind {
  std::string_view name;
  // What is wrong with the object on creation through the API.
  std::function<void(json::Value object, api::FieldErrors& errors)> validate;
  // What manifests may not have though the API accepts it; may be empty.
  std::function<base::Status(json::Value object, const std::string& path)> check;
};

// Every document decoded strictly, defaulted and validated as on creation. Confined to one thread.
class ManifestLoader {
 public:
  explicit ManifestLoader(std::vector<ManifestKind> kinds);

  // `error loading <path>: …`. Once.
  base::Status Load(const std::vector<ManifestFile>& files);

  // By name; valid as long as the loader.
  using Objects = std::map<std::string, json::Value, std::less<>>;
  const Objects& objects(std::size_t kind) const { return objects_[kind]; }

 private:
  base::Status LoadDocument(const std::string& path, std::string_view text);
  base::Status LoadObject(const std::string& path, json::Value input,
                          const std::vector<std::string>& duplicates);
  base::Status Keep(std::size_t kind, json::Value object, const std::string& path);

  const std::vector<ManifestKind> kinds_;
  json::Arena arena_;
  std::shared_ptr<const api::catalog::Catalog> catalog_;
  std::shared_ptr<const api::schema::Defaulter> defaulter_;
  std::vector<Objects> objects_;
  std::vector<std::map<std::string, std::string>> places_;  // of each kind: name -> path
};

}  // namespace portcullis::admission
