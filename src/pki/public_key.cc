// SPDX-License-Identifier: Apache-2.0

#include "pki/public_key.h"

#include <openssl/err.h>
#include <openssl/rsa.h>

#include <memory>

#include "pki/certificate.h"
#include "pki/x509.h"

namespace portcullis::pki {
namespace {

using DigestPtr = std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX_free>>;

const unsigned char* BytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Null, or all of the bytes.
KeyPtr ParseKey(std::string_view der) {
  const unsigned char* bytes = BytesOf(der);
  KeyPtr key(d2i_PUBKEY(nullptr, &bytes, static_cast<long>(der.size())));
  ERR_clear_error();
  if (key != nullptr && bytes != BytesOf(der) + der.size()) key.reset();
  return key;
}

std::string CurveOf(const EVP_PKEY* key) {
  constexpr std::pair<int, std::string_view> kCurves[] = {{NID_secp224r1, "P-224"},
                                                          {NID_X9_62_prime256v1, "P-256"},
                                                          {NID_secp384r1, "P-384"},
                                                          {NID_secp521r1, "P-521"}};
  char name[64] = "";
  EVP_PKEY_get_group_name(key, name, sizeof name, nullptr);
  for (const auto& [id, text] : kCurves) {
    if (OBJ_sn2nid(name) == id) return std::string(text);
  }
  return {};
}

}  // namespace

std::optional<PublicKey> ReadPublicKey(std::string_view der) {
  PublicKey read;
  const auto known = KnowsPublicKey(der);
  if (!known.ok()) return std::nullopt;
  if (!*known) return read;
  const KeyPtr key = ParseKey(der);
  switch (key == nullptr ? EVP_PKEY_NONE : EVP_PKEY_get_base_id(key.get())) {
    case EVP_PKEY_ED25519:
      read.kind = KeyKind::kEd25519;
      break;
    case EVP_PKEY_EC:
      read.kind = KeyKind::kEcdsa;
      read.curve = CurveOf(key.get());
      break;
    case EVP_PKEY_RSA:
      read.kind = KeyKind::kRsa;
      read.bits = EVP_PKEY_get_size(key.get()) * 8;
      break;
    default:
      read.kind = KeyKind::kOther;
  }
  return read;
}

bool IsSameKey(std::string_view a, std::string_view b) {
  const KeyPtr first = ParseKey(a);
  const KeyPtr second = ParseKey(b);
  return first != nullptr && second != nullptr && EVP_PKEY_eq(first.get(), second.get()) == 1;
}

bool IsSignedBy(std::string_view key, std::string_view text, std::string_view signature) {
  const KeyPtr parsed = ParseKey(key);
  const DigestPtr digest(EVP_MD_CTX_new());
  if (parsed == nullptr || digest == nullptr) return false;
  const int kind = EVP_PKEY_get_base_id(parsed.get());
  const EVP_MD* hash = kind == EVP_PKEY_ED25519 ? nullptr : EVP_sha256();
  EVP_PKEY_CTX* options = nullptr;
  bool good = EVP_DigestVerifyInit(digest.get(), &options, hash, nullptr, parsed.get()) == 1;
  if (good && kind == EVP_PKEY_RSA) {
    good = EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_AUTO) == 1;
  }
  good = good && EVP_DigestVerify(digest.get(), BytesOf(signature), signature.size(), BytesOf(text),
                                  text.size()) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace portcullis::pki
