// SPDX-License-Identifier: Apache-2.0

#include "server/credentials.h"

#include <unistd.h>

#include "authn/jwt.h"
#include "base/file.h"
#include "base/strings.h"
#include "pki/key_folder.h"

namespace portcullis::server {
namespace {

constexpr int kCertificateDays = 365;
constexpr std::string_view kAuthority = "portcullis-ca";
constexpr std::string_view kServer = "portcullis";
constexpr std::string_view kAdministrator = "kubernetes-admin";

pki::CertificateRequest ServingRequest(const Options& options, std::string_view service_ip) {
  pki::CertificateRequest request;
  request.common_name = kServer;
  request.server = true;
  request.valid_days = kCertificateDays;
  request.dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
                       "kubernetes.default.svc.cluster.local"};
  request.ip_addresses = {"127.0.0.1", "::1", std::string(service_ip)};
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) == 0 && host[0] != '\0') {
    request.dns_names.emplace_back(host);
  }
  if (!options.external_hostname.empty()) request.dns_names.push_back(options.external_hostname);
  for (const std::string& address : {options.bind_address, options.advertise_address}) {
    if (!address.empty() && address != "0.0.0.0" && address != "::" && address != "127.0.0.1") {
      request.ip_addresses.push_back(address);
    }
  }
  return request;
}

}  // namespace

Options WithPairOfCertDir(Options options) {
  if (options.cert_dir.empty() || !options.tls_cert_file.empty()) return options;
  const std::string certificate = base::StrCat(options.cert_dir, "/apiserver.crt");
  const std::string key = base::StrCat(options.cert_dir, "/apiserver.key");
  if (access(certificate.c_str(), F_OK) != 0 && access(key.c_str(), F_OK) != 0) return options;
  options.tls_cert_file = certificate;
  options.tls_private_key_file = key;
  return options;
}

std::vector<std::string> IssuersOf(const Options& options) {
  if (!options.service_account_issuers.empty()) return options.service_account_issuers;
  return {options.service_account_issuer};
}

std::vector<std::string> ApiAudiencesOf(const Options& options) {
  return options.api_audiences.empty() ? IssuersOf(options) : options.api_audiences;
}

std::string PkiFolderOf(const Options& options) {
  if (options.data_dir.empty()) return "";
  return options.cert_dir.empty() ? base::StrCat(options.data_dir, "/pki") : options.cert_dir;
}

base::Result<Credentials> PrepareCredentials(const Options& options, std::string_view service_ip,
                                             const base::Clock& clock) {
  const auto folder = TRY(pki::KeyFolder::Open(PkiFolderOf(options), kAuthority, clock.Now()));
  Credentials credentials;
  credentials.authority_pem = folder.authority().certificate_pem;
  if (!options.client_ca_file.empty()) {
    credentials.client_ca_pem = TRY(pki::LoadCertificates(options.client_ca_file));
  }
  credentials.client_ca_pem += credentials.authority_pem;
  if (!options.tls_cert_file.empty()) {
    credentials.serving =
        TRY(pki::LoadKeyPair(options.tls_cert_file, options.tls_private_key_file));
  } else {
    credentials.serving = TRY(folder.Certificate("server", ServingRequest(options, service_ip)));
  }
  pki::CertificateRequest administrator;
  administrator.common_name = kAdministrator;
  administrator.organizations = {"system:masters"};
  administrator.client = true;
  administrator.valid_days = kCertificateDays;
  credentials.administrator = TRY(folder.Certificate("admin", administrator));
  if (const std::string& file = options.service_account_signing_key_file; !file.empty()) {
    credentials.signing_key_pem = TRY(base::ReadFile(file));
    if (auto key = authn::ParseJwtSigningKey(credentials.signing_key_pem); !key.ok()) {
      return key.status().Annotate(base::StrCat("--service-account-signing-key-file=", file));
    }
  } else {
    credentials.signing_key_pem = TRY(folder.Key("sa"));
    credentials.verifying_keys_pem.push_back(credentials.signing_key_pem);
  }
  for (const std::string& file : options.service_account_key_files) {
    credentials.verifying_keys_pem.push_back(TRY(base::ReadFile(file)));
    if (auto keys = authn::ParseJwtKeys(credentials.verifying_keys_pem.back()); !keys.ok()) {
      return keys.status().Annotate(base::StrCat("--service-account-key-file=", file));
    }
  }
  if (credentials.verifying_keys_pem.empty()) {
    credentials.verifying_keys_pem.push_back(credentials.signing_key_pem);
  }
  return credentials;
}

base::Result<authn::RequestHeaderOptions> FrontProxiesOf(const Options& options) {
  authn::RequestHeaderOptions proxies;
  proxies.authorities_pem = TRY(pki::LoadCertificates(options.requestheader_client_ca_file));
  proxies.allowed_names = options.requestheader_allowed_names;
  proxies.username_headers = options.requestheader_username_headers;
  proxies.uid_headers = options.requestheader_uid_headers;
  proxies.group_headers = options.requestheader_group_headers;
  proxies.extra_prefixes = options.requestheader_extra_headers_prefix;
  return proxies;
}

base::Status WriteKubeconfig(const std::string& path, const Credentials& credentials,
                             std::string_view server) {
  // Who brings their own certificate for serving brings its authority along, too.
  const std::string authority = base::Base64Encode(credentials.authority_pem);
  return base::WriteFile(
      path,
      base::StrCat("apiVersion: v1\nkind: Config\nclusters:\n- name: portcullis\n  cluster:\n"
                   "    server: ",
                   server, "\n    certificate-authority-data: ", authority,
                   "\nusers:\n- name: admin\n  user:\n    client-certificate-data: ",
                   base::Base64Encode(credentials.administrator.certificate_pem),
                   "\n    client-key-data: ", base::Base64Encode(credentials.administrator.key_pem),
                   "\ncontexts:\n- name: portcullis\n  context:\n    cluster: portcullis\n"
                   "    user: admin\ncurrent-context: portcullis\n"),
      base::Durability::kNone);
}

}  // namespace portcullis::server
