// SPDX-License-Identifier: Apache-2.0

// Public keys alone (SubjectPublicKeyInfo in DER), as Go's crypto/x509 reads them, and what is signed with
// them. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace portcullis::pki {

enum class KeyKind : std::uint8_t { kUnknown, kOther, kEd25519, kEcdsa, kRsa };

struct PublicKey {
  KeyKind kind = KeyKind::kUnknown;  // kUnknown: of no algorithm that Go's certificates know
  std::string curve;                 // of an ECDSA key: "P-256"
  int bits = 0;                      // of an RSA key's modulus, in whole bytes
};

// No value if Go's parser refuses it.
std::optional<PublicKey> ReadPublicKey(std::string_view der);
// Whether both are the same key, however they are encoded.
bool IsSameKey(std::string_view a, std::string_view b);
// Whether `signature` is one of `text`: Ed25519, ECDSA over SHA-256, or RSA-PSS over SHA-256 with salt of
// any length.
bool IsSignedBy(std::string_view key, std::string_view text, std::string_view signature);

}  // namespace portcullis::pki
