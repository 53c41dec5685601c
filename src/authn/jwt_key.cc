// SPDX-License-Identifier: Apache-2.0

// The keys of tokens, by OpenSSL. ECDSA signatures are two numbers of fixed length in a token
// (RFC 7518 §3.4) and a DER sequence for OpenSSL, hence the conversions.

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/decoder.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "authn/jwt.h"
#include "base/strings.h"
#include "pki/x509.h"

namespace portcullis::authn {
namespace {

template <auto Free>
struct Release {
  template <typename T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using Pkey = std::unique_ptr<EVP_PKEY, Release<EVP_PKEY_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Release<EVP_MD_CTX_free>>;
using Number = std::unique_ptr<BIGNUM, Release<BN_free>>;
using EcSignature = std::unique_ptr<ECDSA_SIG, Release<ECDSA_SIG_free>>;
using Stream = std::unique_ptr<BIO, Release<BIO_free>>;
using Decoder = std::unique_ptr<OSSL_DECODER_CTX, Release<OSSL_DECODER_CTX_free>>;
using Certificate = std::unique_ptr<X509, Release<X509_free>>;
using ParameterBuilder = std::unique_ptr<OSSL_PARAM_BLD, Release<OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, Release<OSSL_PARAM_free>>;
using KeyMaker = std::unique_ptr<EVP_PKEY_CTX, Release<EVP_PKEY_CTX_free>>;

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string ToBytes(const BIGNUM* number, int size) {
  std::string out(static_cast<std::size_t>(size), '\0');
  BN_bn2binpad(number, Bytes(out), size);
  return out;
}

// What an algorithm's name stands for.
struct Algorithm {
  std::string_view name;
  const EVP_MD* (*digest)();
  bool rsa;
  bool pss;
  int bits;  // of the curve
};
constexpr Algorithm kAlgorithms[] = {
    {"RS256", EVP_sha256, true, false, 0},    {"RS384", EVP_sha384, true, false, 0},
    {"RS512", EVP_sha512, true, false, 0},    {"PS256", EVP_sha256, true, true, 0},
    {"PS384", EVP_sha384, true, true, 0},     {"PS512", EVP_sha512, true, true, 0},
    {"ES256", EVP_sha256, false, false, 256}, {"ES384", EVP_sha384, false, false, 384},
    {"ES512", EVP_sha512, false, false, 521},
};

// The bytes of each of the two numbers of an ECDSA signature.
int WidthOf(const Algorithm& algorithm) { return (algorithm.bits + 7) / 8; }

const Algorithm* FindAlgorithm(std::string_view name) {
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

class OpensslKey final : public JwtKey {
 public:
  // No value if keys of this kind cannot sign tokens.
  static std::shared_ptr<const JwtKey> Make(Pkey pkey) {
    const Algorithm* algorithm = nullptr;
    if (EVP_PKEY_get_base_id(pkey.get()) == EVP_PKEY_RSA) {
      algorithm = FindAlgorithm("RS256");
    } else if (EVP_PKEY_get_base_id(pkey.get()) == EVP_PKEY_EC) {
      for (const Algorithm& a : kAlgorithms) {
        if (!a.rsa && a.bits == EVP_PKEY_get_bits(pkey.get())) algorithm = &a;
      }
    }
    if (algorithm == nullptr) return nullptr;
    return std::make_shared<OpensslKey>(std::move(pkey), *algorithm);
  }

  OpensslKey(Pkey pkey, const Algorithm& algorithm)
      : pkey_(std::move(pkey)), algorithm_(algorithm), id_(MakeId()) {}

  std::string_view algorithm() const override { return algorithm_.name; }
  const std::string& id() const override { return id_; }

  bool Verify(const Jwt& token) const override {
    const Algorithm* wanted = FindAlgorithm(token.algorithm);
    if (wanted == nullptr || wanted->rsa != algorithm_.rsa) return false;
    const std::string signature =
        wanted->rsa ? token.signature : ToDer(token.signature, WidthOf(*wanted));
    if (signature.empty()) return false;
    // RSA signatures have the size of the key; OpenSSL does not check that for PSS.
    if (wanted->rsa &&
        signature.size() != static_cast<std::size_t>(EVP_PKEY_get_size(pkey_.get()))) {
      return false;
    }
    const Digest context(EVP_MD_CTX_new());
    EVP_PKEY_CTX* padding = nullptr;
    if (EVP_DigestVerifyInit(context.get(), &padding, wanted->digest(), nullptr, pkey_.get()) !=
            1 ||
        (wanted->pss && EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING) != 1)) {
      return false;
    }
    return EVP_DigestVerify(context.get(), Bytes(signature), signature.size(),
                            Bytes(token.signed_part), token.signed_part.size()) == 1;
  }

  base::Result<std::string> Sign(std::string_view text) const override {
    Digest context(EVP_MD_CTX_new());
    std::size_t size = 0;
    if (EVP_DigestSignInit(context.get(), nullptr, algorithm_.digest(), nullptr, pkey_.get()) !=
            1 ||
        EVP_DigestSign(context.get(), nullptr, &size, Bytes(text), text.size()) != 1) {
      return base::InternalError("cannot sign the token");
    }
    std::string signature(size, '\0');
    if (EVP_DigestSign(context.get(), Bytes(signature), &size, Bytes(text), text.size()) != 1) {
      return base::InternalError("cannot sign the token");
    }
    signature.resize(size);
    return algorithm_.rsa ? signature : FromDer(signature);
  }

  std::string JsonWebKey() const override {
    const std::string head = base::StrCat(R"({"use":"sig","kty":")", algorithm_.rsa ? "RSA" : "EC",
                                          R"(","kid":")", id_, "\",");
    const std::string alg = base::StrCat(R"("alg":")", algorithm_.name, "\",");
    if (algorithm_.rsa) {
      return base::StrCat(head, alg, R"("n":")", Parameter(OSSL_PKEY_PARAM_RSA_N, 0), R"(","e":")",
                          Parameter(OSSL_PKEY_PARAM_RSA_E, 0), "\"}");
    }
    return base::StrCat(head, R"("crv":"P-)", std::to_string(algorithm_.bits), "\",", alg,
                        R"("x":")", Parameter(OSSL_PKEY_PARAM_EC_PUB_X, Width()), R"(","y":")",
                        Parameter(OSSL_PKEY_PARAM_EC_PUB_Y, Width()), "\"}");
  }

 private:
  int Width() const { return WidthOf(algorithm_); }

  std::string Parameter(const char* name, int width) const {
    BIGNUM* raw = nullptr;
    if (EVP_PKEY_get_bn_param(pkey_.get(), name, &raw) != 1) return "";
    const Number number(raw);
    return base::Base64UrlEncode(
        ToBytes(number.get(), width != 0 ? width : BN_num_bytes(number.get())));
  }

  std::string MakeId() const {
    const std::string der = pki::PublicKeyDer(pkey_.get());
    if (der.empty()) return "";
    std::string digest(SHA256_DIGEST_LENGTH, '\0');
    SHA256(Bytes(der), der.size(), Bytes(digest));
    return base::Base64UrlEncode(digest);
  }

  static std::string ToDer(std::string_view raw, int width) {
    const auto half = static_cast<std::size_t>(width);
    if (raw.size() != 2 * half) return "";
    EcSignature signature(ECDSA_SIG_new());
    BIGNUM* r = BN_bin2bn(Bytes(raw), width, nullptr);
    BIGNUM* s = BN_bin2bn(Bytes(raw.substr(half)), width, nullptr);
    ECDSA_SIG_set0(signature.get(), r, s);
    unsigned char* der = nullptr;
    const int size = i2d_ECDSA_SIG(signature.get(), &der);
    if (size <= 0) return "";
    std::string out(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
    OPENSSL_free(der);
    return out;
  }

  base::Result<std::string> FromDer(const std::string& der) const {
    const unsigned char* at = Bytes(std::string_view(der));
    EcSignature signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
    if (signature == nullptr) return base::InternalError("cannot sign the token");
    return base::StrCat(ToBytes(ECDSA_SIG_get0_r(signature.get()), Width()),
                        ToBytes(ECDSA_SIG_get0_s(signature.get()), Width()));
  }

  const Pkey pkey_;
  const Algorithm& algorithm_;
  const std::string id_;
};

