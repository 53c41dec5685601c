// SPDX-License-Identifier: Apache-2.0

#include "webhook_server/serving_certificate.h"

#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "net/url.h"
#include "pki/certificates.h"
#include "pki/key_folder.h"
#include "server/serving_tls.h"

namespace portcullis::webhook_server {
namespace {

base::Result<pki::KeyPair> MakeCertificate(const Options& options, base::WallTime now,
                                           ServingCertificate& serving) {
  const Target target = TRY(TargetOf(options));
  const auto folder = TRY(pki::KeyFolder::Open(options.cert_dir, "portcullis-webhook-ca", now));
  pki::CertificateRequest wanted;
  wanted.common_name = target.host();
  wanted.server = true;
  wanted.dns_names = {"localhost"};
  wanted.ip_addresses = {"127.0.0.1"};
  pki::AddHost(wanted, target.host());
  serving.ca_pem = folder.authority().certificate_pem;
  serving.is_kept = !options.cert_dir.empty();
  return folder.Certificate("webhook", wanted);
}

}  // namespace

std::string Target::host() const {
  if (!name.empty()) return base::StrCat(name, ".", ns, ".svc");
  const auto parsed = net::ParseUrl(url);
  return parsed.ok() ? parsed->host : std::string();
}

base::Result<Target> TargetOfService(std::string_view service) {
  const base::Status bad = base::BadRequest("--service is NAMESPACE/NAME[:PORT]");
  const auto cut = base::Cut(service, "/");
  if (!cut || cut->first.empty()) return bad;
  Target target;
  target.ns = std::string(cut->first);
  target.name = std::string(cut->second);
  if (const auto port = base::Cut(cut->second, ":")) {
    target.name = std::string(port->first);
    const auto number = base::ParseInt(port->second);
    if (!number || *number < 1 || *number > 65535) return bad;
    target.port = static_cast<int>(*number);
  }
  if (target.name.empty()) return bad;
  return target;
}

base::Result<Target> TargetOf(const Options& options) {
  if (options.url.empty()) {
    return TargetOfService(options.service.empty() ? base::StrCat("portcullis/", options.name)
                                                   : options.service);
  }
  const auto url = TRY(net::ParseUrl(options.url));
  if (url.scheme != "https") return base::BadRequest("--url must begin with https://");
  Target target;
  target.url = options.url;
  while (target.url.ends_with('/')) target.url.pop_back();
  return target;
}

base::Result<ServingCertificate> MakeServingCertificate(const Options& options,
                                                        base::WallTime now) {
  ServingCertificate serving;
  pki::KeyPair pair;
  if (options.tls_cert_file.empty()) {
    pair = TRY(MakeCertificate(options, now, serving));
  } else {
    pair = TRY(pki::LoadKeyPair(options.tls_cert_file, options.tls_private_key_file));
    serving.files.certificate = options.tls_cert_file;
    serving.files.key = options.tls_private_key_file;
  }
  if (!options.ca_bundle_file.empty()) {
    serving.ca_pem = TRY(pki::LoadCertificates(options.ca_bundle_file));
  }
  serving.tls.certificate = {std::move(pair.certificate_pem), std::move(pair.key_pem), {}};
  serving.tls.min_version = TRY(server::ParseTlsVersion(options.tls_min_version));
  serving.tls.cipher_suites = TRY(server::CheckCipherSuites(options.tls_cipher_suites));
  if (!options.client_ca_file.empty()) {
    serving.tls.client_certificates = net::ClientCertificates::kRequest;
    serving.tls.client_ca_pem = TRY(pki::LoadCertificates(options.client_ca_file));
    serving.files.client_ca = options.client_ca_file;
  }
  return serving;
}

}  // namespace portcullis::webhook_server
