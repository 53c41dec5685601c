// SPDX-License-Identifier: Apache-2.0

#include "pki/certificate_request.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <array>
#include <memory>
#include <set>

#include "base/strings.h"
#include "pki/internal/asn1.h"
#include "pki/internal/der.h"
#include "pki/internal/names.h"
#include "pki/pem.h"
#include "pki/x509.h"

namespace portcullis::pki {
namespace {

// Bodies of object identifiers.
constexpr std::string_view kExtensionRequest = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x0e";
constexpr std::string_view kAlternativeNames = "\x55\x1d\x11";

base::Status SyntaxError(std::string_view what) {
  return base::ConfigError(base::StrCat("asn1: syntax error: ", what));
}

base::Status CheckTime(std::string_view whole) {
  return DerReader(whole).Time() ? base::OkStatus() : SyntaxError("invalid time");
}

// Keeps the value of an attribute that is a string. Values of the other types that Go knows have to
// be well-formed.
base::Status ReadValue(std::string_view type, const Asn1Element& value, DistinguishedName& name) {
  if (value.tag.tag_class != 0 || value.tag.compound) return base::OkStatus();
  if (const StringType* string = FindStringType(value.tag.number)) {
    auto text = string->decode(value.body);
    if (text) KeepAttribute(type, std::move(*text), name);
    if (text) return base::OkStatus();
    if (string->name == "UTF-8 string") return base::ConfigError("asn1: invalid UTF-8 string");
    if (string->name == "BMPString") return base::ConfigError("invalid BMPString");
    return SyntaxError(base::StrCat(string->name, " contains invalid character"));
  }
  if (value.tag == kAsn1Integer) return CheckAsn1Integer(value.body);
  if (value.tag == kAsn1BitString) return Asn1BitString(value.body).status();
  if (value.tag == kAsn1ObjectIdentifier) return CheckAsn1ObjectIdentifier(value.body);
  if (value.tag == kAsn1Boolean && !DerReader(value.whole).Boolean()) {
    return SyntaxError("invalid boolean");
  }
  const bool is_time = value.tag.number == kDerUtcTime || value.tag.number == kDerGeneralizedTime;
  return is_time ? CheckTime(value.whole) : base::OkStatus();
}

base::Result<DistinguishedName> ReadSubject(std::string_view whole) {
  DistinguishedName name;
  const auto sequence = TRY(Asn1Reader(whole).Next(kAsn1Sequence, "RDNSequence"));
  for (const Asn1Element& set : TRY(Asn1List(sequence.body, kAsn1Set))) {
    for (const Asn1Element& attribute : TRY(Asn1List(set.body, kAsn1Sequence))) {
      Asn1Reader fields(attribute.body);
      const std::string_view type = TRY(fields.ObjectIdentifier());
      TRY(ReadValue(type, TRY(fields.Next()), name));
    }
  }
  return name;
}

// The values of an attribute that requests extensions; none of another, or of one that Go cannot
// read, which it passes over.
std::vector<Asn1Element> RequestedValues(const Asn1Element& attribute) {
  if (attribute.tag != kAsn1Sequence) return {};
  Asn1Reader fields(attribute.body);
  const auto type = fields.ObjectIdentifier();
  if (!type.ok() || *type != kExtensionRequest) return {};
  const auto set = fields.Next(kAsn1Set, "");
  if (!set.ok()) return {};
  auto values = Asn1List(set->body);
  return values.ok() ? *std::move(values) : std::vector<Asn1Element>();
}

base::Result<CertificateExtension> ReadRequested(std::string_view body) {
  CertificateExtension extension;
  Asn1Reader fields(body);
  extension.kind = TRY(fields.ObjectIdentifier());
  if (fields.NextIs(kAsn1Boolean)) {
    const Asn1Element critical = TRY(fields.Next());
    if (!DerReader(critical.whole).Boolean()) return SyntaxError("invalid boolean");
  }
  extension.value = TRY(fields.Next(kAsn1OctetString, "")).body;
  return extension;
}

base::Status CheckExtensions(const std::vector<Asn1Element>& attributes) {
  std::set<std::string_view> seen;
  std::vector<CertificateExtension> extensions;
  for (const Asn1Element& attribute : attributes) {
    const auto values = RequestedValues(attribute);
    if (values.empty()) continue;
    const auto list = TRY(Asn1Reader(values[0].whole).Next(kAsn1Sequence, ""));
    for (const Asn1Element& element : TRY(Asn1List(list.body, kAsn1Sequence))) {
      extensions.push_back(TRY(ReadRequested(element.body)));
      if (seen.insert(extensions.back().kind).second) continue;
      return base::ConfigError("x509: certificate request contains duplicate requested extensions");
    }
  }
  Certificate names;
  for (const CertificateExtension& extension : extensions) {
    if (extension.kind == kAlternativeNames) TRY(ReadExtension(extension, names));
  }
  return base::OkStatus();
}

// A sequence of an algorithm, and a bit string.
base::Status CheckAlgorithm(std::string_view body) {
  Asn1Reader fields(body);
  TRY(fields.ObjectIdentifier());
  if (!fields.empty()) TRY(fields.Next());
  return base::OkStatus();
}

// What is signed: version, subject, key, attributes.
struct SignedParts {
  std::string_view subject;
  std::string_view public_key;
  std::vector<Asn1Element> attributes;
};

base::Result<SignedParts> ReadSigned(std::string_view body) {
  constexpr Asn1Tag kAttributes{2, 0, true};
  SignedParts parts;
  Asn1Reader fields(body);
  TRY(CheckAsn1Integer(TRY(fields.Next(kAsn1Integer, "int")).body));
  parts.subject = TRY(fields.Next()).whole;
  const auto key = TRY(fields.Next(kAsn1Sequence, "publicKeyInfo"));
  parts.public_key = key.whole;
  Asn1Reader key_fields(key.body);
  TRY(CheckAlgorithm(TRY(key_fields.Next(kAsn1Sequence, "AlgorithmIdentifier")).body));
  TRY(key_fields.BitString());
  parts.attributes = TRY(Asn1List(TRY(fields.Next(kAttributes, "")).body));
  return parts;
}

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

using AlgorithmPtr = std::unique_ptr<X509_ALGOR, Freer<X509_ALGOR_free>>;
using TypePtr = std::unique_ptr<ASN1_TYPE, Freer<ASN1_TYPE_free>>;
using BitsPtr = std::unique_ptr<ASN1_BIT_STRING, Freer<ASN1_BIT_STRING_free>>;

template <auto Parse>
auto* ParseAll(std::string_view der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  return Parse(nullptr, &bytes, static_cast<long>(der.size()));
}

bool IsSigned(const SigningRequest& request, const X509_ALGOR* algorithm, EVP_PKEY* key) {
  const TypePtr content(ParseAll<d2i_ASN1_TYPE>(request.signed_bytes));
  const BitsPtr bits(ASN1_BIT_STRING_new());
  return content != nullptr &&
         ASN1_STRING_set(bits.get(), request.signature.data(),
                         static_cast<int>(request.signature.size())) == 1 &&
         ASN1_item_verify(ASN1_ITEM_rptr(ASN1_ANY), algorithm, bits.get(), content.get(), key) == 1;
}

}  // namespace

base::Result<SigningRequest> ParseCertificateRequest(std::string_view der) {
  Asn1Reader input(der);
  const auto outer = TRY(input.Next(kAsn1Sequence, "certificateRequest"));
  Asn1Reader fields(outer.body);
  const auto content = TRY(fields.Next(kAsn1Sequence, "tbsCertificateRequest"));
  const SignedParts parts = TRY(ReadSigned(content.body));
  const auto algorithm = TRY(fields.Next(kAsn1Sequence, "AlgorithmIdentifier"));
  TRY(CheckAlgorithm(algorithm.body));
  SigningRequest request;
  request.signature = TRY(fields.BitString());
  if (!input.empty()) return SyntaxError("trailing data");
  request.signed_bytes = content.whole;
  request.algorithm = algorithm.whole;
  request.public_key = parts.public_key;
  TRY(KnowsPublicKey(parts.public_key));
  request.subject = TRY(ReadSubject(parts.subject));
  TRY(CheckExtensions(parts.attributes));
  return request;
}

base::Result<SigningRequest> ReadCertificateRequest(std::string_view pem) {
  PemBlock block;
  if (!NextPemBlock(pem, block) || block.type != "CERTIFICATE REQUEST") {
    return base::ConfigError("PEM block type must be CERTIFICATE REQUEST");
  }
  return ParseCertificateRequest(block.bytes);
}

std::string RequestSignatureProblem(const SigningRequest& request) {
  const AlgorithmPtr algorithm(ParseAll<d2i_X509_ALGOR>(request.algorithm));
  const KeyPtr key_of_request(ParseAll<d2i_PUBKEY>(request.public_key));
  ERR_clear_error();
  EVP_PKEY* own = key_of_request.get();
  const int signature = algorithm == nullptr ? NID_undef : OBJ_obj2nid(algorithm->algorithm);
  int digest = NID_undef;
  int key = NID_undef;
  if (signature != NID_undef) OBJ_find_sigid_algs(signature, &digest, &key);
  if (digest == NID_md5 && key == NID_rsaEncryption) {
    return "x509: cannot verify signature: insecure algorithm MD5-RSA";
  }
  const KeyType* wanted = KeyTypeOf(signature, digest, key);
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
  const bool is_signed = IsSigned(request, algorithm.get(), own);
  ERR_clear_error();
  return is_signed ? std::string() : std::string(held->failure);
}

}  // namespace portcullis::pki