// The key in one PEM block, whatever it is, or null.
Pkey ReadBlock(std::string_view block) {
  auto stream = [&] {
    return Stream(BIO_new_mem_buf(block.data(), static_cast<int>(block.size())));
  };
  // Without a callback OpenSSL would ask the terminal for the password of an encrypted key.
  auto no_password = [](char*, int, int, void*) { return 0; };
  if (block.find("PRIVATE KEY") != std::string_view::npos) {
    auto key = pki::ParsePrivateKey(block);
    return key.ok() ? Pkey(key->release()) : nullptr;
  }
  if (block.find("CERTIFICATE") != std::string_view::npos) {
    Certificate certificate(PEM_read_bio_X509(stream().get(), nullptr, no_password, nullptr));
    return certificate ? Pkey(X509_get_pubkey(certificate.get())) : nullptr;
  }
  if (block.find("RSA PUBLIC KEY") != std::string_view::npos) {
    // The older form, PKCS #1.
    EVP_PKEY* key = nullptr;
    const Decoder decoder(OSSL_DECODER_CTX_new_for_pkey(&key, "PEM", nullptr, "RSA",
                                                        EVP_PKEY_PUBLIC_KEY, nullptr, nullptr));
    OSSL_DECODER_from_bio(decoder.get(), stream().get());
    return Pkey(key);
  }
  return Pkey(PEM_read_bio_PUBKEY(stream().get(), nullptr, no_password, nullptr));
}

