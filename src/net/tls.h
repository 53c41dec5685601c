// SPDX-License-Identifier: Apache-2.0

// TLS settings, compiled once and shared by all connections that use them.
//
// ServerTls and ClientTls are immutable after construction: to change a certificate make another
// and hand it to HttpsServer::SetTls. TLS 1.2 and later; sessions are not resumed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace portcullis::net {

enum class TlsVersion { k12, k13 };

// One serving certificate: its chain, leaf first, and the key, both PEM.
struct ServingCertificate {
  std::string certificate_pem;
  std::string key_pem;
  // Host names (also "*.example.com") it is chosen for by SNI; empty means those it contains.
  std::vector<std::string> names;
  bool operator==(const ServingCertificate&) const = default;
};

enum class ClientCertificates {
  kNone,     // not asked for
  kRequest,  // asked for, verified against client_ca_pem, never fatal: see ClientCertificate::error
  kRequire,  // the handshake fails without a valid one
};

struct ServerTlsOptions {
  ServingCertificate certificate;       // used when no other matches
  std::vector<ServingCertificate> sni;  // in order of preference
  ClientCertificates client_certificates = ClientCertificates::kNone;
  std::string client_ca_pem;  // one or more certificates
  // Further authorities whose certificates are asked for but judged elsewhere.
  std::string announced_ca_pem;
  TlsVersion min_version = TlsVersion::k12;
  std::vector<std::string> cipher_suites;  // IANA names; empty means the library's defaults
  bool http2 = true;                       // offer h2 by ALPN
  // IANA numbers of the groups that keys are exchanged in, in any order; empty means the library's defaults.
  std::vector<int> curves;
};

class ServerTls {
 public:
  virtual ~ServerTls() = default;
  // Errors are those of Go's tls.X509KeyPair and of Kubernetes' CA loading.
  static base::Result<std::shared_ptr<const ServerTls>> Create(const ServerTlsOptions& options);
};

// What a client offers by ALPN (RFC 7301).
enum class ClientProtocols {
  kHttp1,
  kHttp2,         // for an Http2Client
  kHttp2OrHttp1,  // as Go does unless told otherwise
};

struct ClientTlsOptions {
  std::string ca_pem;  // empty: the system's roots
  bool insecure_skip_verify = false;
  std::string server_name;      // to verify and send; empty: the URL's host
  std::string certificate_pem;  // client certificate, optional
  std::string key_pem;
  ClientProtocols protocols = ClientProtocols::kHttp1;
  bool operator==(const ClientTlsOptions&) const = default;
};

// Identity of a client towards servers. Connections are pooled per ClientTls object: two with equal
// options from separate Create calls do not share, those from one ClientTlsCache do.
class ClientTls {
 public:
  virtual ~ClientTls() = default;
  // Errors as client-go words them: "unable to load root certificates: unable to parse bytes as PEM
  // block", "tls: failed to find any PEM data in certificate input".
  static base::Result<std::shared_ptr<const ClientTls>> Create(const ClientTlsOptions& options);
};

// Hands out one ClientTls per distinct options for as long as somebody uses it. Thread-safe.
class ClientTlsCache {
 public:
  ClientTlsCache();
  ~ClientTlsCache();
  base::Result<std::shared_ptr<const ClientTls>> Get(const ClientTlsOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace portcullis::net
