// SPDX-License-Identifier: Apache-2.0

// Credentials: the authority, certificates and keys a server needs, made at first start and kept in
// the data folder, so that nothing has to be prepared by hand.
//
//   <data dir>/pki/ca.crt ca.key      authority for serving and client certificates
//   <data dir>/pki/server.crt .key    serving certificate (unless --tls-cert-file is given)
//   <data dir>/pki/admin.crt .key     client certificate of a member of system:masters
//   <data dir>/pki/sa.key             signs service account tokens (unless given by flag)
//   <data dir>/admin.kubeconfig       for kubectl
//
// Without a data folder they are in memory, and gone with the server.
#pragma once

#include <string>

#include "authn/request_header.h"
#include "base/clock.h"
#include "base/status.h"
#include "pki/certificates.h"
#include "server/options.h"

namespace portcullis::server {

struct Credentials {
  std::string authority_pem;  // our own
  std::string client_ca_pem;  // those of --client-ca-file, then our own
  pki::KeyPair serving;
  pki::KeyPair administrator;
  std::string signing_key_pem;
  // Of --service-account-key-file, and the key that signs if it was made here or there is no other.
  std::vector<std::string> verifying_keys_pem;
};

// With the pair apiserver.crt and apiserver.key of --cert-dir as the serving certificate, if it is
// there and no flag names another, as kube-apiserver takes it.
Options WithPairOfCertDir(Options options);

// Whose service account tokens count, the one that signs first.
std::vector<std::string> IssuersOf(const Options& options);
// --api-audiences, else the issuers: tokens of a former one go on.
std::vector<std::string> ApiAudiencesOf(const Options& options);

// The folder with the authority; "" if that is in memory.
std::string PkiFolderOf(const Options& options);

base::Result<Credentials> PrepareCredentials(const Options& options, std::string_view service_ip,
                                             const base::Clock& clock);

// What the flags --requestheader-… say. The error is about the file with the authorities.
base::Result<authn::RequestHeaderOptions> FrontProxiesOf(const Options& options);

// Writes the administrator's kubeconfig for `server` ("https://127.0.0.1:6443").
base::Status WriteKubeconfig(const std::string& path, const Credentials& credentials,
                             std::string_view server);

}  // namespace portcullis::server
