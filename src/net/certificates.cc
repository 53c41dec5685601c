#include "net/certificates.h"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>

#include "base/random.h"
#include "base/strings.h"
#include "net/internal/stream.h"
#include "net/internal/verify.h"
#include "net/internal/x509.h"
#include "net/url.h"

namespace portcullis::net {
namespace {

using internal::KeyPtr;
using internal::X509Ptr;

// Kubernetes reads the UID of a user from this subject attribute.
constexpr const char* kUidAttribute = "1.3.6.1.4.1.57683.2";

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
  X509_set_pubkey(x, key);
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

void AppendNames(X509* certificate, CertificateInfo& info) {
  auto* list = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(list); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(list, i);
    if (name->type == GEN_IPADD) {
      info.ip_addresses.push_back(internal::IpText(ASN1_STRING_get0_data(name->d.iPAddress),
                                                   ASN1_STRING_length(name->d.iPAddress)));
      continue;
    }
    if (name->type != GEN_DNS && name->type != GEN_EMAIL && name->type != GEN_URI) continue;
    const ASN1_IA5STRING* value = name->d.ia5;
    std::string text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                     static_cast<std::size_t>(ASN1_STRING_length(value)));
    auto& target = name->type == GEN_DNS     ? info.dns_names
                   : name->type == GEN_EMAIL ? info.emails
                                             : info.uris;
    target.push_back(std::move(text));
  }
  GENERAL_NAMES_free(list);
}

std::string UidOf(const X509_NAME* subject) {
  ASN1_OBJECT* object = OBJ_txt2obj(kUidAttribute, 1);
  const int at = X509_NAME_get_index_by_OBJ(subject, object, -1);
  ASN1_OBJECT_free(object);
  if (at < 0) return "";
  unsigned char* utf8 = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  std::string uid =
      size < 0 ? "" : std::string(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(size));
  OPENSSL_free(utf8);
  return uid;
}

base::Status FileError(std::string_view operation, const std::string& path, int error) {
  return base::ConfigError(base::StrCat(operation, " ", path, ": ", internal::ErrnoText(error)));
}

}  // namespace

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
  return KeyPair{CertificateText(x), KeyText(key.get())};
}

base::Result<KeyPair> Issue(const KeyPair& authority, const CertificateRequest& request,
                            base::WallTime now) {
  const internal::ChainAndKey signer =
      TRY(internal::ParseKeyPair(authority.certificate_pem, authority.key_pem));
  const KeyPtr key = TRY(NewEcKey());
  const X509Ptr certificate = NewCertificate(key.get(), request.common_name, request.organizations,
                                             now, request.valid_days);
  X509* x = certificate.get();
  X509_set_issuer_name(x, X509_get_subject_name(signer.chain[0].get()));
  AddLeafExtensions(x, signer.chain[0].get(), request);
  if (X509_sign(x, signer.key.get(), EVP_sha256()) == 0) {
    return LibraryError("signing a certificate");
  }
  return KeyPair{CertificateText(x), KeyText(key.get())};
}

base::Result<KeyPair> MakeSelfSigned(const CertificateRequest& request, base::WallTime now) {
  const KeyPtr key = TRY(NewEcKey());
  const X509Ptr certificate = NewCertificate(key.get(), request.common_name, request.organizations,
                                             now, request.valid_days);
  X509* x = certificate.get();
  X509_set_issuer_name(x, X509_get_subject_name(x));
  AddLeafExtensions(x, x, request);
  if (X509_sign(x, key.get(), EVP_sha256()) == 0) return LibraryError("signing a certificate");
  return KeyPair{CertificateText(x), KeyText(key.get())};
}

base::Result<std::string> MakeRsaKey(int bits) {
  const KeyPtr key(EVP_RSA_gen(static_cast<unsigned int>(bits)));
  if (!key) return LibraryError("making a key");
  return KeyText(key.get());
}

