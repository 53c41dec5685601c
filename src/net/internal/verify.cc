#include "net/internal/verify.h"

#include <arpa/inet.h>
#include <openssl/err.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/gotext.h"
#include "base/strings.h"
#include "net/url.h"

namespace portcullis::net::internal {
namespace {

constexpr std::string_view kUnknownAuthority = "x509: certificate signed by unknown authority";

struct Names {
  std::vector<std::string> dns;
  std::vector<std::string> ips;
};

Names NamesOf(X509* certificate) {
  Names names;
  auto* list = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(list); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(list, i);
    if (name->type == GEN_DNS) {
      names.dns.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                             static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
    } else if (name->type == GEN_IPADD) {
      names.ips.push_back(
          IpText(ASN1_STRING_get0_data(name->d.iPAddress), ASN1_STRING_length(name->d.iPAddress)));
    }
  }
  GENERAL_NAMES_free(list);
  return names;
}

std::string NormalIp(std::string_view text) {
  std::array<unsigned char, 16> bytes{};
  const std::string copy(text);
  if (inet_pton(AF_INET, copy.c_str(), bytes.data()) == 1) return IpText(bytes.data(), 4);
  if (inet_pton(AF_INET6, copy.c_str(), bytes.data()) == 1) return IpText(bytes.data(), 16);
  return "";
}

// RFC 6125 §6.4.3 as Go reads it: a wildcard stands for exactly the leftmost label.
bool MatchesHost(std::string pattern, std::string host) {
  pattern = base::ToLower(pattern);
  host = base::ToLower(host);
  if (host.ends_with('.')) host.pop_back();
  if (pattern.empty() || host.empty()) return false;
  if (!pattern.starts_with("*.")) return pattern == host;
  const auto dot = host.find('.');
  return dot != std::string::npos && dot > 0 && host.substr(dot) == pattern.substr(1);
}

std::string ValidityError(const X509* certificate, base::WallTime now) {
  const auto not_before = TimeOf(X509_get0_notBefore(certificate));
  const auto not_after = TimeOf(X509_get0_notAfter(certificate));
  if (now >= not_before && now <= not_after) return "";
  return base::StrCat("x509: certificate has expired or is not yet valid: current time ",
                      base::FormatTime(now), now < not_before ? " is before " : " is after ",
                      base::FormatTime(now < not_before ? not_before : not_after));
}

std::string DisplayName(X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  auto name = SubjectAttribute(subject, NID_commonName);
  if (!name.empty()) return name;
  const auto organizations = SubjectAttributes(subject, NID_organizationName);
  return organizations.empty() ? base::StrCat("serial:", SerialOf(certificate)) : organizations[0];
}

std::string SignatureError(X509* child, X509* candidate) {
  if ((X509_get_extension_flags(candidate) & EXFLAG_CA) == 0 && X509_get_version(candidate) == 2) {
    return "x509: invalid signature: parent certificate cannot sign this kind of certificate";
  }
  if (HasInsecureSignature(child)) {
    return "x509: cannot verify signature: insecure algorithm SHA1-RSA";
  }
  switch (EVP_PKEY_base_id(X509_get0_pubkey(candidate))) {
    case EVP_PKEY_RSA:
      return "crypto/rsa: verification error";
    case EVP_PKEY_EC:
      return "x509: ECDSA verification failure";
    case EVP_PKEY_ED25519:
      return "x509: Ed25519 verification failure";
    default:
      return "x509: cannot verify signature: algorithm unimplemented";
  }
}

// Go adds a hint if a trusted certificate bears the issuer's name but has not signed.
std::string UnknownAuthority(X509* child, X509_STORE* roots) {
  std::string text(kUnknownAuthority);
  if (child == nullptr) return text;
  X509_STORE_lock(roots);
  const STACK_OF(X509_OBJECT)* objects = X509_STORE_get0_objects(roots);
  for (int i = 0; i < sk_X509_OBJECT_num(objects); ++i) {
    X509* candidate = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i));
    if (candidate == nullptr ||
        X509_NAME_cmp(X509_get_subject_name(candidate), X509_get_issuer_name(child)) != 0) {
      continue;
    }
    text += base::StrCat(" (possibly because of ", base::GoQuote(SignatureError(child, candidate)),
                         " while trying to verify candidate authority certificate ",
                         base::GoQuote(DisplayName(candidate)), ")");
    break;
  }
  X509_STORE_unlock(roots);
  return text;
}

