// SPDX-License-Identifier: Apache-2.0

#include "server/encryption/encryption_file.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "admission/config.h"
#include "admission/config_format.h"
#include "api/field_error.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/time.h"
#include "golang/url.h"
#include "json/value.h"
#include "json/writer.h"
#include "release/release.h"

namespace portcullis::server {
namespace {

using api::FieldErrors;
using api::FieldPath;
using api::GroupResource;
using store::EncryptionConfig;
using store::EncryptionProvider;
using store::EncryptionRule;

constexpr std::string_view kScheme =
    "k8s.io/apiserver/pkg/server/options/encryptionconfig/config.go:142";
constexpr std::string_view kVersion = "apiserver.config.k8s.io/v1";
// The second one is what an old page of Kubernetes' documentation had.
constexpr admission::ConfigKind kKinds[] = {{kVersion, "EncryptionConfiguration"},
                                            {"v1", "EncryptionConfig"}};
constexpr admission::ConfigFormat kFormat = {kScheme, kKinds, R"(
v1.EncryptionConfiguration: kind string, apiVersion string, resources []v1.ResourceConfiguration
v1.ResourceConfiguration: resources []string, providers []v1.ProviderConfiguration
v1.ProviderConfiguration: aesgcm v1.AESConfiguration, aescbc v1.AESConfiguration, secretbox v1.SecretboxConfiguration, identity v1.IdentityConfiguration, kms v1.KMSConfiguration
v1.AESConfiguration: keys []v1.Key
v1.SecretboxConfiguration: keys []v1.Key
v1.Key: name string, secret string
v1.IdentityConfiguration:
v1.KMSConfiguration: apiVersion string, name string, cachesize int32, endpoint string, timeout v1.Duration=string)"};

constexpr std::string_view kRedacted = "REDACTED";
constexpr std::string_view kParsing = "error while parsing file";

// A provider: its member in the file, its field in Go, the sizes of its keys.
struct KeyedProvider {
  std::string_view member;
  std::string_view field;
  EncryptionProvider::Kind kind;
  std::string_view sizes_text;
  std::span<const std::size_t> sizes;
};
constexpr std::size_t kAesSizes[] = {16, 24, 32};
constexpr std::size_t kSecretboxSizes[] = {32};
constexpr KeyedProvider kKeyed[] = {
    {"aesgcm", "AESGCM", EncryptionProvider::Kind::kAesGcm, "[16 24 32]", kAesSizes},
    {"aescbc", "AESCBC", EncryptionProvider::Kind::kAesCbc, "[16 24 32]", kAesSizes},
    {"secretbox", "Secretbox", EncryptionProvider::Kind::kSecretbox, "[32]", kSecretboxSizes},
};

GroupResource ParseGroupResource(std::string_view text) {
  const auto cut = base::Cut(text, ".");
  if (!cut) return {"", std::string(text)};
  return {std::string(cut->second), std::string(cut->first)};
}

// Kubernetes writes all of the core group as `*.`.
std::string RuleText(const GroupResource& resource) {
  if (resource.group.empty() && resource.resource == "*") return "*.";
  return resource.ToString();
}

std::string Mandatory(std::string_view field, std::string_view of) {
  return base::StrCat(field, " is a mandatory field for a ", of);
}
std::string AtLeastOne(std::string_view what) {
  return base::StrCat("at least one ", what, " is required");
}

// A KMS provider with its defaults.
struct Kms {
  std::string_view api_version;
  std::string_view name;
  std::string_view endpoint;
  std::optional<std::int64_t> cache_size;
  base::Duration timeout = std::chrono::seconds(3);
};

base::Result<Kms> ReadKms(json::Value value) {
  Kms kms;
  kms.api_version = value["apiVersion"].AsString();
  if (kms.api_version.empty()) kms.api_version = "v1";
  kms.name = value["name"].AsString();
  kms.endpoint = value["endpoint"].AsString();
  if (!value["cachesize"].is_null()) {
    kms.cache_size = value["cachesize"].AsInt();
  } else if (kms.api_version == "v1") {
    kms.cache_size = 1000;
  }
  if (value["timeout"].is_string()) {
    kms.timeout = base::Duration(TRY(golang::ParseDuration(value["timeout"].AsString())));
  }
  return kms;
}

// The provider as Go prints its struct, but for the keys' secrets.
std::string ProviderText(json::Value provider, const std::optional<Kms>& kms) {
  json::Arena arena;
  json::ObjectBuilder out(arena);
  for (const KeyedProvider& keyed : kKeyed) {
    const json::Value value = provider[keyed.member];
    json::ArrayBuilder keys(arena);
    for (const json::Value& key : value["keys"].elements()) {
      keys.Add(json::ObjectBuilder(arena)
                   .Set("Name", key["name"].AsString())
                   .Set("Secret", kRedacted)
                   .Build());
    }
    const json::Value list = value["keys"].is_null() ? json::Value() : keys.Build();
    out.Set(keyed.field,
            value.is_null() ? json::Value() : json::MakeObject(arena, {{"Keys", list}}));
  }
  const bool has_identity = !provider["identity"].is_null();
  out.Set("Identity", has_identity ? json::ObjectBuilder(arena).Build() : json::Value());
  json::ObjectBuilder shown(arena);
  if (kms) {
    shown.Set("APIVersion", kms->api_version)
        .Set("Name", kms->name)
        .Set("CacheSize", kms->cache_size ? json::Value::Int(*kms->cache_size) : json::Value())
        .Set("Endpoint", kms->endpoint)
        .Set("Timeout", base::FormatDuration(kms->timeout));
  }
  out.Set("KMS", kms ? shown.Build() : json::Value());
  return json::ToString(out.Build());
}

void CheckOverlap(const std::vector<std::string>& names, const FieldPath& path,
                  FieldErrors& errors) {
  std::vector<GroupResource> resources;
  for (const std::string& name : names) resources.push_back(ParseGroupResource(name));
  bool overlaps = false;
  bool repeats = false;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    for (std::size_t j = 0; j < resources.size(); ++j) {
      if (i == j) continue;
      const GroupResource& one = resources[i];
      const GroupResource& other = resources[j];
      if (one == other && !repeats) {
        repeats = true;
        continue;
      }
      overlaps = overlaps || (one.group == "*" && one.resource == "*") ||
                 (one.group == other.group && (one.resource == "*" || other.resource == "*"));
    }
  }
  if (repeats) {
    errors.push_back(api::Invalid(path, std::span(names),
                                  "the same resource cannot be specified multiple times"));
  }
  if (overlaps) {
    errors.push_back(api::Invalid(path, std::span(names),
                                  "using overlapping resources such as 'secrets' and '*.' in the "
                                  "same resource list is not allowed as they will be masked"));
  }
}

// Why a resource cannot be encrypted under this name; "" if it can.
std::string_view WrongName(const std::string& name) {
  if (base::ToLower(name) != name) return "resource name should not contain capital letters";
  if (name == "*") {
    return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all "
           "resources";
  }
  if (name == "apiserveripinfo" || name == "serviceipallocations" ||
      name == "servicenodeportallocations") {
    return "resources which do not have REST API/s cannot be encrypted";
  }
  const GroupResource resource = ParseGroupResource(name);
  if (resource.group == "events.k8s.io") {
    return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use "
           "'events' instead in the config file";
  }
  if (resource.group == "extensions") {
    return "'extensions' group has been removed and cannot be used for encryption";
  }
  if (resource.group == "*" && resource.resource != "*") {
    return "encrypting the same resource across groups is not supported";
  }
  return {};
}

// Reads the rules and notes what is wrong with them.
class Reader {
 public:
  explicit Reader(bool reload) : reload_(reload) {}

