// SPDX-License-Identifier: Apache-2.0

#include "pki/certificates.h"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>

#include "base/file.h"
#include "base/random.h"
#include "base/strings.h"
#include "golang/netip.h"
#include "pki/certificate.h"
#include "pki/verify.h"
#include "pki/x509.h"

namespace portcullis::pki {
namespace {

base::Status LibraryError(std::string_view what) {
  const char* reason = ERR_reason_error_string(ERR_get_error());
  ERR_clear_error();
  return base::ConfigError(base::StrCat(what, ": ", reason != nullptr ? reason : "unknown error"));
}

std::string TakeText(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(std::max(size, 0L)));
  BIO_free(bio);
  return text;
}

std::string CertificateText(X509* certificate) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  return TakeText(bio);
}

std::string KeyText(EVP_PKEY* key) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  return TakeText(bio);
}

// PKCS #8 of a key of NewEcKey(), the same bytes as KeyText() writes; without OpenSSL's encoders, of which
// that looks through all.
std::string EcKeyText(EVP_PKEY* key) {
  constexpr std::size_t kNumber = 32;
  constexpr std::size_t kPoint = 65;
  // The two algorithms, and an ECPrivateKey (RFC 5915) with its number and, further on, its point.
  constexpr std::string_view kBegin(
      "\x30\x81\x87\x02\x01\x00\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce"
      "\x3d"
      "\x03\x01\x07\x04\x6d\x30\x6b\x02\x01\x01\x04\x20",
      36);
  constexpr std::string_view kBetween("\xa1\x44\x03\x42\x00", 5);
  std::string der = base::StrCat(kBegin, std::string(kNumber, '\0'), kBetween);
  BIGNUM* number = nullptr;
  EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &number);
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(der.data() + kBegin.size()), kNumber);
  BN_clear_free(number);
  std::size_t size = 0;
  std::array<unsigned char, kPoint> point{};
  EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size(), &size);
  der.append(reinterpret_cast<const char*>(point.data()), point.size());
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio(bio, PEM_STRING_PKCS8INF, "", reinterpret_cast<const unsigned char*>(der.data()),
                static_cast<long>(der.size()));
  OPENSSL_cleanse(der.data(), der.size());
  return TakeText(bio);
}

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  if (extension == nullptr) return;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

void AddName(X509_NAME* name, int nid, const std::string& value) {
  if (value.empty()) return;
  X509_NAME_add_entry_by_NID(name, nid, MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(value.data()),
                             static_cast<int>(value.size()), -1, 0);
}

// Puts a key of NewEcKey() into a certificate. X509_set_pubkey() gives the same bytes, but looks through
// all encoders and then all decoders of OpenSSL: two thirds of what a certificate costs.
void SetPublicKey(X509* certificate, EVP_PKEY* key) {
  std::size_t size = 0;
  EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, nullptr, 0, &size);
  auto* point = static_cast<unsigned char*>(OPENSSL_malloc(size));
  EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point, size, &size);
  X509_PUBKEY_set0_param(X509_get_X509_PUBKEY(certificate), OBJ_nid2obj(NID_X9_62_id_ecPublicKey),
                         V_ASN1_OBJECT, OBJ_nid2obj(NID_X9_62_prime256v1), point,
                         static_cast<int>(size));
}

X509Ptr NewCertificate(EVP_PKEY* key, std::string_view common_name,
                       const std::vector<std::string>& organizations, base::WallTime now,
                       int valid_days) {
  X509Ptr certificate(X509_new());
  X509* x = certificate.get();
  X509_set_version(x, 2);
  std::string serial = base::RandomBytes(16);
  serial[0] = static_cast<char>(serial[0] & 0x7f);
  BIGNUM* number = BN_bin2bn(reinterpret_cast<const unsigned char*>(serial.data()),
                             static_cast<int>(serial.size()), nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x));
  BN_free(number);
  const auto start = std::chrono::system_clock::to_time_t(now - std::chrono::hours(1));
  const auto end = std::chrono::system_clock::to_time_t(now + std::chrono::hours(24) * valid_days);
  ASN1_TIME_set(X509_getm_notBefore(x), start);
  ASN1_TIME_set(X509_getm_notAfter(x), end);
  SetPublicKey(x, key);
  X509_NAME* subject = X509_get_subject_name(x);
  for (const auto& organization : organizations) {
    AddName(subject, NID_organizationName, organization);
  }
  AddName(subject, NID_commonName, std::string(common_name));
  return certificate;
}

base::Result<KeyPtr> NewEcKey() {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return LibraryError("making a key");
  return key;
}

