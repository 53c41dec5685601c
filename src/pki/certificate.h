// SPDX-License-Identifier: Apache-2.0

// A certificate as Go's x509.ParseCertificate reads it: what that refuses is refused here with its
// text, and what it keeps is kept. Kubernetes' identities are what Go makes of a certificate, so
// that neither names nor constraints may come from a parser that reads the same bytes differently.
//
// OpenSSL remains in charge of keys and signatures. Source: crypto/x509/parser.go of Go 1.26.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace portcullis::pki {

// A distinguished name, in UTF-8. Of several common names the last counts.
struct DistinguishedName {
  std::string common_name;
  std::vector<std::string> organizations;
  // Attributes 1.3.6.1.4.1.57683.2, of which Kubernetes takes one for the UID.
  std::vector<std::string> uids;
};

struct UriName {
  std::string text;
  std::string host;  // with its port, without user and brackets as written
};

struct AlternativeNames {
  std::vector<std::string> dns;
  std::vector<std::string> emails;
  std::vector<UriName> uris;
  std::vector<std::string> ips;  // 4 or 16 bytes
};

// The subtrees of a name constraint. Those of directory names and of kinds that Go does not know
// are not kept.
struct NameTrees {
  std::vector<std::string> dns;
  std::vector<std::string> emails;  // boxes, hosts or domains
  std::vector<std::string> uris;
  struct Network {
    std::string address;  // 4 or 16 bytes, the mask as many
    std::string mask;
  };
  std::vector<Network> ips;
};

struct Certificate {
  int version = 1;
  std::string raw_subject;
  std::string raw_issuer;
  std::string raw_public_key;
  DistinguishedName issuer;
  DistinguishedName subject;
  std::int64_t not_before = 0;  // seconds since 1970
  std::int64_t not_after = 0;
  bool has_known_key = false;  // of an algorithm that Go knows
  // A critical extension that Go gives no meaning to.
  bool has_unhandled_critical = false;

  bool has_basic_constraints = false;
  bool is_authority = false;
  std::int64_t path_length = -1;  // -1: any
  bool has_key_usage = false;     // one that names a use
  bool may_sign_certificates = false;

  bool lists_purposes = false;  // extended key usages
  bool for_any_purpose = false;
  bool for_servers = false;
  bool for_clients = false;

  std::string subject_key_id;
  std::string authority_key_id;
  bool has_alternative_names = false;  // the extension, even if nothing in it is known
  std::string raw_alternative_names;
  AlternativeNames names;
  bool has_name_constraints = false;
  NameTrees permitted;
  NameTrees excluded;
};

// Errors are Go's: "x509: negative serial number". Pure.
base::Result<Certificate> ParseCertificate(std::string_view der);

// Whether a SubjectPublicKeyInfo is of an algorithm that Go knows. Errors are Go's, as above. Pure.
base::Result<bool> KnowsPublicKey(std::string_view der);

// The last step of ParseCertificate: one extension, `kind` being the body of its identifier.
struct CertificateExtension {
  std::string_view kind;
  bool critical = false;
  std::string_view value;
};
base::Status ReadExtension(const CertificateExtension& extension, Certificate& certificate);

// Of characters 33 to 126 in labels that are not empty; "" is valid, too, and a constraint may
// begin with a dot.
enum class DomainUse { kName, kConstraint };
bool IsValidDomain(std::string_view text, DomainUse use);

}  // namespace portcullis::pki
