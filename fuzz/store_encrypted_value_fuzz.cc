// SPDX-License-Identifier: Apache-2.0

// Any bytes as a stored value: decrypting them never crashes, with any provider, and a value that is
// taken as plain does not begin as an encrypted one.
#include <cstdlib>
#include <string>
#include <string_view>

#include "store/encryption/encryption.h"

namespace store = portcullis::store;

namespace {

store::EncryptionConfig Config() {
  using Kind = store::EncryptionProvider::Kind;
  const std::string key(32, 'k');
  return {{{{{"", "secrets"}},
            {{Kind::kIdentity, {}},
             {Kind::kAesGcm, {{"a", key}}},
             {Kind::kAesCbc, {{"a", key}}},
             {Kind::kSecretbox, {{"a", key}}}}}}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const auto encryption = store::Encryption::Make(Config());
  if (!encryption.ok()) std::abort();
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view prefix :
       {"", "k8s:enc:aesgcm:v1:a:", "k8s:enc:aescbc:v1:a:", "k8s:enc:secretbox:v1:a:"}) {
    const std::string stored = std::string(prefix) + text;
    const auto opened = (*encryption)->FromStorage({"", "secrets"}, "/registry/x", stored);
    if (!opened.ok()) continue;
    if (opened->seal == store::kPlain && stored.starts_with(store::kEncryptedPrefix)) std::abort();
  }
  return 0;
}