  // Error: a duration that is none.
  base::Status Read(json::Value resources) {
    const FieldPath root("resources");
    if (resources.empty()) {
      errors_.push_back(api::Required(root, AtLeastOne("resources")));
      return base::OkStatus();
    }
    std::size_t index = 0;
    for (const json::Value& rule : resources.elements()) {
      TRY(ReadRule(rule, root.Index(index++)));
    }
    return base::OkStatus();
  }

  const FieldErrors& errors() const { return errors_; }
  // The first KMS provider; what is wrong with using it.
  const base::Status& kms_refusal() const { return kms_refusal_; }
  EncryptionConfig TakeConfig() { return std::move(config_); }

 private:
  base::Status ReadRule(json::Value value, const FieldPath& path) {
    EncryptionRule& rule = config_.rules.emplace_back();
    std::vector<std::string> names;
    for (const json::Value& name : value["resources"].elements()) {
      names.emplace_back(name.AsString());
      rule.resources.push_back(ParseGroupResource(names.back()));
    }
    const FieldPath resources = path.Child("resources");
    if (names.empty()) {
      errors_.push_back(api::Required(resources, AtLeastOne(resources.text())));
    }
    CheckOverlap(names, resources, errors_);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string_view wrong = WrongName(names[i]);
      if (!wrong.empty()) errors_.push_back(api::Invalid(resources.Index(i), names[i], wrong));
    }
    const FieldPath providers = path.Child("providers");
    if (value["providers"].empty()) {
      errors_.push_back(api::Required(providers, AtLeastOne(providers.text())));
    }
    std::size_t index = 0;
    for (const json::Value& provider : value["providers"].elements()) {
      TRY(ReadProvider(provider, providers.Index(index++), rule));
    }
    return base::OkStatus();
  }

