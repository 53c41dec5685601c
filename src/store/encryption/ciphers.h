// SPDX-License-Identifier: Apache-2.0

// The three ciphers of an EncryptionConfiguration, in the byte formats of kube-apiserver:
//
//   aesgcm     12 bytes nonce, ciphertext, 16 bytes tag; authenticates additional data
//   aescbc     16 bytes initialization vector, ciphertext padded as PKCS #7; not authenticated
//   secretbox  24 bytes nonce, 16 bytes tag, ciphertext (XSalsa20 and Poly1305)
//
// Nonces are random (getrandom). Immutable after construction, thread-safe. A key is wiped from
// memory when its cipher is destroyed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::store {

class Cipher {
 public:
  virtual ~Cipher() = default;
  // Error: the library fails.
  virtual base::Result<std::string> Encrypt(std::string_view plain,
                                            std::string_view additional) const = 0;
  // Errors: kube-apiserver's texts, bare.
  virtual base::Result<std::string> Decrypt(std::string_view stored,
                                            std::string_view additional) const = 0;
};

// Keys of 16, 24 or 32 bytes; of 32 for secretbox. Others: `crypto/aes: invalid key size 5`.
base::Result<std::unique_ptr<const Cipher>> MakeAesGcm(std::string_view key);
base::Result<std::unique_ptr<const Cipher>> MakeAesCbc(std::string_view key);
base::Result<std::unique_ptr<const Cipher>> MakeSecretbox(std::string_view key);

}  // namespace portcullis::store