void AddAlternativeNames(X509* certificate, const CertificateRequest& request) {
  GENERAL_NAMES* names = sk_GENERAL_NAME_new_null();
  for (const auto& dns : request.dns_names) {
    GENERAL_NAME* name = GENERAL_NAME_new();
    ASN1_IA5STRING* text = ASN1_IA5STRING_new();
    ASN1_STRING_set(text, dns.data(), static_cast<int>(dns.size()));
    GENERAL_NAME_set0_value(name, GEN_DNS, text);
    sk_GENERAL_NAME_push(names, name);
  }
  for (const auto& ip : request.ip_addresses) {
    ASN1_OCTET_STRING* bytes = a2i_IPADDRESS(ip.c_str());
    if (bytes == nullptr) continue;
    GENERAL_NAME* name = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(name, GEN_IPADD, bytes);
    sk_GENERAL_NAME_push(names, name);
  }
  if (sk_GENERAL_NAME_num(names) > 0) {
    X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, 0);
  }
  GENERAL_NAMES_free(names);
}

void AddLeafExtensions(X509* certificate, X509* issuer, const CertificateRequest& request) {
  AddExtension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE");
  AddExtension(certificate, issuer, NID_key_usage, "critical,digitalSignature,keyEncipherment");
  std::vector<std::string_view> uses;
  if (request.server) uses.emplace_back("serverAuth");
  if (request.client) uses.emplace_back("clientAuth");
  if (!uses.empty()) AddExtension(certificate, issuer, NID_ext_key_usage, base::Join(uses, ","));
  AddExtension(certificate, issuer, NID_subject_key_identifier, "hash");
  AddExtension(certificate, issuer, NID_authority_key_identifier, "keyid");
  AddAlternativeNames(certificate, request);
}

std::int64_t SecondsOf(base::WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

// As near as a WallTime comes to it: it ends in 2262.
base::WallTime TimeOf(std::int64_t seconds) {
  const auto clamped =
      std::clamp(seconds, SecondsOf(base::WallTime::min()) + 1, SecondsOf(base::WallTime::max()));
  return base::WallTime(std::chrono::seconds(clamped));
}

}  // namespace

void AddHost(CertificateRequest& request, const std::string& host) {
  (golang::ParseIp(host) ? request.ip_addresses : request.dns_names).push_back(host);
}

base::Result<KeyPair> MakeAuthority(std::string_view common_name, base::WallTime now,
                                    int valid_days) {
  const KeyPtr key = TRY(NewEcKey());
  const X509Ptr certificate = NewCertificate(key.get(), common_name, {}, now, valid_days);
  X509* x = certificate.get();
  X509_set_issuer_name(x, X509_get_subject_name(x));
  AddExtension(x, x, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(x, x, NID_key_usage,
               "critical,digitalSignature,keyEncipherment,keyCertSign,cRLSign");
  AddExtension(x, x, NID_subject_key_identifier, "hash");
  if (X509_sign(x, key.get(), EVP_sha256()) == 0) return LibraryError("signing a certificate");
  return KeyPair{CertificateText(x), EcKeyText(key.get())};
}

namespace {

class ParsedIssuer final : public Issuer {
 public:
  explicit ParsedIssuer(ChainAndKey signer) : signer_(std::move(signer)) {}

  base::Result<KeyPair> Issue(const CertificateRequest& request,
                              base::WallTime now) const override {
    const KeyPtr key = TRY(NewEcKey());
    const X509Ptr certificate = NewCertificate(key.get(), request.common_name,
                                               request.organizations, now, request.valid_days);
    X509* x = certificate.get();
    X509_set_issuer_name(x, X509_get_subject_name(signer_.chain[0].get()));
    AddLeafExtensions(x, signer_.chain[0].get(), request);
    if (X509_sign(x, signer_.key.get(), EVP_sha256()) == 0) {
      return LibraryError("signing a certificate");
    }
    return KeyPair{CertificateText(x), EcKeyText(key.get())};
  }

 private:
  const ChainAndKey signer_;
};

}  // namespace

base::Result<std::shared_ptr<const Issuer>> Issuer::Create(const KeyPair& authority) {
  ChainAndKey signer = TRY(ParseKeyPair(authority.certificate_pem, authority.key_pem));
  return std::shared_ptr<const Issuer>(std::make_shared<ParsedIssuer>(std::move(signer)));
}

base::Result<KeyPair> Issue(const KeyPair& authority, const CertificateRequest& request,
                            base::WallTime now) {
  return TRY(Issuer::Create(authority))->Issue(request, now);
}

base::Result<KeyPair> MakeSelfSigned(const CertificateRequest& request, base::WallTime now) {
  const KeyPtr key = TRY(NewEcKey());
  const X509Ptr certificate = NewCertificate(key.get(), request.common_name, request.organizations,
                                             now, request.valid_days);
  X509* x = certificate.get();
  X509_set_issuer_name(x, X509_get_subject_name(x));
  AddLeafExtensions(x, x, request);
  if (X509_sign(x, key.get(), EVP_sha256()) == 0) return LibraryError("signing a certificate");
  return KeyPair{CertificateText(x), EcKeyText(key.get())};
}

base::Result<std::string> MakeRsaKey(int bits) {
  const KeyPtr key(EVP_RSA_gen(static_cast<unsigned int>(bits)));
  if (!key) return LibraryError("making a key");
  return KeyText(key.get());
}

base::Result<std::string> MakeEcKey() { return EcKeyText(TRY(NewEcKey()).get()); }

namespace {

base::Result<CertificateInfo> Describe(std::string_view der) {
  Certificate parsed = TRY(ParseCertificate(der));
  const X509Ptr certificate = ParseDer(der);
  if (!certificate) return base::ConfigError("x509: malformed certificate");
  CertificateInfo info;
  info.der = der;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(der.data()), der.size(), digest.data());
  info.sha256 = base::HexEncode(std::span<const unsigned char>(digest));
  info.serial = SerialOf(certificate.get());
  info.common_name = std::move(parsed.subject.common_name);
  info.organizations = std::move(parsed.subject.organizations);
  info.uids = std::move(parsed.subject.uids);
  info.issuer_common_name = std::move(parsed.issuer.common_name);
  info.not_before = TimeOf(parsed.not_before);
  info.not_after = TimeOf(parsed.not_after);
  info.is_authority = parsed.has_basic_constraints && parsed.is_authority;
  info.dns_names = std::move(parsed.names.dns);
  info.emails = std::move(parsed.names.emails);
  for (auto& uri : parsed.names.uris) info.uris.push_back(std::move(uri.text));
  for (const auto& ip : parsed.names.ips) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(ip.data());
    info.ip_addresses.push_back(IpText(bytes, static_cast<int>(ip.size())));
  }
  return info;
}

}  // namespace

