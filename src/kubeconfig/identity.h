// SPDX-License-Identifier: Apache-2.0

// Identity: how a user of a kubeconfig shows who it is to one server: Authorization and
// impersonation headers, a client certificate (k8s.io/client-go/transport, HTTPWrappersForConfig
// and TLSConfigFor).
//
// Files are read again while they are used, so that credentials can be rotated: tokenFile when its
// token is older than 50 seconds, client-certificate and client-key when they are older than a
// second. A file that cannot be read leaves the last credentials in use.
//
// Thread-safe. No lock is held while files are read or a program runs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "kubeconfig/config.h"
#include "kubeconfig/exec_credentials.h"
#include "net/client.h"
#include "net/http.h"
#include "net/tls.h"

namespace portcullis::kubeconfig {

class Identity {
 public:
  // `tls`: how the server is verified, without a client certificate. `program`: the user's `exec`,
  // shared by its identities; null if it has none. `cluster`: what that program is told. `cache`
  // and `clock` outlive the identity. Errors are client-go's: `open <path>: no such file or
  // directory`, `exec plugin: invalid apiVersion "v9"`, `username/password or bearer token may be
  // set, but not both`.
  static base::Result<std::unique_ptr<Identity>> Create(
      const User& user, const net::ClientTlsOptions& tls, ExecProgram* program,
      const ExecCluster& cluster, net::ClientTlsCache& cache,
      const base::Clock& clock = base::SystemClock());

  // Adds the headers and sets the TLS identity. May run the user's program; its failure is a
  // ServiceUnavailable: "getting credentials: exec: …".
  base::Status Apply(net::ClientRequest& request) const;
  // The server has answered 401: the program runs anew for the next request.
  void Refused() const;

 private:
  struct Token {
    std::string text;
    std::optional<base::SteadyTime> read;  // none: not from the file
  };
  struct Certificate {
    std::shared_ptr<const net::ClientTls> tls;
    base::SteadyTime read;
  };
  Identity(const User& user, const net::ClientTlsOptions& tls, net::ClientTlsCache& cache,
           const base::Clock& clock)
      : user_(user), tls_options_(tls), cache_(cache), clock_(clock) {}

  base::Status Prepare(ExecProgram* program, const ExecCluster& cluster);
  base::Result<std::string> ReadToken() const;
  base::Result<std::shared_ptr<const net::ClientTls>> ReadCertificate() const;
  std::string CurrentToken() const;
  std::shared_ptr<const net::ClientTls> CurrentTls() const;

  const User user_;
  const net::ClientTlsOptions tls_options_;
  net::ClientTlsCache& cache_;
  const base::Clock& clock_;
  net::Headers impersonation_;
  bool reloads_certificate_ = false;
  std::shared_ptr<ExecCredentials> exec_;  // null: static credentials
  mutable base::Mutex mutex_;
  mutable Token token_ PC_GUARDED_BY(mutex_);
  mutable Certificate certificate_ PC_GUARDED_BY(mutex_);
};

// The client certificate and key of a user as PEM, read from their files unless given as data; ""
// if there is none. Errors: `open <path>: no such file or directory`.
struct ClientCertificate {
  std::string certificate_pem;
  std::string key_pem;
};
base::Result<ClientCertificate> ReadClientCertificate(const User& user);

}  // namespace portcullis::kubeconfig
