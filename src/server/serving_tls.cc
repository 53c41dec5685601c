// SPDX-License-Identifier: Apache-2.0

#include "server/serving_tls.h"

#include <algorithm>
#include <iterator>

#include "base/gotext.h"
#include "base/strings.h"
#include "pki/certificates.h"

namespace portcullis::server {

base::Result<NamedCertificate> ParseNamedCertificate(std::string_view value) {
  NamedCertificate named;
  std::string_view files = value;
  if (const auto colon = value.find(':'); colon != std::string_view::npos) {
    files = value.substr(0, colon);
    const std::string_view names = base::Trim(value.substr(colon + 1));
    if (names.empty()) return base::BadRequest("empty names list is not allowed");
    for (const std::string_view name : base::Split(names, ',')) {
      named.names.emplace_back(base::Trim(name));
    }
  }
  const auto parts = base::Split(base::Trim(files), ',');
  if (parts.size() != 2) {
    return base::BadRequest("expected comma separated certificate and key file paths");
  }
  named.certificate_file = base::Trim(parts[0]);
  named.key_file = base::Trim(parts[1]);
  return named;
}

base::Result<net::TlsVersion> ParseTlsVersion(std::string_view name) {
  if (name.empty() || name == "VersionTLS12") return net::TlsVersion::k12;
  if (name == "VersionTLS13") return net::TlsVersion::k13;
  // 1.2 is the least that is served; a lower --tls-min-version means 1.2.
  if (name == "VersionTLS10" || name == "VersionTLS11") return net::TlsVersion::k12;
  return base::ConfigError(base::StrCat("unknown tls version ", base::GoQuote(name)));
}

base::Status CheckCurves(const std::vector<int>& curves) {
  constexpr int kOfGo[] = {23, 24, 25, 29, 4587, 4588, 4589};
  for (auto curve = curves.begin(); curve != curves.end(); ++curve) {
    const std::string number = std::to_string(*curve);
    if (*curve <= 0 || *curve > 0xffff) {
      return base::ConfigError(
          base::StrCat("curve preference ", number, " is out of range (must be 1-65535)"));
    }
    if (std::find(curves.begin(), curve, *curve) != curve) {
      return base::ConfigError(base::StrCat("duplicate curve preference ", number));
    }
    if (std::find(std::begin(kOfGo), std::end(kOfGo), *curve) == std::end(kOfGo)) {
      return base::ConfigError(
          base::StrCat("curve preference ", number, " is not supported by the current Go version"));
    }
  }
  return base::OkStatus();
}

// Of each key exchange the ciphers that Go's crypto/tls has with it.
constexpr std::pair<std::string_view, std::string_view> kSuitesOfGo[] = {
    {"TLS_", " AES_128_GCM_SHA256 AES_256_GCM_SHA384 CHACHA20_POLY1305_SHA256 "},
    {"TLS_RSA_WITH_",
     " AES_128_CBC_SHA AES_128_CBC_SHA256 AES_128_GCM_SHA256 AES_256_CBC_SHA AES_256_GCM_SHA384 "
     "RC4_128_SHA 3DES_EDE_CBC_SHA "},
    {"TLS_ECDHE_RSA_WITH_",
     " AES_128_CBC_SHA AES_128_CBC_SHA256 AES_128_GCM_SHA256 AES_256_CBC_SHA AES_256_GCM_SHA384 "
     "CHACHA20_POLY1305_SHA256 RC4_128_SHA 3DES_EDE_CBC_SHA "},
    {"TLS_ECDHE_ECDSA_WITH_",
     " AES_128_CBC_SHA AES_128_CBC_SHA256 AES_128_GCM_SHA256 AES_256_CBC_SHA AES_256_GCM_SHA384 "
     "CHACHA20_POLY1305_SHA256 RC4_128_SHA "}};

// The suites by their names at IANA; Kubernetes has older names of two, which the CIS benchmark
// recommends. What OpenSSL lacks of Go's (RC4, 3DES) is left out where it is used.
base::Result<std::vector<std::string>> CheckCipherSuites(const std::vector<std::string>& names) {
  std::vector<std::string> suites;
  for (const auto& name : names) {
    const bool old = name.find("_WITH_") != name.npos && name.ends_with("_CHACHA20_POLY1305");
    suites.push_back(old ? name + "_SHA256" : name);
    const auto is_of = [&](const auto& row) {
      const auto& [exchange, ciphers] = row;
      return suites.back().starts_with(exchange) &&
             ciphers.find(base::StrCat(" ", suites.back().substr(exchange.size()), " ")) !=
                 ciphers.npos;
    };
    if (std::none_of(std::begin(kSuitesOfGo), std::end(kSuitesOfGo), is_of)) {
      return base::ConfigError(
          base::StrCat("Cipher suite ", name, " not supported or doesn't exist"));
    }
  }
  return suites;
}

namespace {

// HTTP/2 over TLS 1.2 needs one of two suites; Go refuses to serve without.
base::Status CheckHttp2Suites(const net::ServerTlsOptions& settings) {
  const auto& suites = settings.cipher_suites;
  const bool has_one = std::any_of(suites.begin(), suites.end(), [](std::string_view suite) {
    return suite == "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256" ||
           suite == "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
  });
  if (suites.empty() || has_one || !settings.http2 ||
      settings.min_version == net::TlsVersion::k13) {
    return base::OkStatus();
  }
  return base::ConfigError(
      "error configuring http2: http2: TLSConfig.CipherSuites is missing an HTTP/2-required "
      "AES_128_GCM_SHA256 cipher (need at least one of TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 or "
      "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)");
}

}  // namespace

base::Result<ServingTls> MakeServingTls(const Options& options, const Credentials& credentials) {
  ServingTls tls;
  net::ServerTlsOptions& settings = tls.settings;
  settings.certificate.certificate_pem = credentials.serving.certificate_pem;
  settings.certificate.key_pem = credentials.serving.key_pem;
  settings.client_certificates = net::ClientCertificates::kRequest;
  settings.client_ca_pem = credentials.client_ca_pem;
  settings.min_version = TRY(ParseTlsVersion(options.tls_min_version));
  settings.cipher_suites = TRY(CheckCipherSuites(options.tls_cipher_suites));
  TRY(CheckCurves(options.tls_curve_preferences));
  settings.curves = options.tls_curve_preferences;
  settings.http2 = !options.disable_http2_serving;
  TRY(CheckHttp2Suites(settings));
  tls.files.certificate = options.tls_cert_file;
  tls.files.key = options.tls_private_key_file;
  tls.files.client_ca = options.client_ca_file;
  tls.files.more_client_cas_pem = credentials.authority_pem;
  for (const std::string& value : options.tls_sni_cert_keys) {
    NamedCertificate named = TRY(ParseNamedCertificate(value));
    auto pair = pki::LoadKeyPair(named.certificate_file, named.key_file);
    if (!pair.ok()) {
      return base::ConfigError(
          base::StrCat("failed to load SNI cert and key: ", pair.status().message()));
    }
    settings.sni.push_back({pair->certificate_pem, pair->key_pem, std::move(named.names)});
    tls.files.sni.emplace_back(std::move(named.certificate_file), std::move(named.key_file));
  }
  if (!options.requestheader_client_ca_file.empty()) {
    settings.announced_ca_pem = TRY(pki::LoadCertificates(options.requestheader_client_ca_file));
  }
  return tls;
}

}  // namespace portcullis::server
