// SPDX-License-Identifier: Apache-2.0

#include "store/encryption/encryption.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "api/field_error.h"
#include "base/digest.h"
#include "base/strings.h"
#include "store/encryption/ciphers.h"

namespace portcullis::store {
namespace {

constexpr std::string_view kToStorage = "to_storage";
constexpr std::string_view kFromStorage = "from_storage";

// What begins the values of a provider, and how the error of a missing key calls it.
struct ProviderNames {
  std::string_view prefix;
  std::string_view name;
};

ProviderNames NamesOf(EncryptionProvider::Kind kind) {
  switch (kind) {
    case EncryptionProvider::Kind::kAesGcm:
      return {"k8s:enc:aesgcm:v1:", "AES"};
    case EncryptionProvider::Kind::kAesCbc:
      return {"k8s:enc:aescbc:v1:", "AES"};
    case EncryptionProvider::Kind::kSecretbox:
      return {"k8s:enc:secretbox:v1:", "Secretbox"};
    case EncryptionProvider::Kind::kIdentity:
      break;
  }
  return {};
}

base::Result<std::unique_ptr<const Cipher>> MakeCipher(EncryptionProvider::Kind kind,
                                                       std::string_view key) {
  if (kind == EncryptionProvider::Kind::kAesGcm) return MakeAesGcm(key);
  if (kind == EncryptionProvider::Kind::kAesCbc) return MakeAesCbc(key);
  return MakeSecretbox(key);
}

class Stopwatch {
 public:
  explicit Stopwatch(const TransformationObserver& observer)
      : clock_(observer.on_step ? observer.clock : nullptr),
        start_(clock_ != nullptr ? clock_->Steady() : base::SteadyTime()) {}
  base::Duration elapsed() const {
    return clock_ != nullptr ? clock_->Steady() - start_ : base::Duration::zero();
  }

 private:
  const base::Clock* const clock_;
  const base::SteadyTime start_;
};

// Tells the observer of the steps of one transformation.
class Steps {
 public:
  Steps(const TransformationObserver& observer, const Collection& collection)
      : observer_(observer) {
    if (!observer_.on_step) return;
    resource_ = collection.resource;
    if (!collection.group.empty()) resource_ += base::StrCat(".", collection.group);
  }
  const TransformationObserver& observer() const { return observer_; }
  void Tell(std::string_view type, std::string_view prefix, const Stopwatch& watch, bool ok) const {
    if (observer_.on_step) observer_.on_step({resource_, type, prefix, watch.elapsed(), ok});
  }

 private:
  const TransformationObserver& observer_;
  std::string resource_;
};

}  // namespace

base::Status CheckPlain(std::string_view stored) {
  if (!stored.starts_with(kEncryptedPrefix)) return base::OkStatus();
  return base::ConfigError("identity transformer tried to read encrypted data");
}

// One key of a provider. Immutable.
class Encryption::Key {
 public:
  Key(std::string prefix, Seal seal, std::unique_ptr<const Cipher> cipher)
      : prefix_(std::move(prefix)), seal_(seal), cipher_(std::move(cipher)) {}
  const std::string& prefix() const { return prefix_; }  // "key1:"
  Seal seal() const { return seal_; }
  const Cipher& cipher() const { return *cipher_; }

 private:
  const std::string prefix_;
  const Seal seal_;
  const std::unique_ptr<const Cipher> cipher_;
};

// The configuration in the form in which it is used. Immutable.
class Encryption::Rules {
 public:
  struct Provider {
    ProviderNames names;  // an empty prefix: identity
    std::vector<std::shared_ptr<const Key>> keys;

    // Tries the keys whose names fit. On failure the texts are added to `errors`.
    std::optional<Opened> Open(std::string_view storage_key, std::string_view stored,
                               const Steps& steps, std::vector<std::string>& errors) const {
      const Stopwatch watch(steps.observer());
      const std::size_t before = errors.size();
      for (const auto& key : keys) {
        if (!stored.starts_with(key->prefix())) continue;
        auto plain = key->cipher().Decrypt(stored.substr(key->prefix().size()), storage_key);
        steps.Tell(kFromStorage, key->prefix(), watch, plain.ok());
        if (plain.ok()) return Opened{*std::move(plain), key->seal()};
        errors.emplace_back(plain.status().message());
      }
      if (errors.size() > before) return std::nullopt;
      steps.Tell(kFromStorage, "unknown", watch, false);
      errors.push_back(
          base::StrCat("no matching key was found for the provided ", names.name, " transformer"));
      return std::nullopt;
    }
  };
  using Providers = std::vector<Provider>;

  void Add(const api::GroupResource& resource, const Providers& providers) {
    Providers& all = by_resource_[resource];
    all.insert(all.end(), providers.begin(), providers.end());
  }

