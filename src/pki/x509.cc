// SPDX-License-Identifier: Apache-2.0

#include "pki/x509.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/param_build.h>

#include <array>
#include <memory>

#include "base/strings.h"
#include "golang/netip.h"
#include "pki/certificate.h"
#include "pki/certificates.h"
#include "pki/internal/der.h"

namespace portcullis::pki {

X509Ptr ParseDer(std::string_view der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  X509Ptr certificate(d2i_X509(nullptr, &bytes, static_cast<long>(der.size())));
  if (!certificate) ERR_clear_error();
  return certificate;
}

base::Result<X509Ptr> ParseAsGo(std::string_view der) {
  TRY(ParseCertificate(der));
  auto certificate = ParseDer(der);
  if (!certificate) return base::ConfigError("x509: malformed certificate");
  return certificate;
}

std::string DerOf(X509* certificate) {
  const int size = i2d_X509(certificate, nullptr);
  std::string der(static_cast<std::size_t>(std::max(size, 0)), '\0');
  auto* out = reinterpret_cast<unsigned char*>(der.data());
  i2d_X509(certificate, &out);
  return der;
}

namespace {

// That of a key of P-256, or "" for others: i2d_PUBKEY() looks through all of OpenSSL's encoders.
std::string P256KeyDer(const EVP_PKEY* key) {
  constexpr std::string_view kCurve = SN_X9_62_prime256v1;
  constexpr std::size_t kPoint = 65;  // not compressed
  constexpr std::string_view kPrefix(
      "\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce"
      "\x3d\x03\x01\x07\x03\x42\x00",
      26);
  std::array<char, 32> curve{};
  std::size_t size = 0;
  if (EVP_PKEY_base_id(key) != EVP_PKEY_EC ||
      EVP_PKEY_get_group_name(key, curve.data(), curve.size(), &size) != 1 ||
      std::string_view(curve.data(), size) != kCurve) {
    return "";
  }
  std::array<unsigned char, kPoint> point{};
  if (EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size(),
                                      &size) != 1 ||
      size != kPoint) {
    return "";
  }
  return base::StrCat(kPrefix,
                      std::string_view(reinterpret_cast<const char*>(point.data()), point.size()));
}

}  // namespace

std::string PublicKeyDer(const EVP_PKEY* key) {
  std::string der = P256KeyDer(key);
  if (!der.empty()) return der;
  unsigned char* bytes = nullptr;
  const int size = i2d_PUBKEY(key, &bytes);
  ERR_clear_error();
  if (size <= 0) return "";
  der.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

std::string SerialOf(const X509* certificate) {
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr), &BN_free);
  constexpr auto kFree = [](char* text) { OPENSSL_free(text); };
  const std::unique_ptr<char, decltype(kFree)> text(BN_bn2dec(number.get()));
  return text != nullptr ? text.get() : "";
}

std::string IpText(const unsigned char* bytes, int size) {
  if (size != 4 && size != 16) return "";
  golang::IpAddress address;
  address.is_v6 = size == 16;
  std::copy(bytes, bytes + size, address.bytes.begin());
  return address.Unmap().ToString();
}

