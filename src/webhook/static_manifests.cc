#include "webhook/static_manifests.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>

#include "api/catalog/catalog.h"
#include "api/schema/decode.h"
#include "api/schema/defaulting.h"
#include "api/selector/label_selector.h"
#include "base/gotext.h"
#include "base/log.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/yaml.h"
#include "net/certificates.h"
#include "registry/validation/webhook_configuration.h"

namespace portcullis::webhook {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGroupVersion = "admissionregistration.k8s.io/v1";
constexpr std::string_view kSuffix = ".static.k8s.io";
constexpr std::chrono::seconds kCheckEvery{1};

bool IsManifest(const fs::path& path) {
  const std::string extension = base::ToLower(path.extension().string());
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

std::string_view KindOf(HookType type) {
  return type == HookType::kMutating ? "MutatingWebhookConfiguration"
                                     : "ValidatingWebhookConfiguration";
}

// Reads all files of one load. Configurations are kept by name, which orders them.
class Loader {
 public:
  Loader(HookType type, const HookCompiler& compiler) : type_(type), compiler_(compiler) {}

  base::Result<Hooks> Load(const std::vector<ManifestFile>& files) {
    catalog_ = TRY(api::catalog::Catalog::BuiltIn({}));
    defaulter_ = TRY(api::schema::Defaulter::BuiltIn());
    for (const ManifestFile& file : files) {
      for (const std::string_view document : json::SplitYaml(file.text)) {
        TRY(LoadDocument(file.name, document));
      }
    }
    Hooks hooks;
    for (const auto& [name, entry] : configurations_) {
      const Hooks more = CompileConfiguration(compiler_, entry.object, "manifest/");
      hooks.insert(hooks.end(), more.begin(), more.end());
    }
    return hooks;
  }

 private:
  struct Entry {
    json::Value object;
    std::string file;
  };

  static base::Status Wrong(const std::string& file, std::string_view what) {
    return base::ConfigError(base::StrCat("error loading ", file, ": ", what));
  }

  base::Status LoadDocument(const std::string& file, std::string_view text) {
    std::vector<std::string> duplicates;
    std::string strict;
    auto parsed = json::HasJsonPrefix(text)
                      ? json::Parse(arena_, text, {.duplicate_keys = &duplicates})
                      : json::ParseYaml(arena_, text, {&strict});
    if (!parsed.ok()) return Wrong(file, parsed.status().message());
    if (parsed->is_null()) return base::OkStatus();
    if (!strict.empty()) return Wrong(file, base::StrCat("strict decoding error: ", strict));
    const std::string_view kind = (*parsed)["kind"].AsString();
    const std::string_view version = (*parsed)["apiVersion"].AsString();
    const bool typed_list = version == kGroupVersion && kind == base::StrCat(KindOf(type_), "List");
    if (typed_list || (version == "v1" && kind == "List")) {
      for (json::Value item : (*parsed)["items"].elements()) {
        if (typed_list && !item.Has("kind")) {
          item = json::With(arena_, item, "kind", json::String(arena_, KindOf(type_)));
          item = json::With(arena_, item, "apiVersion", json::String(arena_, kGroupVersion));
        }
        TRY(LoadObject(file, item, {}));
      }
      return base::OkStatus();
    }
    return LoadObject(file, *parsed, duplicates);
  }

  base::Status LoadObject(const std::string& file, json::Value input,
                          const std::vector<std::string>& duplicates) {
    const std::string_view kind = input["kind"].AsString();
    if (input["apiVersion"].AsString() != kGroupVersion || kind != KindOf(type_)) {
      return Wrong(file, base::StrCat("unsupported resource type ", input["apiVersion"].AsString(),
                                      " ", kind));
    }
    const api::GroupVersionKind gvk = {"admissionregistration.k8s.io", "v1", std::string(kind)};
    std::vector<std::string> unknown;
    auto decoded = api::schema::Decode(arena_, *catalog_->FindSchema(gvk), input, {&unknown});
    if (!decoded.ok()) return Wrong(file, decoded.status().message());
    const std::string strict = api::schema::StrictDecodingError(duplicates, unknown);
    if (!strict.empty()) return Wrong(file, strict);
    const json::Value object = defaulter_->Apply(arena_, gvk, *decoded);
    TRY(CheckObject(object, kind));
    return Keep(file, object);
  }

  base::Status CheckObject(json::Value object, std::string_view kind) const {
    const std::string_view name = object["metadata"]["name"].AsString();
    api::FieldErrors errors;
    if (!name.empty()) {
      for (const std::string& problem : api::IsDns1123Subdomain(name)) {
        errors.push_back(api::Invalid(api::FieldPath("metadata", "name"), name, problem));
      }
    }
    registry::ValidateWebhookConfiguration(object,
                                           type_ == HookType::kMutating
                                               ? registry::WebhookKind::kMutating
                                               : registry::WebhookKind::kValidating,
                                           nullptr, errors);
    if (errors.empty()) return base::OkStatus();
    return base::ConfigError(
        base::StrCat(kind, " ", base::GoQuote(name), ": ", api::AggregateText(errors)));
  }

  base::Status Keep(const std::string& file, json::Value object) {
    const std::string name(object["metadata"]["name"].AsString());
    const std::string quoted = base::GoQuote(name);
    const std::string quoted_file = base::GoQuote(file);
    if (name.empty()) {
      return base::ConfigError(base::StrCat("resource in file ", quoted_file, " must have a name"));
    }
    if (!name.ends_with(kSuffix)) {
      return base::ConfigError(base::StrCat(quoted, " in file ", quoted_file,
                                            " must have a name ending with \"", kSuffix, "\""));
    }
    const auto [place, added] = configurations_.try_emplace(name, Entry{object, file});
    if (!added) {
      return base::ConfigError(base::StrCat("duplicate name ", quoted, " found in file ",
                                            quoted_file, " (previously seen in ",
                                            base::GoQuote(place->second.file), ")"));
    }
    for (const json::Value webhook : object["webhooks"].elements()) {
      const json::Value client = webhook["clientConfig"];
      const bool has_service = !client["service"].is_null();
      if (!has_service && !client["url"].is_null()) continue;
      return base::ConfigError(base::StrCat(
          "webhook ", base::GoQuote(webhook["name"].AsString()), " in ", quoted, " (file ",
          quoted_file, "): ",
          has_service ? "clientConfig.service is not supported for static manifests; use "
                        "clientConfig.url instead"
                      : "clientConfig.url is required for static manifests"));
    }
    return base::OkStatus();
  }

  const HookType type_;
  const HookCompiler& compiler_;
  json::Arena arena_;
  std::shared_ptr<const api::catalog::Catalog> catalog_;
  std::shared_ptr<const api::schema::Defaulter> defaulter_;
  std::map<std::string, Entry> configurations_;
};

}  // namespace

base::Result<std::vector<ManifestFile>> ReadManifests(const std::string& directory) {
  std::error_code error;
  std::vector<ManifestFile> files;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_directory() || !IsManifest(entry->path())) continue;
    files.push_back({entry->path().filename().string(), ""});
  }
  if (error) {
    return base::ConfigError(
        base::StrCat("unable to read: open ", directory, ": ", base::ToLower(error.message())));
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (ManifestFile& file : files) {
    file.text = TRY(net::ReadFile(base::StrCat(directory, "/", file.name)));
  }
  return files;
}