  // Null: no rule names it.
  const Providers* Find(const Collection& collection) const {
    const std::string group(collection.group);
    for (const api::GroupResource& resource :
         {api::GroupResource{group, std::string(collection.resource)},
          api::GroupResource{group, "*"}, api::GroupResource{"*", "*"}}) {
      if (const auto it = by_resource_.find(resource); it != by_resource_.end()) return &it->second;
    }
    return nullptr;
  }

  // The key that new values get; null: they are not encrypted.
  const Key* Writer(const Collection& collection) const {
    const Providers* providers = Find(collection);
    if (providers == nullptr || providers->front().keys.empty()) return nullptr;
    return providers->front().keys.front().get();
  }

 private:
  std::map<api::GroupResource, Providers> by_resource_;
};

Encryption::Encryption(TransformationObserver observer) : observer_(std::move(observer)) {}

Encryption::~Encryption() = default;

Seal Encryption::Number(std::string_view prefix, const EncryptionKey& key) {
  const std::string identity = base::StrCat(prefix, key.name, ":", base::Sha256Hex(key.secret));
  base::MutexLock lock(mutex_);
  return numbers_.try_emplace(identity, static_cast<Seal>(numbers_.size() + 1)).first->second;
}

base::Status Encryption::Set(const EncryptionConfig& config) {
  auto rules = std::make_shared<Rules>();
  for (const EncryptionRule& rule : config.rules) {
    Rules::Providers providers;
    for (const EncryptionProvider& configured : rule.providers) {
      Rules::Provider& provider = providers.emplace_back();
      provider.names = NamesOf(configured.kind);
      for (const EncryptionKey& key : configured.keys) {
        provider.keys.push_back(
            std::make_shared<const Key>(key.name + ":", Number(provider.names.prefix, key),
                                        TRY(MakeCipher(configured.kind, key.secret))));
      }
    }
    for (const api::GroupResource& resource : rule.resources) rules->Add(resource, providers);
  }
  rules_.Set(std::move(rules));
  return base::OkStatus();
}

base::Result<std::shared_ptr<Encryption>> Encryption::Make(const EncryptionConfig& config,
                                                           TransformationObserver observer) {
  std::shared_ptr<Encryption> encryption(new Encryption(std::move(observer)));
  TRY(encryption->Set(config));
  return encryption;
}

bool Encryption::Encrypts(const Collection& collection) const {
  return rules_.Get()->Writer(collection) != nullptr;
}

bool Encryption::IsStale(const Collection& collection, Seal seal) const {
  const auto rules = rules_.Get();
  const Key* writer = rules->Writer(collection);
  return seal != (writer == nullptr ? kPlain : writer->seal());
}

base::Result<Sealed> Encryption::ToStorage(const Collection& collection,
                                           std::string_view storage_key,
                                           std::string_view plain) const {
  const Steps steps(observer_, collection);
  const Stopwatch watch(observer_);
  const auto rules = rules_.Get();
  const Rules::Providers* providers = rules->Find(collection);
  if (providers == nullptr) return Sealed{std::string(plain), kPlain};
  const Rules::Provider& provider = providers->front();
  if (provider.keys.empty()) {
    steps.Tell(kToStorage, "", watch, true);
    return Sealed{std::string(plain), kPlain};
  }
  const Key& key = *provider.keys.front();
  auto encrypted = key.cipher().Encrypt(plain, storage_key);
  steps.Tell(kToStorage, key.prefix(), watch, encrypted.ok());
  steps.Tell(kToStorage, provider.names.prefix, watch, encrypted.ok());
  return Sealed{base::StrCat(provider.names.prefix, key.prefix(), TRY(std::move(encrypted))),
                key.seal()};
}

base::Result<Opened> Encryption::FromStorage(const Collection& collection,
                                             std::string_view storage_key,
                                             std::string_view stored) const {
  const Steps steps(observer_, collection);
  const Stopwatch watch(observer_);
  const auto rules = rules_.Get();
  const Rules::Providers* providers = rules->Find(collection);
  if (providers == nullptr) {
    TRY(CheckPlain(stored));
    return Opened{std::string(stored), kPlain};
  }
  std::vector<std::string> errors;
  for (const Rules::Provider& provider : *providers) {
    const std::string_view prefix = provider.names.prefix;
    if (prefix.empty()) {
      // Identity before others must not keep them from what is encrypted.
      if (!CheckPlain(stored).ok()) continue;
      steps.Tell(kFromStorage, "identity", watch, true);
      return Opened{std::string(stored), kPlain};
    }
    if (!stored.starts_with(prefix)) continue;
    auto opened = provider.Open(storage_key, stored.substr(prefix.size()), steps, errors);
    steps.Tell(kFromStorage, prefix, watch, opened.has_value());
    if (opened) return *std::move(opened);
  }
  if (!errors.empty()) return base::ConfigError(api::AggregateText(errors));
  steps.Tell(kFromStorage, "unknown", watch, false);
  return base::ConfigError("no matching prefix found");
}

}  // namespace portcullis::store
