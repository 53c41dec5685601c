// SPDX-License-Identifier: Apache-2.0

// The serving certificate: that of the flags, or one that is made, with the CA for the configurations.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "net/tls.h"
#include "net/tls_reload.h"
#include "webhook_server/options.h"

namespace portcullis::webhook_server {

struct ServingCertificate {
  net::ServerTlsOptions tls;
  net::TlsFiles files;   // that are looked at for changes
  std::string ca_pem;    // of a made one, or --ca-bundle-file; "": not known
  bool is_kept = false;  // it was made in --cert-dir and is there at the next start
};

// Where an API server reaches the webhook.
struct Target {
  std::string ns;    // of the Service
  std::string name;  // likewise; "": a URL
  int port = 443;
  std::string url;           // "": a Service
  std::string host() const;  // that the certificate has to name
};
// Errors: `--service is NAMESPACE/NAME[:PORT]`.
base::Result<Target> TargetOfService(std::string_view service);
// Of --url, without slashes at its end, or --service. Errors: a flag's value.
base::Result<Target> TargetOf(const Options& options);

base::Result<ServingCertificate> MakeServingCertificate(const Options& options, base::WallTime now);

}  // namespace portcullis::webhook_server
