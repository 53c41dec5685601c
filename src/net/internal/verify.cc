#include "net/internal/verify.h"

#include <arpa/inet.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "base/gotext.h"
#include "base/strings.h"
#include "net/internal/chain.h"
#include "net/url.h"

namespace portcullis::net::internal {
namespace {

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

// Of a name in a subject alternative name or in a name constraint.
bool IsKnownName(const GENERAL_NAME* name) {
  return name->type == GEN_DNS || name->type == GEN_EMAIL || name->type == GEN_IPADD ||
         name->type == GEN_URI;
}

// One name that is known is enough.
bool KnowsAlternativeName(X509* certificate) {
  std::unique_ptr<GENERAL_NAMES, Freer<GENERAL_NAMES_free>> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    if (IsKnownName(sk_GENERAL_NAME_value(names.get(), i))) return true;
  }
  return false;
}

// One that is not known is too much.
bool KnowsNameConstraints(X509* certificate) {
  std::unique_ptr<NAME_CONSTRAINTS, Freer<NAME_CONSTRAINTS_free>> constraints(
      static_cast<NAME_CONSTRAINTS*>(
          X509_get_ext_d2i(certificate, NID_name_constraints, nullptr, nullptr)));
  if (constraints == nullptr) return false;
  for (const auto* trees : {constraints->permittedSubtrees, constraints->excludedSubtrees}) {
    for (int i = 0; i < sk_GENERAL_SUBTREE_num(trees); ++i) {
      if (!IsKnownName(sk_GENERAL_SUBTREE_value(trees, i)->base)) return false;
    }
  }
  return true;
}

bool KnowsExtension(X509* certificate, int kind) {
  switch (kind) {
    case NID_key_usage:
    case NID_basic_constraints:
    case NID_crl_distribution_points:
    case NID_policy_constraints:
    case NID_ext_key_usage:
    case NID_certificate_policies:
    case NID_policy_mappings:
    case NID_inhibit_any_policy:
      return true;
    case NID_subject_alt_name:
      return KnowsAlternativeName(certificate);
    case NID_name_constraints:
      return KnowsNameConstraints(certificate);
    default:
      return false;
  }
}

}  // namespace

std::string ValidityError(const X509* certificate, base::WallTime now) {
  const auto not_before = TimeOf(X509_get0_notBefore(certificate));
  const auto not_after = TimeOf(X509_get0_notAfter(certificate));
  if (now >= not_before && now <= not_after) return "";
  return base::StrCat("x509: certificate has expired or is not yet valid: current time ",
                      base::FormatTime(now), now < not_before ? " is before " : " is after ",
                      base::FormatTime(now < not_before ? not_before : not_after));
}

std::string CriticalExtensionError(X509* certificate) {
  for (int i = 0; i < X509_get_ext_count(certificate); ++i) {
    X509_EXTENSION* extension = X509_get_ext(certificate, i);
    if (X509_EXTENSION_get_critical(extension) == 0) continue;
    const int kind = OBJ_obj2nid(X509_EXTENSION_get_object(extension));
    if (!KnowsExtension(certificate, kind)) return "x509: unhandled critical extension";
  }
  return "";
}

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
  if (auto error = CriticalExtensionError(request.leaf); !error.empty()) return error;
  if (auto error = ValidityError(request.leaf, request.now); !error.empty()) return error;
  if (!request.host.empty()) {
    if (auto error = VerifyHost(request.leaf, request.host); !error.empty()) return error;
  }
  return VerifyChain(request);
}

}  // namespace portcullis::net::internal