namespace {

// The certificates of a PEM text in DER, at least one, as Go's tls.X509KeyPair finds them.
base::Result<std::vector<std::string>> FindChain(std::string_view pem) {
  std::vector<std::string> chain;
  std::vector<std::string> skipped;
  PemBlock block;
  while (NextPemBlock(pem, block)) {
    if (block.type == "CERTIFICATE") {
      chain.push_back(std::move(block.bytes));
    } else {
      skipped.push_back(std::move(block.type));
    }
  }
  if (!chain.empty()) return chain;
  if (skipped.empty()) {
    return base::ConfigError("tls: failed to find any PEM data in certificate input");
  }
  if (skipped.size() == 1 && skipped[0].ends_with("PRIVATE KEY")) {
    return base::ConfigError(
        "tls: failed to find certificate PEM data in certificate input, but did find a private "
        "key; PEM inputs may have been switched");
  }
  return base::ConfigError(
      base::StrCat("tls: failed to find \"CERTIFICATE\" PEM block in certificate input after "
                   "skipping PEM blocks of the following types: [",
                   base::Join(skipped, " "), "]"));
}

template <typename T, auto Free>
using Owned = std::unique_ptr<T, Freer<Free>>;

// The name of the curve of an AlgorithmIdentifier of elliptic curves (RFC 5480 §2.1.1), or null.
const char* CurveOf(const X509_ALGOR* algorithm) {
  const ASN1_OBJECT* kind = nullptr;
  const void* parameters = nullptr;
  int type = 0;
  X509_ALGOR_get0(&kind, &type, &parameters, algorithm);
  if (OBJ_obj2nid(kind) != NID_X9_62_id_ecPublicKey || type != V_ASN1_OBJECT) return nullptr;
  return OBJ_nid2sn(OBJ_obj2nid(static_cast<const ASN1_OBJECT*>(parameters)));
}

// A private key of a curve from its two halves, which an ECPrivateKey has (RFC 5915 §3); null if the
// public one is absent.
KeyPtr MakeEcKey(const char* curve, std::string_view ec_private_key) {
  auto key = DerReader(ec_private_key).Enter(kDerSequence);
  if (!key || !key->Integer()) return nullptr;
  const auto number = key->Next(kDerOctetString);
  if (key->NextIs(DerContextConstructed(0))) (void)key->Next();
  auto holder = key->Enter(DerContextConstructed(1));
  const auto point = holder ? holder->BitString() : std::nullopt;
  if (!number || !point) return nullptr;
  const auto* bytes = reinterpret_cast<const unsigned char*>(number->body.data());
  const Owned<BIGNUM, BN_clear_free> secret(
      BN_bin2bn(bytes, static_cast<int>(number->body.size()), nullptr));
  const Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve, 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point->data(),
                                   point->size());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_PRIV_KEY, secret.get());
  const Owned<OSSL_PARAM, OSSL_PARAM_free> parameters(OSSL_PARAM_BLD_to_param(builder.get()));
  const Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free> context(
      EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  EVP_PKEY* made = nullptr;
  if (parameters == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_KEYPAIR, parameters.get()) != 1) {
    return nullptr;
  }
  return KeyPtr(made);
}

// A key of a curve in the form in which nearly all keys come, PKCS #8, or null. OpenSSL's own
// decoder gives the same, but looks through all decoders that it has: a millisecond, as much as the
// rest of the certificates at start takes together.
KeyPtr DecodeEcPkcs8(std::string_view der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  const Owned<PKCS8_PRIV_KEY_INFO, PKCS8_PRIV_KEY_INFO_free> info(
      d2i_PKCS8_PRIV_KEY_INFO(nullptr, &bytes, static_cast<long>(der.size())));
  const unsigned char* content = nullptr;
  int size = 0;
  const X509_ALGOR* algorithm = nullptr;
  if (info == nullptr || PKCS8_pkey_get0(nullptr, &content, &size, &algorithm, info.get()) != 1) {
    return nullptr;
  }
  const char* curve = CurveOf(algorithm);
  if (curve == nullptr) return nullptr;
  return MakeEcKey(curve, {reinterpret_cast<const char*>(content), static_cast<std::size_t>(size)});
}

KeyPtr DecodePrivateKey(std::string_view type, std::string_view der) {
  KeyPtr key = type == "PRIVATE KEY" ? DecodeEcPkcs8(der) : nullptr;
  if (!key) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
    key.reset(d2i_AutoPrivateKey(nullptr, &bytes, static_cast<long>(der.size())));
  }
  ERR_clear_error();
  return key;
}

