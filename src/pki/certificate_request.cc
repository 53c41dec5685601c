// SPDX-License-Identifier: Apache-2.0

#include "pki/certificate_request.h"

#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <array>
#include <memory>

#include "base/strings.h"

namespace portcullis::pki {
namespace {

using RequestPtr = std::unique_ptr<X509_REQ, decltype(&X509_REQ_free)>;

constexpr std::string_view kUnimplemented =
    "x509: cannot verify signature: algorithm unimplemented";
constexpr int kSmallestRsaKey = 1024;

struct KeyType {
  int openssl;
  std::string_view name;  // as Go prints the algorithm
  std::string_view go_type;
  std::string_view failure;
};
constexpr std::array kKeyTypes = {
    KeyType{EVP_PKEY_RSA, "RSA", "*rsa.PublicKey", "crypto/rsa: verification error"},
    KeyType{EVP_PKEY_EC, "ECDSA", "*ecdsa.PublicKey", "x509: ECDSA verification failure"},
    KeyType{EVP_PKEY_ED25519, "Ed25519", "ed25519.PublicKey", "x509: Ed25519 verification failure"},
};

// The key type that an algorithm of signatures asks for; null if Go knows no such algorithm.
const KeyType* KeyTypeOf(int signature, int digest, int key) {
  if (signature == NID_ED25519) return &kKeyTypes[2];
  const bool known_digest =
      digest == NID_sha1 || digest == NID_sha256 || digest == NID_sha384 || digest == NID_sha512;
  if (signature == NID_rsassaPss || (known_digest && key == NID_rsaEncryption)) {
    return &kKeyTypes[0];
  }
  return known_digest && key == NID_X9_62_id_ecPublicKey ? &kKeyTypes[1] : nullptr;
}

}  // namespace

std::string RequestSignatureProblem(std::string_view der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  const RequestPtr request(d2i_X509_REQ(nullptr, &bytes, static_cast<long>(der.size())),
                           &X509_REQ_free);
  if (request == nullptr) return "asn1: structure error: tags don't match";
  const int signature = X509_REQ_get_signature_nid(request.get());
  int digest = NID_undef;
  int key = NID_undef;
  if (signature != NID_undef) OBJ_find_sigid_algs(signature, &digest, &key);
  if (digest == NID_md5 && key == NID_rsaEncryption) {
    return "x509: cannot verify signature: insecure algorithm MD5-RSA";
  }
  const KeyType* wanted = KeyTypeOf(signature, digest, key);
  EVP_PKEY* own = X509_REQ_get0_pubkey(request.get());
  const KeyType* held = nullptr;
  for (const KeyType& type : kKeyTypes) {
    if (own != nullptr && EVP_PKEY_get_base_id(own) == type.openssl) held = &type;
  }
  if (wanted == nullptr || held == nullptr) return std::string(kUnimplemented);
  if (wanted != held) {
    return base::StrCat("x509: signature algorithm specifies an ", wanted->name,
                        " public key, but have public key of type ", held->go_type);
  }
  if (const int bits = EVP_PKEY_get_bits(own); held == &kKeyTypes[0] && bits < kSmallestRsaKey) {
    return base::StrCat("crypto/rsa: ", std::to_string(bits),
                        "-bit keys are insecure (see "
                        "https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)");
  }
  if (X509_REQ_verify(request.get(), own) == 1) return {};
  return std::string(held->failure);
}

}  // namespace portcullis::pki