base::Status BadKey(std::string_view message) {
  return {base::Reason::kUnknown, base::StrCat("go-jose/go-jose: ", message)};
}

// A number of a JSON Web Key; empty if it is missing.
std::string NumberOf(json::Value jwk, std::string_view name) {
  return base::Base64UrlDecode(jwk[name].AsString()).value_or("");
}

Pkey MakeKey(const char* kind, OSSL_PARAM_BLD* builder) {
  const Parameters parameters(OSSL_PARAM_BLD_to_param(builder));
  const KeyMaker maker(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
  EVP_PKEY* key = nullptr;
  if (maker == nullptr || EVP_PKEY_fromdata_init(maker.get()) != 1) return nullptr;
  EVP_PKEY_fromdata(maker.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get());
  return Pkey(key);
}

base::Result<Pkey> ReadRsaKey(json::Value jwk) {
  const std::string n = NumberOf(jwk, "n");
  const std::string e = NumberOf(jwk, "e");
  if (n.empty() || e.empty()) return BadKey("invalid RSA key, missing n/e values");
  const Number modulus(BN_bin2bn(Bytes(std::string_view(n)), static_cast<int>(n.size()), nullptr));
  const Number exponent(BN_bin2bn(Bytes(std::string_view(e)), static_cast<int>(e.size()), nullptr));
  // Go's crypto/rsa verifies nothing with keys like these.
  constexpr int kLeastBits = 1024;
  constexpr int kMostExponentBits = 31;
  if (BN_num_bits(modulus.get()) < kLeastBits || BN_is_odd(modulus.get()) == 0 ||
      BN_is_odd(exponent.get()) == 0 || BN_is_one(exponent.get()) == 1 ||
      BN_num_bits(exponent.get()) > kMostExponentBits) {
    return Pkey();
  }
  const ParameterBuilder builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  return MakeKey("RSA", builder.get());
}

base::Result<Pkey> ReadEcKey(json::Value jwk) {
  struct Curve {
    std::string_view name;
    const char* group;
    std::size_t size;
  };
  constexpr Curve kCurves[] = {
      {"P-256", "prime256v1", 32}, {"P-384", "secp384r1", 48}, {"P-521", "secp521r1", 66}};
  const std::string_view name = jwk["crv"].AsString();
  const auto* const curve = std::find_if(std::begin(kCurves), std::end(kCurves),
                                         [name](const Curve& one) { return one.name == name; });
  if (curve == std::end(kCurves)) {
    return BadKey(base::StrCat("unsupported elliptic curve '", name, "'"));
  }
  const std::string x = NumberOf(jwk, "x");
  const std::string y = NumberOf(jwk, "y");
  if (x.empty() || y.empty()) return BadKey("invalid EC key, missing x/y values");
  if (x.size() != curve->size) return BadKey("invalid EC public key, wrong length for x");
  if (y.size() != curve->size) return BadKey("invalid EC public key, wrong length for y");
  const std::string point = base::StrCat("\x04", x, y);  // not compressed
  const ParameterBuilder builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve->group, 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                   point.size());
  Pkey key = MakeKey("EC", builder.get());
  if (key == nullptr) return BadKey("invalid EC key, X/Y are not on declared curve");
  return key;
}

