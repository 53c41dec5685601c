// SPDX-License-Identifier: Apache-2.0

#include "pki/certificates.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/pem.h>

#include "pki/x509.h"

namespace portcullis::pki {
namespace {

base::WallTime Now() { return base::SystemClock().Now(); }

TEST(CertificatesTest, AnIssuedCertificateSaysWhatWasAskedFor) {
  const auto authority = MakeAuthority("ca", Now()).value();
  const auto pair = Issue(authority,
                          {.common_name = "alice",
                           .organizations = {"system:masters", "dev"},
                           .dns_names = {"a.example", "*.b.example"},
                           .ip_addresses = {"127.0.0.1", "::1"},
                           .server = true,
                           .client = true},
                          Now());
  ASSERT_TRUE(pair.ok()) << pair.status().message();

  const auto infos = ParseCertificates(pair->certificate_pem).value();

  ASSERT_EQ(infos.size(), 1U);
  EXPECT_EQ(infos[0].common_name, "alice");
  EXPECT_EQ(infos[0].organizations, (std::vector<std::string>{"system:masters", "dev"}));
  EXPECT_EQ(infos[0].issuer_common_name, "ca");
  EXPECT_EQ(infos[0].dns_names, (std::vector<std::string>{"a.example", "*.b.example"}));
  EXPECT_EQ(infos[0].ip_addresses, (std::vector<std::string>{"127.0.0.1", "::1"}));
  EXPECT_FALSE(infos[0].is_authority);
  EXPECT_EQ(infos[0].sha256.size(), 64U);
  EXPECT_LT(infos[0].not_before, Now());
  EXPECT_GT(infos[0].not_after, Now() + std::chrono::hours(24 * 364));
  EXPECT_TRUE(ParseCertificates(authority.certificate_pem).value()[0].is_authority);
}

TEST(CertificatesTest, AHostIsANameOrAnAddress) {
  CertificateRequest request;
  for (const char* host : {"10.0.0.1", "::1", "web.team.svc", "1.example"}) AddHost(request, host);
  EXPECT_EQ(request.ip_addresses, (std::vector<std::string>{"10.0.0.1", "::1"}));
  EXPECT_EQ(request.dns_names, (std::vector<std::string>{"web.team.svc", "1.example"}));
}

TEST(CertificatesTest, KeysAndPublicKeysAreWrittenAsOpenSslWritesThem) {
  const auto authority = MakeAuthority("ca", Now()).value();
  const auto pair = Issue(authority, {.common_name = "alice", .client = true}, Now()).value();
  for (const KeyPair& made : {authority, pair}) {
    const auto parsed = ParseKeyPair(made.certificate_pem, made.key_pem);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    BIO* text = BIO_new(BIO_s_mem());
    PEM_write_bio_PKCS8PrivateKey(text, parsed->key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    char* data = nullptr;
    const long size = BIO_get_mem_data(text, &data);
    EXPECT_EQ(std::string(data, static_cast<std::size_t>(size)), made.key_pem);
    BIO_free(text);

    unsigned char* wanted = nullptr;
    unsigned char* got = nullptr;
    const int wanted_size = i2d_PUBKEY(parsed->key.get(), &wanted);
    const int got_size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(parsed->chain[0].get()), &got);
    EXPECT_EQ(std::string(wanted, wanted + wanted_size), std::string(got, got + got_size));
    OPENSSL_free(wanted);
    OPENSSL_free(got);
  }
}

TEST(CertificatesTest, PublicKeysAreWrittenAsOpenSslWritesThem) {
  std::vector<KeyPtr> keys;
  for (const char* curve : {"P-256", "P-384"}) keys.emplace_back(EVP_EC_gen(curve));
  keys.push_back(ParsePrivateKey(MakeEcKey().value()).value());
  keys.push_back(ParsePrivateKey(MakeRsaKey().value()).value());
  for (const KeyPtr& key : keys) {
    unsigned char* wanted = nullptr;
    const int size = i2d_PUBKEY(key.get(), &wanted);
    EXPECT_EQ(PublicKeyDer(key.get()), std::string(wanted, wanted + size));
    OPENSSL_free(wanted);
  }
}

TEST(CertificatesTest, KeyPairErrorsAreGos) {
  const auto a = MakeAuthority("a", Now()).value();
  const auto b = MakeAuthority("b", Now()).value();

  EXPECT_TRUE(CheckKeyPair(a.certificate_pem, a.key_pem).ok());
  EXPECT_EQ(CheckKeyPair("", a.key_pem).message(),
            "tls: failed to find any PEM data in certificate input");
  EXPECT_EQ(CheckKeyPair("nonsense", "nonsense").message(),
            "tls: failed to find any PEM data in certificate input");
  EXPECT_EQ(CheckKeyPair(a.certificate_pem, "").message(),
            "tls: failed to find any PEM data in key input");
  EXPECT_EQ(CheckKeyPair(a.key_pem, a.certificate_pem).message(),
            "tls: failed to find certificate PEM data in certificate input, but did find a private "
            "key; PEM inputs may have been switched");
  EXPECT_EQ(CheckKeyPair(a.certificate_pem, a.certificate_pem).message(),
            "tls: found a certificate rather than a key in the PEM for the private key");
  EXPECT_EQ(CheckKeyPair(a.certificate_pem, b.key_pem).message(),
            "tls: private key does not match public key");
  EXPECT_EQ(CheckKeyPair(a.certificate_pem, MakeRsaKey().value()).message(),
            "tls: private key type does not match public key type");
  // Only the first certificate is read, and not before there is a key.
  const std::string broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  EXPECT_TRUE(CheckKeyPair(a.certificate_pem + broken, a.key_pem).ok());
  EXPECT_EQ(CheckKeyPair(broken, a.key_pem).message(), "x509: malformed certificate");
  EXPECT_EQ(CheckKeyPair(broken, "").message(), "tls: failed to find any PEM data in key input");
}

}  // namespace
}  // namespace portcullis::pki
