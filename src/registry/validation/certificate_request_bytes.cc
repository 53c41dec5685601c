#include "registry/validation/certificate_request_bytes.h"

#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <array>
#include <cstddef>
#include <memory>

#include "base/strings.h"

namespace portcullis::registry {
namespace {

constexpr int kSequence = 16;

struct Header {
  unsigned tag_class = 0;
  unsigned tag = 0;
  bool compound = false;
  std::size_t length = 0;
  std::size_t size = 0;  // of the header itself
};

unsigned ByteAt(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

// X.690 §8.1, with the words of Go's encoding/asn1.
std::string ReadHeader(std::string_view bytes, Header& header) {
  if (bytes.empty()) return "asn1: syntax error: sequence truncated";
  const unsigned first = ByteAt(bytes, 0);
  header.tag_class = first >> 6;
  header.compound = (first & 0x20U) != 0;
  header.tag = first & 0x1fU;
  if (bytes.size() < 2) return "asn1: syntax error: truncated tag or length";
  const unsigned second = ByteAt(bytes, 1);
  header.size = 2;
  header.length = second & 0x7fU;
  if ((second & 0x80U) == 0) return {};
  if (header.length == 0) return "asn1: syntax error: indefinite length found (not DER)";
  const std::size_t count = header.length;
  header.length = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (header.size >= bytes.size()) return "asn1: syntax error: truncated tag or length";
    if (header.length >= (1U << 23)) return "asn1: structure error: length too large";
    header.length = (header.length << 8) | ByteAt(bytes, header.size++);
    if (header.length == 0) return "asn1: structure error: superfluous leading zeros in length";
  }
  if (header.length < 0x80) return "asn1: structure error: non-minimal length";
  return {};
}

// Takes the content of a sequence off the front of `bytes`; `go_type` is what Go wanted to fill.
std::string TakeSequence(std::string_view& bytes, std::string_view go_type,
                         std::string_view& content) {
  Header header;
  if (std::string problem = ReadHeader(bytes, header); !problem.empty()) return problem;
  if (header.tag_class != 0 || header.tag != kSequence || !header.compound) {
    return base::StrCat(
        "asn1: structure error: tags don't match (", std::to_string(kSequence),
        " vs {class:", std::to_string(header.tag_class), " tag:", std::to_string(header.tag),
        " length:", std::to_string(header.length),
        " isCompound:", header.compound ? "true" : "false",
        "}) {optional:false explicit:false application:false private:false defaultValue:<nil> "
        "tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} ",
        go_type, " @", std::to_string(header.size));
  }
  if (bytes.size() - header.size < header.length) return "asn1: syntax error: data truncated";
  content = bytes.substr(header.size, header.length);
  bytes.remove_prefix(header.size + header.length);
  return {};
}

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

std::string SignatureProblem(std::string_view der) {
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

std::string CertificateRequestProblem(std::string_view der) {
  std::string_view request;
  std::string problem = TakeSequence(der, "certificateRequest", request);
  if (!problem.empty()) return problem;
  std::string_view info;
  problem = TakeSequence(request, "tbsCertificateRequest", info);
  if (problem.empty() && !der.empty()) problem = "asn1: syntax error: trailing data";
  return problem;
}

}  // namespace portcullis::registry