// The private key of a PEM text as Go's tls.X509KeyPair finds it.
base::Result<PemBlock> FindPrivateKey(std::string_view pem) {
  std::vector<std::string> skipped;
  PemBlock block;
  while (NextPemBlock(pem, block)) {
    if (block.type == "PRIVATE KEY" || block.type.ends_with(" PRIVATE KEY")) return block;
    skipped.push_back(block.type);
  }
  if (skipped.empty()) return base::ConfigError("tls: failed to find any PEM data in key input");
  if (skipped.size() == 1 && skipped[0] == "CERTIFICATE") {
    return base::ConfigError(
        "tls: found a certificate rather than a key in the PEM for the private key");
  }
  return base::ConfigError(
      base::StrCat("tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input "
                   "after skipping PEM blocks of the following types: [",
                   base::Join(skipped, " "), "]"));
}

base::Result<KeyPtr> ParseKeyBlock(const PemBlock& block) {
  if (KeyPtr key = DecodePrivateKey(block.type, block.bytes)) return key;
  return base::ConfigError("tls: failed to parse private key");
}

base::Status CheckFit(EVP_PKEY* public_key, const EVP_PKEY* key) {
  const int type = public_key != nullptr ? EVP_PKEY_base_id(public_key) : EVP_PKEY_NONE;
  if (type != EVP_PKEY_RSA && type != EVP_PKEY_EC && type != EVP_PKEY_ED25519) {
    return base::ConfigError("tls: unknown public key algorithm");
  }
  if (type != EVP_PKEY_base_id(key)) {
    return base::ConfigError("tls: private key type does not match public key type");
  }
  if (EVP_PKEY_eq(public_key, key) == 1) return base::OkStatus();
  ERR_clear_error();
  return base::ConfigError("tls: private key does not match public key");
}

// The leaf alone is parsed, as Go does; `chain` gets the certificates.
base::Result<ChainAndKey> ParseLeafAndKey(std::string_view certificate_pem,
                                          std::string_view key_pem,
                                          std::vector<std::string>& chain) {
  chain = TRY(FindChain(certificate_pem));
  const PemBlock block = TRY(FindPrivateKey(key_pem));
  ChainAndKey pair;
  pair.chain.push_back(TRY(ParseAsGo(chain[0])));
  pair.key = TRY(ParseKeyBlock(block));
  TRY(CheckFit(X509_get0_pubkey(pair.chain[0].get()), pair.key.get()));
  return pair;
}

}  // namespace

base::Result<KeyPtr> ParsePrivateKey(std::string_view pem) {
  return ParseKeyBlock(TRY(FindPrivateKey(pem)));
}

base::Result<ChainAndKey> ParseKeyPair(std::string_view certificate_pem, std::string_view key_pem) {
  std::vector<std::string> chain;
  ChainAndKey pair = TRY(ParseLeafAndKey(certificate_pem, key_pem, chain));
  for (std::size_t i = 1; i < chain.size(); ++i) pair.chain.push_back(TRY(ParseAsGo(chain[i])));
  return pair;
}

base::Status CheckKeyPair(std::string_view certificate_pem, std::string_view key_pem) {
  std::vector<std::string> chain;
  return ParseLeafAndKey(certificate_pem, key_pem, chain).status();
}

base::Status AddRoots(X509_STORE& store, std::string_view pem) {
  bool any = false;
  base::Status first_error;
  PemBlock block;
  bool any_block = false;
  while (NextPemBlock(pem, block)) {
    any_block = true;
    if (block.type != "CERTIFICATE" || block.has_headers) continue;
    const auto certificate = ParseAsGo(block.bytes);
    if (!certificate.ok()) {
      if (first_error.ok()) {
        first_error = base::ConfigError(
            base::StrCat("failed to parse certificate: ", certificate.status().message()));
      }
      continue;
    }
    X509_STORE_add_cert(&store, certificate->get());
    any = true;
  }
  ERR_clear_error();
  if (any) return base::OkStatus();
  if (!first_error.ok()) return first_error;
  return base::ConfigError(any_block ? "no valid certificate authority data seen"
                                     : "unable to parse bytes as PEM block");
}

}  // namespace portcullis::pki