base::Result<Hooks> CompileManifests(const std::vector<ManifestFile>& files, HookType type,
                                     const HookCompiler& compiler) {
  return Loader(type, compiler).Load(files);
}

StaticManifests::StaticManifests(std::string directory, HookType type, const HookCompiler& compiler,
                                 const base::Clock& clock, metrics::Registry* registry)
    : directory_(std::move(directory)),
      type_(type),
      compiler_(compiler),
      clock_(clock),
      registry_(registry) {}

base::Result<std::unique_ptr<StaticManifests>> StaticManifests::Create(
    std::string directory, HookType type, const HookCompiler& compiler, const base::Clock& clock,
    metrics::Registry* registry) {
  std::error_code error;
  if (fs::exists(directory, error) && !fs::is_directory(directory, error)) {
    return base::ConfigError(base::StrCat(
        "staticManifestsDir: Invalid value: ", base::GoQuote(directory), ": must be a directory"));
  }
  std::unique_ptr<StaticManifests> manifests(
      new StaticManifests(std::move(directory), type, compiler, clock, registry));
  if (auto status = manifests->Refresh(); !status.ok()) {
    return base::ConfigError(base::StrCat("failed to load static webhook manifests from ",
                                          base::GoQuote(manifests->directory_), ": ",
                                          status.message()));
  }
  manifests->next_check_ = clock.Steady() + kCheckEvery;
  return manifests;
}

base::Status StaticManifests::Refresh() const {
  const std::vector<ManifestFile> files = TRY(ReadManifests(directory_));
  std::string all;
  for (const ManifestFile& file : files) all.append(file.text).push_back('\0');
  const std::size_t hash = std::hash<std::string>{}(all);
  if (hooks_.Get() != nullptr && hash == seen_) return base::OkStatus();
  seen_ = hash;
  auto hooks = CompileManifests(files, type_, compiler_);
  Count(hooks.ok());
  if (!hooks.ok()) return hooks.status();
  hooks_.Set(std::make_shared<const Hooks>(std::move(hooks).value()));
  return base::OkStatus();
}

void StaticManifests::Count(bool success) const {
  if (registry_ == nullptr) return;
  registry_
      ->AddCounter({"apiserver_manifest_admission_config_controller_automatic_reloads_total",
                    "Total number of automatic reloads of manifest-based admission configuration."},
                   {"status", "plugin", "apiserver_id_hash"})
      .With(
          {success ? "success" : "failure",
           type_ == HookType::kMutating ? "MutatingAdmissionWebhook" : "ValidatingAdmissionWebhook",
           ""})
      .Increment();
}

std::shared_ptr<const Hooks> StaticManifests::Get() const {
  const base::SteadyTime now = clock_.Steady();
  const std::lock_guard lock(mutex_);
  if (now >= next_check_) {
    next_check_ = now + kCheckEvery;
    if (auto status = Refresh(); !status.ok()) {
      base::LogError("static webhook manifests not reloaded",
                     {{"directory", directory_}, {"error", status.message()}});
    }
  }
  return hooks_.Get();
}

}  // namespace portcullis::webhook
