// SPDX-License-Identifier: Apache-2.0

// What the flags say about TLS, as the settings of the listener and the files they came from.
#pragma once

#include <string_view>

#include "base/status.h"
#include "net/tls.h"
#include "net/tls_reload.h"
#include "server/credentials.h"
#include "server/options.h"

namespace portcullis::server {

struct ServingTls {
  net::ServerTlsOptions settings;
  net::TlsFiles files;  // those that are looked at for changes
};

// Reads the certificates of --tls-sni-cert-key and the authorities of front proxies. Errors are
// kube-apiserver's.
base::Result<ServingTls> MakeServingTls(const Options& options, const Credentials& credentials);

// One value of --tls-sni-cert-key: "certificate,key" or "certificate,key:name,name".
struct NamedCertificate {
  std::string certificate_file;
  std::string key_file;
  std::vector<std::string> names;
};
base::Result<NamedCertificate> ParseNamedCertificate(std::string_view value);

// What is wrong with --tls-curve-preferences. The error is kube-apiserver's.
base::Status CheckCurves(const std::vector<int>& curves);

// --tls-cipher-suites by their names at IANA; the error is kube-apiserver's.
base::Result<std::vector<std::string>> CheckCipherSuites(const std::vector<std::string>& names);

// --tls-min-version; the error is kube-apiserver's.
base::Result<net::TlsVersion> ParseTlsVersion(std::string_view name);

}  // namespace portcullis::server
