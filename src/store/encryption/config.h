// SPDX-License-Identifier: Apache-2.0

// Which resources are encrypted with which providers and keys: what an EncryptionConfiguration of
// apiserver.config.k8s.io/v1 says (server/encryption/encryption_file.h reads one). Value types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/names.h"

namespace portcullis::store {

struct EncryptionKey {
  std::string name;
  std::string secret;  // decoded: the key itself
};

struct EncryptionProvider {
  enum class Kind : std::uint8_t { kIdentity, kAesGcm, kAesCbc, kSecretbox };
  Kind kind = Kind::kIdentity;
  std::vector<EncryptionKey> keys;  // none of kIdentity
};

// The first provider writes, all of them read. The resource "*" means all of its group; with the
// group "*", everything.
struct EncryptionRule {
  std::vector<api::GroupResource> resources;
  std::vector<EncryptionProvider> providers;
};

// In the order of the file: at least one rule, in each at least one resource and one provider.
struct EncryptionConfig {
  std::vector<EncryptionRule> rules;
};

}  // namespace portcullis::store
