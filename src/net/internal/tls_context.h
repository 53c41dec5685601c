// SPDX-License-Identifier: Apache-2.0

// The OpenSSL side of ServerTls and ClientTls, for the sources of this module.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <vector>

#include "net/internal/stream.h"
#include "net/server.h"
#include "net/tls.h"
#include "pki/x509.h"

namespace portcullis::net::internal {

using SslContextPtr = std::unique_ptr<SSL_CTX, pki::Freer<SSL_CTX_free>>;

class ServerTlsContext final : public ServerTls {
 public:
  struct Entry {
    SslContextPtr context;
    std::vector<std::string> names;  // lower case
  };
  // Ready to be given to Stream::StartTls.
  SSL* NewSession() const;
  SSL_CTX* ContextFor(std::string_view server_name) const;
  // What the client of an established connection has presented, judged by our client CA as of `now`;
  // null if nothing.
  std::shared_ptr<const ClientCertificate> PeerOf(SSL* ssl, base::WallTime now) const;
  bool http2() const { return http2_; }
  const X509_STORE* required_roots() const { return require_ ? client_roots_.get() : nullptr; }

 private:
  friend base::Result<std::shared_ptr<const ServerTls>> ServerTls::Create(const ServerTlsOptions&);
  base::Status AddCertificate(const ServingCertificate& certificate,
                              const ServerTlsOptions& options);

  std::vector<Entry> entries_;  // the first is the default
  pki::X509StorePtr client_roots_;
  bool require_ = false;
  bool http2_ = false;
};

class ClientTlsContext final : public ClientTls {
 public:
  // For a connection to `host`, ready to be given to Stream::StartTls with Check(host).
  SSL* NewSession(const std::string& host) const;
  PeerCheck Check(const std::string& host) const;
  bool offers_http2() const { return offers_http2_; }

 private:
  friend base::Result<std::shared_ptr<const ClientTls>> ClientTls::Create(const ClientTlsOptions&);
  SslContextPtr context_;
  pki::X509StorePtr roots_;  // null: no verification
  std::string server_name_;
  bool offers_http2_ = false;
};

// The protocol agreed on by ALPN, "" if none.
std::string NegotiatedProtocol(SSL* ssl);

}  // namespace portcullis::net::internal
