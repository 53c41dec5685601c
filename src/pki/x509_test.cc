// SPDX-License-Identifier: Apache-2.0

#include "pki/x509.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

namespace portcullis::pki {
namespace {

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

std::string Pkcs8(EVP_PKEY* key) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  return TextOf(bio);
}

std::string Traditional(EVP_PKEY* key) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey_traditional(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  return TextOf(bio);
}

// A signature by what was read must verify with what was written: both halves are those of the key.
bool IsSameKey(const KeyPtr& read, EVP_PKEY* written) {
  const Freer<EVP_MD_CTX_free> free;
  const std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX_free>> signing(EVP_MD_CTX_new(), free);
  const std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX_free>> verifying(EVP_MD_CTX_new(), free);
  unsigned char signature[1024];
  std::size_t size = sizeof(signature);
  const unsigned char text[] = {'t', 'e', 'x', 't'};
  return EVP_PKEY_eq(read.get(), written) == 1 &&
         EVP_DigestSignInit(signing.get(), nullptr, EVP_sha256(), nullptr, read.get()) == 1 &&
         EVP_DigestSign(signing.get(), signature, &size, text, sizeof(text)) == 1 &&
         EVP_DigestVerifyInit(verifying.get(), nullptr, EVP_sha256(), nullptr, written) == 1 &&
         EVP_DigestVerify(verifying.get(), signature, size, text, sizeof(text)) == 1;
}

TEST(PrivateKeys, OfEveryCurveAreReadInBothForms) {
  for (const char* curve : {"P-256", "P-384", "P-521", "secp256k1"}) {
    const KeyPtr key(EVP_EC_gen(curve));
    ASSERT_NE(key, nullptr) << curve;
    for (const std::string& pem : {Pkcs8(key.get()), Traditional(key.get())}) {
      const auto read = ParsePrivateKey(pem);
      ASSERT_TRUE(read.ok()) << pem << read.status().message();
      EXPECT_TRUE(IsSameKey(*read, key.get())) << pem;
    }
  }
}

TEST(PrivateKeys, WithoutTheirPublicHalfAreRead) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  const std::string with = Pkcs8(key.get());
  ASSERT_EQ(EVP_PKEY_set_int_param(key.get(), OSSL_PKEY_PARAM_EC_INCLUDE_PUBLIC, 0), 1);
  const std::string without = Pkcs8(key.get());
  ASSERT_LT(without.size(), with.size());

  const auto read = ParsePrivateKey(without);

  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(IsSameKey(*read, key.get()));
}

TEST(PrivateKeys, OfRsaAreReadInBothForms) {
  const KeyPtr key(EVP_RSA_gen(2048));
  for (const std::string& pem : {Pkcs8(key.get()), Traditional(key.get())}) {
    const auto read = ParsePrivateKey(pem);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_TRUE(IsSameKey(*read, key.get()));
  }
}

TEST(PrivateKeys, CutAnywhereAreErrors) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  unsigned char* der = nullptr;
  PKCS8_PRIV_KEY_INFO* info = EVP_PKEY2PKCS8(key.get());
  const int size = i2d_PKCS8_PRIV_KEY_INFO(info, &der);
  PKCS8_PRIV_KEY_INFO_free(info);
  const std::string whole(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  for (std::size_t cut = 0; cut < whole.size(); cut += 2) {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio(bio, "PRIVATE KEY", "", reinterpret_cast<const unsigned char*>(whole.data()),
                  static_cast<long>(cut));
    const auto read = ParsePrivateKey(TextOf(bio));
    EXPECT_EQ(read.status().message(), "tls: failed to parse private key") << cut;
  }
}

}  // namespace
}  // namespace portcullis::pki