CertificateInfo DescribeCertificate(std::string_view der) {
  auto info = Describe(der);
  if (info.ok()) return std::move(*info);
  CertificateInfo unreadable;
  unreadable.der = der;
  return unreadable;
}

base::Result<std::vector<CertificateInfo>> ParseCertificates(std::string_view pem) {
  std::vector<CertificateInfo> list;
  PemBlock block;
  while (NextPemBlock(pem, block)) {
    if (block.type != "CERTIFICATE" || block.has_headers) continue;
    list.push_back(TRY(Describe(block.bytes)));
  }
  if (list.empty()) {
    return base::ConfigError("data does not contain any valid RSA or ECDSA certificates");
  }
  return list;
}

namespace {

class Pool final : public CertificatePool {
 public:
  explicit Pool(X509StorePtr roots) : roots_(std::move(roots)) {}

  std::string VerifyClient(const std::vector<std::string>& chain,
                           base::WallTime now) const override {
    return Verify(chain, CertificateUse::kClient, {}, now);
  }
  std::string VerifyServer(const std::vector<std::string>& chain, std::string_view host,
                           base::WallTime now) const override {
    return Verify(chain, CertificateUse::kServer, host, now);
  }

 private:
  std::string Verify(const std::vector<std::string>& chain, CertificateUse use,
                     std::string_view host, base::WallTime now) const {
    ReadCertificates certificates;
    for (const std::string& der : chain) {
      const X509Ptr certificate = ParseDer(der);
      if (!certificate) return "x509: malformed certificate";
      auto read = Read(certificate.get());
      if (!read.ok()) return std::string(read.status().message());
      certificates.push_back(std::move(*read));
    }
    if (certificates.empty()) return "x509: malformed certificate";
    return VerifyCertificate(
               {.chain = certificates, .roots = roots_.get(), .host = host, .use = use, .now = now})
        .error;
  }

  const X509StorePtr roots_;
};

}  // namespace

base::Result<std::shared_ptr<const CertificatePool>> CertificatePool::Create(std::string_view pem) {
  X509StorePtr roots(X509_STORE_new());
  TRY(AddRoots(*roots, pem));
  return std::shared_ptr<const CertificatePool>(std::make_shared<Pool>(std::move(roots)));
}

base::Result<KeyPair> LoadKeyPair(const std::string& certificate_file,
                                  const std::string& key_file) {
  KeyPair pair;
  pair.certificate_pem = TRY(base::ReadFile(certificate_file));
  pair.key_pem = TRY(base::ReadFile(key_file));
  if (auto status = CheckKeyPair(pair.certificate_pem, pair.key_pem); !status.ok()) {
    return status.Annotate(base::StrCat(certificate_file, ", ", key_file));
  }
  return pair;
}

base::Result<std::string> LoadCertificates(const std::string& file) {
  std::string pem = TRY(base::ReadFile(file));
  if (auto parsed = ParseCertificates(pem); !parsed.ok()) {
    return parsed.status().Annotate(base::StrCat("error reading ", file));
  }
  return pem;
}

}  // namespace portcullis::pki
