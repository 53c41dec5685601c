// SPDX-License-Identifier: Apache-2.0

// Certificates and keys as PEM text: making, loading and looking at them.
//
//   auto ca = TRY(MakeAuthority("portcullis-ca", clock.Now()));
//   auto serving = TRY(Issue(ca, {.common_name = "server", .dns_names = {"localhost"},
//                                 .ip_addresses = {"127.0.0.1"}, .server = true}, clock.Now()));
//
// Pure functions. Keys are ECDSA P-256, PKCS#8 when written.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace portcullis::pki {

// A certificate (chain, leaf first) with its private key.
struct KeyPair {
  std::string certificate_pem;
  std::string key_pem;
};

struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  bool server = false;  // extended key usage serverAuth
  bool client = false;  // extended key usage clientAuth
  int valid_days = 365;
};

// Adds what the certificate is to name: a DNS name or an IP address.
void AddHost(CertificateRequest& request, const std::string& host);

// A self-signed certificate authority. Valid from an hour before `now`, against clock skew.
base::Result<KeyPair> MakeAuthority(std::string_view common_name, base::WallTime now,
                                    int valid_days = 3650);
base::Result<KeyPair> Issue(const KeyPair& authority, const CertificateRequest& request,
                            base::WallTime now);

// An authority that issues more than one certificate, parsed once: OpenSSL takes a millisecond for
// that. Immutable after construction.
class Issuer {
 public:
  virtual ~Issuer() = default;
  static base::Result<std::shared_ptr<const Issuer>> Create(const KeyPair& authority);
  virtual base::Result<KeyPair> Issue(const CertificateRequest& request,
                                      base::WallTime now) const = 0;
};

base::Result<KeyPair> MakeSelfSigned(const CertificateRequest& request, base::WallTime now);

// A private key alone, PKCS#8 PEM (service account signing keys); that of MakeEcKey() is P-256.
base::Result<std::string> MakeRsaKey(int bits = 2048);
base::Result<std::string> MakeEcKey();

// What a certificate says, as Go's crypto/x509 reads it.
struct CertificateInfo {
  std::string der;
  std::string sha256;  // of the DER, lower-case hex
  std::string serial;  // decimal
  std::string common_name;
  std::vector<std::string> organizations;
  // Subject attributes 1.3.6.1.4.1.57683.2, of which Kubernetes takes one for the UID.
  std::vector<std::string> uids;
  std::string issuer_common_name;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  std::vector<std::string> emails;
  std::vector<std::string> uris;
  base::WallTime not_before;
  base::WallTime not_after;
  bool is_authority = false;
};

// Of one certificate in DER; empty but for `der` if it cannot be parsed.
CertificateInfo DescribeCertificate(std::string_view der);

// All certificates of a PEM text; other blocks are skipped. One that Go's parser refuses is an error
// with its text, "x509: negative serial number"; so is no certificate at all, with the text of
// client-go's cert.ParseCertsPEM: "data does not contain any valid RSA or ECDSA certificates".
base::Result<std::vector<CertificateInfo>> ParseCertificates(std::string_view pem);

// That the key fits the certificate; errors are those of Go's tls.X509KeyPair:
// "tls: failed to find any PEM data in certificate input", "tls: private key does not match public
// key".
base::Status CheckKeyPair(std::string_view certificate_pem, std::string_view key_pem);

// Trusted certificates, parsed once. Immutable after construction.
class CertificatePool {
 public:
  virtual ~CertificatePool() = default;
  // Of all certificates of a PEM text; none is an error.
  static base::Result<std::shared_ptr<const CertificatePool>> Create(std::string_view pem);
  // "" if the chain (DER, leaf first) leads to one of these for client authentication, else Go's
  // text: "x509: certificate signed by unknown authority".
  virtual std::string VerifyClient(const std::vector<std::string>& chain,
                                   base::WallTime now) const = 0;
  // Likewise of a server that is called by `host`, a name or an IP address.
  virtual std::string VerifyServer(const std::vector<std::string>& chain, std::string_view host,
                                   base::WallTime now) const = 0;
};

// Reads and checks; errors name the file.
base::Result<KeyPair> LoadKeyPair(const std::string& certificate_file, const std::string& key_file);
base::Result<std::string> LoadCertificates(const std::string& file);

}  // namespace portcullis::pki