  base::Status ReadProvider(json::Value value, const FieldPath& path, EncryptionRule& rule) {
    std::optional<Kms> kms;
    if (!value["kms"].is_null()) kms = TRY(ReadKms(value["kms"]));
    std::size_t found = (kms ? 1 : 0) + (value["identity"].is_null() ? 0 : 1);
    const KeyedProvider* used = nullptr;
    for (const KeyedProvider& keyed : kKeyed) {
      if (value[keyed.member].is_null()) continue;
      ++found;
      if (used == nullptr) used = &keyed;
    }
    if (found != 1) {
      errors_.push_back(
          api::Invalid(path, api::BadValue::Raw(ProviderText(value, kms)),
                       found == 0 ? "provider does not contain any of the expected providers: KMS, "
                                    "AESGCM, AESCBC, Secretbox, Identity"
                                  : "more than one provider specified in a single element, should "
                                    "split into different list elements"));
    }
    if (kms) {
      CheckKms(*kms, path.Child("kms"));
      return base::OkStatus();
    }
    EncryptionProvider& provider = rule.providers.emplace_back();
    if (used == nullptr) return base::OkStatus();
    provider.kind = used->kind;
    ReadKeys(value[used->member]["keys"], path.Child(used->member, "keys"), *used, provider);
    return base::OkStatus();
  }

  void ReadKeys(json::Value keys, const FieldPath& path, const KeyedProvider& keyed,
                EncryptionProvider& provider) {
    if (keys.empty()) errors_.push_back(api::Required(path, AtLeastOne("keys")));
    std::size_t index = 0;
    for (const json::Value& value : keys.elements()) {
      const FieldPath key = path.Index(index++);
      const std::string_view name = value["name"].AsString();
      const std::string_view secret = value["secret"].AsString();
      if (name.empty()) {
        errors_.push_back(api::Required(key.Child("name"), Mandatory("name", "key")));
      }
      if (secret.empty()) {
        errors_.push_back(api::Required(key.Child("secret"), Mandatory("secret", "key")));
        continue;
      }
      auto decoded = base::Base64Decode(secret);
      if (!decoded) {
        errors_.push_back(
            api::Invalid(key.Child("secret"), kRedacted, "secrets must be base64 encoded"));
        continue;
      }
      if (std::find(keyed.sizes.begin(), keyed.sizes.end(), decoded->size()) == keyed.sizes.end()) {
        errors_.push_back(api::Invalid(
            key.Child("secret"), kRedacted,
            base::StrCat("secret is not of the expected length, got ",
                         std::to_string(decoded->size()), ", expected one of ", keyed.sizes_text)));
      }
      provider.keys.push_back({std::string(name), *std::move(decoded)});
    }
  }

  void CheckKms(const Kms& kms, const FieldPath& path) {
    CheckKmsName(kms, path.Child("name"));
    if (kms.timeout.count() <= 0) {
      errors_.push_back(api::Invalid(path.Child("timeout"), base::FormatDuration(kms.timeout),
                                     "timeout should be a positive value"));
    }
    CheckKmsEndpoint(kms, path.Child("endpoint"));
    if (kms.api_version != "v1" && kms.cache_size) {
      errors_.push_back(api::Invalid(path.Child("cachesize"), *kms.cache_size,
                                     "cachesize is not supported in v2"));
    }
    if (kms.api_version == "v1" && kms.cache_size == 0) {
      errors_.push_back(
          api::Invalid(path.Child("cachesize"), *kms.cache_size,
                       "cachesize should be a positive value, or negative to disable"));
    }
    if (kms.api_version != "v1" && kms.api_version != "v2") {
      errors_.push_back(api::Invalid(
          path.Child("apiVersion"), kms.api_version,
          "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported"));
    }
    kms_names_.emplace(kms.name);
    if (!kms_refusal_.ok()) return;
    kms_refusal_ = base::ConfigError(
        kms.api_version == "v1"
            ? "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 "
              "instead.  Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature."
            : base::StrCat("KMS provider ", base::GoQuote(kms.name),
                           ": KMS plugins are not supported; use the providers aesgcm, aescbc or "
                           "secretbox"));
  }

  void CheckKmsName(const Kms& kms, const FieldPath& path) {
    if (kms.name.empty()) {
      errors_.push_back(api::Required(path, Mandatory("name", "provider")));
    }
    if (kms.api_version != "v1" && kms.name.find(':') != std::string_view::npos) {
      errors_.push_back(api::Invalid(
          path, kms.name,
          base::StrCat("invalid KMS provider name ", kms.name, ", must not contain ':'")));
    }
    if ((reload_ || kms.api_version != "v1") && kms_names_.contains(kms.name)) {
      errors_.push_back(api::Invalid(
          path, kms.name,
          base::StrCat("duplicate KMS provider name ", kms.name, ", names must be unique")));
    }
  }