std::string ChainError(X509_STORE_CTX* context, const VerifyRequest& request) {
  X509* at = X509_STORE_CTX_get_current_cert(context);
  switch (X509_STORE_CTX_get_error(context)) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return ValidityError(at, request.now);
    case X509_V_ERR_INVALID_CA:
      return "x509: certificate is not authorized to sign other certificates";
    case X509_V_ERR_PATH_LENGTH_EXCEEDED:
      return "x509: too many intermediates for path length constraint";
    case X509_V_ERR_PERMITTED_VIOLATION:
    case X509_V_ERR_EXCLUDED_VIOLATION:
      return "x509: certificate is not valid for any names in the constraints of its authority";
    default:
      return UnknownAuthority(at, request.roots);
  }
}

bool AllowsUse(X509* certificate, CertificateUse use) {
  const auto usage = X509_get_extended_key_usage(certificate);
  const auto wanted = use == CertificateUse::kServer ? XKU_SSL_SERVER : XKU_SSL_CLIENT;
  if (usage == UINT32_MAX) return true;  // no such extension
  return (usage & static_cast<std::uint32_t>(wanted | XKU_ANYEKU)) != 0;
}

std::string CheckBuiltChain(const STACK_OF(X509) * chain, const VerifyRequest& request) {
  const int count = sk_X509_num(chain);
  for (int i = 0; i < count; ++i) {
    X509* certificate = sk_X509_value(chain, i);
    if (!AllowsUse(certificate, request.use)) {
      return "x509: certificate specifies an incompatible key usage";
    }
    if (i + 1 < count && HasInsecureSignature(certificate)) {
      return UnknownAuthority(certificate, request.roots);
    }
  }
  return "";
}

}  // namespace

std::string VerifyHost(X509* leaf, std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const Names names = NamesOf(leaf);
  const std::string ip = NormalIp(host);
  const auto& candidates = ip.empty() ? names.dns : names.ips;
  for (const auto& candidate : candidates) {
    if (ip.empty() ? MatchesHost(candidate, std::string(host)) : candidate == ip) return "";
  }
  if (!HasSubjectAlternativeName(leaf) &&
      MatchesHost(SubjectAttribute(X509_get_subject_name(leaf), NID_commonName),
                  std::string(host))) {
    return "x509: certificate relies on legacy Common Name field, use SANs instead";
  }
  if (!ip.empty() && names.ips.empty()) {
    return base::StrCat("x509: cannot validate certificate for ", host,
                        " because it doesn't contain any IP SANs");
  }
  if (candidates.empty()) {
    return base::StrCat("x509: certificate is not valid for any names, but wanted to match ", host);
  }
  return base::StrCat("x509: certificate is valid for ", base::Join(candidates, ", "), ", not ",
                      host);
}

bool HasSubjectAlternativeName(const X509* certificate) {
  return X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) >= 0;
}

bool HasInsecureSignature(const X509* certificate) {
  int digest = NID_undef;
  OBJ_find_sigid_algs(X509_get_signature_nid(certificate), &digest, nullptr);
  return digest == NID_sha1 || digest == NID_md5;
}

std::string VerifyCertificate(const VerifyRequest& request) {
  if (auto error = ValidityError(request.leaf, request.now); !error.empty()) return error;
  if (!request.host.empty()) {
    if (auto error = VerifyHost(request.leaf, request.host); !error.empty()) return error;
  }
  const X509StoreContextPtr context(X509_STORE_CTX_new());
  if (!context ||
      X509_STORE_CTX_init(context.get(), request.roots, request.leaf, request.intermediates) != 1) {
    ERR_clear_error();
    return std::string(kUnknownAuthority);
  }
  X509_VERIFY_PARAM* parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
  X509_VERIFY_PARAM_set_auth_level(parameters, 0);
  X509_VERIFY_PARAM_set_time(parameters, std::chrono::system_clock::to_time_t(request.now));
  const bool verified = X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  if (!verified) return ChainError(context.get(), request);
  return CheckBuiltChain(X509_STORE_CTX_get0_chain(context.get()), request);
}

}  // namespace portcullis::net::internal
