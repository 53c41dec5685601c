// SPDX-License-Identifier: Apache-2.0

// Encryption is the Transformer that an EncryptionConfig describes, and can be given another one
// while it is in use.
//
//   auto encryption = TRY(store::Encryption::Make(config));
//   store_options.transformer = encryption;
//   …
//   TRY(encryption->Set(other_config));
//
// A resource that no rule names is not encrypted, and its encrypted values are not readable.
// Behaves as k8s.io/apiserver/pkg/server/options/encryptionconfig and storage/value do.
// Thread-safe; Set() is called by one thread at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/published.h"
#include "store/encryption/config.h"
#include "store/encryption/transformer.h"

namespace portcullis::store {

// One step of a transformation, as kube-apiserver counts them: `prefix` is that of the provider or
// of the key; `identity`, or `unknown` if none fitted, when reading.
struct Transformation {
  std::string_view resource;  // "secrets", "deployments.apps"
  std::string_view type;      // "to_storage", "from_storage"
  std::string_view prefix;
  base::Duration elapsed{};
  bool ok = true;
};

struct TransformationObserver {
  // Called for each step by the thread that transforms; must be quick. Null: none.
  std::function<void(const Transformation&)> on_step;
  const base::Clock* clock = nullptr;  // REQUIRED with on_step
};

class Encryption final : public Transformer {
 public:
  // Errors: a key that does not fit its provider, which a file that has been checked does not hold.
  static base::Result<std::shared_ptr<Encryption>> Make(const EncryptionConfig& config,
                                                        TransformationObserver observer = {});
  ~Encryption() override;

  bool Encrypts(const Collection& collection) const override;
  base::Result<Sealed> ToStorage(const Collection& collection, std::string_view storage_key,
                                 std::string_view plain) const override;
  base::Result<Opened> FromStorage(const Collection& collection, std::string_view storage_key,
                                   std::string_view stored) const override;
  bool IsStale(const Collection& collection, Seal seal) const override;

  // On errors the old configuration stays in force.
  base::Status Set(const EncryptionConfig& config);

 private:
  class Rules;
  class Key;

  explicit Encryption(TransformationObserver observer);
  // The number of a key, which the same key has had before.
  Seal Number(std::string_view prefix, const EncryptionKey& key);

  const TransformationObserver observer_;
  base::Published<Rules> rules_;
  base::Mutex mutex_;
  std::map<std::string, Seal> numbers_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::store