base::Result<std::shared_ptr<const JwtKey>> ReadJsonWebKey(json::Value jwk) {
  const std::string_view kind = jwk["kty"].AsString();
  if (kind != "RSA" && kind != "EC" && kind != "oct" && kind != "OKP") {
    return BadKey(base::StrCat("unknown json web key type '", kind, "'"));
  }
  // Private keys verify nothing.
  if (kind == "oct" || kind == "OKP" || !jwk["d"].is_null()) {
    return std::shared_ptr<const JwtKey>();
  }
  Pkey key = TRY(kind == "RSA" ? ReadRsaKey(jwk) : ReadEcKey(jwk));
  if (key == nullptr) return std::shared_ptr<const JwtKey>();
  return OpensslKey::Make(std::move(key));
}

}  // namespace

base::Result<std::vector<NamedJwtKey>> ParseJsonWebKeySet(const json::Document& set) {
  std::vector<NamedJwtKey> keys;
  for (const json::Value& jwk : set["keys"].elements()) {
    auto key = ReadJsonWebKey(jwk);
    if (!key.ok()) {
      ERR_clear_error();
      return key.status();
    }
    keys.push_back({std::string(jwk["kid"].AsString()), *std::move(key)});
  }
  return keys;
}

base::Result<std::vector<std::shared_ptr<const JwtKey>>> ParseJwtKeys(std::string_view pem) {
  static constexpr std::string_view kBegin = "-----BEGIN ";
  std::vector<std::shared_ptr<const JwtKey>> keys;
  for (std::size_t at = pem.find(kBegin); at != std::string_view::npos;) {
    const std::size_t next = pem.find(kBegin, at + 1);
    if (Pkey pkey = ReadBlock(pem.substr(at, next - at))) {
      if (auto key = OpensslKey::Make(std::move(pkey))) keys.push_back(std::move(key));
    }
    at = next;
  }
  if (keys.empty()) {
    return base::ConfigError("data does not contain any valid RSA or ECDSA public keys");
  }
  return keys;
}

base::Result<std::shared_ptr<const JwtKey>> ParseJwtSigningKey(std::string_view pem) {
  if (pem.find("PRIVATE KEY-----") != std::string_view::npos) {
    auto keys = ParseJwtKeys(pem);
    if (keys.ok()) return keys->front();
  }
  return base::ConfigError("data does not contain a valid RSA or ECDSA private key");
}

}  // namespace portcullis::authn