  void CheckKmsEndpoint(const Kms& kms, const FieldPath& path) {
    if (kms.endpoint.empty()) {
      errors_.push_back(api::Invalid(path, "", Mandatory("endpoint", "kms")));
      return;
    }
    const auto url = golang::ParseUrl(kms.endpoint);
    if (!url.ok()) {
      errors_.push_back(api::Invalid(
          path, kms.endpoint,
          base::StrCat("invalid endpoint for kms provider, error: ", url.status().message())));
    } else if (url->scheme != "unix") {
      errors_.push_back(api::Invalid(path, kms.endpoint,
                                     base::StrCat("unsupported scheme ", base::GoQuote(url->scheme),
                                                  " for KMS provider, only unix is supported")));
    }
  }

  const bool reload_;
  EncryptionConfig config_;
  FieldErrors errors_;
  std::set<std::string, std::less<>> kms_names_;
  base::Status kms_refusal_;
};

// A rule that an earlier one hides would have no effect.
base::Status CheckMasked(const EncryptionConfig& config) {
  std::set<GroupResource> earlier;
  for (const EncryptionRule& rule : config.rules) {
    for (const GroupResource& resource : rule.resources) {
      for (const GroupResource& wide : {GroupResource{resource.group, "*"}, {"*", "*"}}) {
        if (!earlier.contains(wide)) continue;
        return base::ConfigError(base::StrCat("resource ", base::GoQuote(RuleText(resource)),
                                              " is masked by earlier rule ",
                                              base::GoQuote(RuleText(wide))));
      }
      earlier.insert(resource);
    }
  }
  return base::OkStatus();
}

base::Status CheckFile(const admission::PluginConfig& file, std::string_view path) {
  const std::string_view other = admission::OtherServerKind(file, kKinds[0].kind);
  if (!other.empty()) {
    return base::ConfigError(
        base::StrCat("got unexpected config type: ", kVersion, ", Kind=", other));
  }
  base::Status bad = admission::CheckConfig(file, kFormat, release::Release::Newest());
  if (bad.ok()) return bad;
  return bad.Annotate(
      base::StrCat("error decoding encryption provider configuration file ", base::GoQuote(path)));
}

}  // namespace

base::Result<std::string> ReadEncryptionFile(const std::string& path) {
  auto text = base::ReadFile(path);
  if (text.ok() && !text->empty()) return text;
  const std::string file =
      base::StrCat("encryption provider configuration file ", base::GoQuote(path));
  return base::ConfigError(
      text.ok() ? base::StrCat(file, " is empty")
                : base::StrCat("error reading ", file, ": ", text.status().message()));
}

std::string EncryptionFileHash(std::string_view text) {
  return base::StrCat("sha256:", base::Sha256Hex(text));
}

base::Result<EncryptionConfig> ParseEncryptionFile(std::string text, std::string_view path,
                                                   bool reload) {
  const admission::PluginConfig file = admission::ParsePluginConfig(std::move(text));
  if (base::Status bad = CheckFile(file, path); !bad.ok()) return bad.Annotate(kParsing);
  Reader reader(reload);
  if (base::Status bad = reader.Read(file.document["resources"]); !bad.ok()) {
    return bad
        .Annotate(base::StrCat("error decoding encryption provider configuration file ",
                               base::GoQuote(path)))
        .Annotate(kParsing);
  }
  if (!reader.errors().empty()) {
    return base::ConfigError(api::AggregateText(reader.errors())).Annotate(kParsing);
  }
  constexpr std::string_view kBuilding = "error while building transformers";
  if (!reader.kms_refusal().ok()) return reader.kms_refusal().Annotate(kBuilding);
  EncryptionConfig config = reader.TakeConfig();
  if (base::Status bad = CheckMasked(config); !bad.ok()) return bad.Annotate(kBuilding);
  return config;
}

base::Result<LoadedEncryption> LoadEncryption(const std::string& path, bool reload,
                                              store::TransformationObserver observer) {
  auto text = ReadEncryptionFile(path);
  if (!text.ok()) return text.status().Annotate("error while loading file").Annotate(kParsing);
  LoadedEncryption loaded;
  loaded.hash = EncryptionFileHash(*text);
  const EncryptionConfig config = TRY(ParseEncryptionFile(*std::move(text), path, reload));
  loaded.encryption = TRY(store::Encryption::Make(config, std::move(observer)));
  return loaded;
}

}  // namespace portcullis::server