CertificateInfo DescribeCertificate(std::string_view der) {
  CertificateInfo info;
  info.der = der;
  const X509Ptr certificate = internal::ParseDer(der);
  if (!certificate) return info;
  X509* x = certificate.get();
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(der.data()), der.size(), digest.data());
  info.sha256 = base::HexEncode(std::span<const unsigned char>(digest));
  info.serial = internal::SerialOf(x);
  const X509_NAME* subject = X509_get_subject_name(x);
  info.common_name = internal::SubjectAttribute(subject, NID_commonName);
  info.organizations = internal::SubjectAttributes(subject, NID_organizationName);
  info.uid = UidOf(subject);
  info.issuer_common_name = internal::SubjectAttribute(X509_get_issuer_name(x), NID_commonName);
  info.not_before = internal::TimeOf(X509_get0_notBefore(x));
  info.not_after = internal::TimeOf(X509_get0_notAfter(x));
  info.is_authority = X509_check_ca(x) == 1;
  AppendNames(x, info);
  return info;
}

base::Result<std::vector<CertificateInfo>> ParseCertificates(std::string_view pem) {
  std::vector<CertificateInfo> list;
  internal::PemBlock block;
  while (internal::NextPemBlock(pem, block)) {
    if (block.type != "CERTIFICATE" || block.has_headers) continue;
    if (!internal::ParseDer(block.bytes)) {
      return base::ConfigError("x509: malformed certificate");
    }
    list.push_back(DescribeCertificate(block.bytes));
  }
  if (list.empty()) {
    return base::ConfigError("data does not contain any valid RSA or ECDSA certificates");
  }
  return list;
}

base::Status CheckKeyPair(std::string_view certificate_pem, std::string_view key_pem) {
  return internal::ParseKeyPair(certificate_pem, key_pem).status();
}

namespace {

class Pool final : public CertificatePool {
 public:
  explicit Pool(internal::X509StorePtr roots) : roots_(std::move(roots)) {}

  std::string VerifyClient(const std::vector<std::string>& chain,
                           base::WallTime now) const override {
    internal::X509StackPtr intermediates(sk_X509_new_null());
    internal::X509Ptr leaf;
    for (const std::string& der : chain) {
      internal::X509Ptr certificate = internal::ParseDer(der);
      if (!certificate) continue;
      if (!leaf) {
        leaf = std::move(certificate);
      } else {
        sk_X509_push(intermediates.get(), certificate.release());
      }
    }
    if (!leaf) return "x509: malformed certificate";
    return internal::VerifyCertificate({.leaf = leaf.get(),
                                        .intermediates = intermediates.get(),
                                        .roots = roots_.get(),
                                        .host = {},
                                        .use = internal::CertificateUse::kClient,
                                        .now = now});
  }

 private:
  const internal::X509StorePtr roots_;
};

}  // namespace

base::Result<std::shared_ptr<const CertificatePool>> CertificatePool::Create(std::string_view pem) {
  internal::X509StorePtr roots(X509_STORE_new());
  TRY(internal::AddRoots(*roots, pem));
  return std::shared_ptr<const CertificatePool>(std::make_shared<Pool>(std::move(roots)));
}

base::Result<std::string> ReadFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileError("open", path, errno);
  std::string text;
  std::array<char, 16384> buffer{};
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      close(fd);
      return FileError("read", path, error);
    }
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(fd);
  return text;
}

base::Result<KeyPair> LoadKeyPair(const std::string& certificate_file,
                                  const std::string& key_file) {
  KeyPair pair;
  pair.certificate_pem = TRY(ReadFile(certificate_file));
  pair.key_pem = TRY(ReadFile(key_file));
  if (auto status = CheckKeyPair(pair.certificate_pem, pair.key_pem); !status.ok()) {
    return status.Annotate(base::StrCat(certificate_file, ", ", key_file));
  }
  return pair;
}

base::Result<std::string> LoadCertificates(const std::string& file) {
  std::string pem = TRY(ReadFile(file));
  if (auto parsed = ParseCertificates(pem); !parsed.ok()) {
    return parsed.status().Annotate(base::StrCat("error reading ", file));
  }
  return pem;
}

}  // namespace portcullis::net
