// SPDX-License-Identifier: Apache-2.0

// What flags of `serve` store whose values have a form of their own. The errors are those of
// kube-apiserver, which the flag's name is put in front of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "server/options.h"

namespace portcullis::server {

// IP addresses: `failed to parse IP: "localhost"`. An empty one changes nothing.
base::Status SetAddressOf(std::string& address, std::string_view value);
template <auto Member>
base::Status SetAddress(Options& options, std::string_view value) {
  return SetAddressOf(options.*Member, value);
}
// --service-account-issuer: the first one issues, all are accepted.
base::Status SetIssuer(Options& options, std::string_view value);
// --admission-control, the ordered list of old.
base::Status SetAdmissionControl(Options& options, std::string_view value);
// --tls-sni-cert-key.
base::Status AddSniCertificate(Options& options, std::string_view value);
// --tls-curve-preferences.
base::Status AddCurves(Options& options, std::string_view value);
// --store: sqlite or memory.
base::Status SetStore(Options& options, std::string_view value);
// --feature-gates: [kube:]Name=true,Other=false.
base::Status SetFeatureGates(Options& options, std::string_view value);
// --emulated-version: [kube=]1.34.
base::Status SetEmulatedVersion(Options& options, std::string_view value);
// --runtime-config: api/beta=true,group/version=false.
base::Status SetRuntimeConfig(Options& options, std::string_view value);
// --oidc-required-claim: one name=value in each flag, since the value may hold commas.
base::Status AddRequiredClaim(Options& options, std::string_view value);
// --allow-metric-labels: "metric,label=a,b", quoted as CSV if there are several.
base::Status AddMetricLabels(Options& options, std::string_view value);
// --webhook-service-map: namespace/name:port=host:port.
base::Status SetServiceMap(Options& options, std::string_view value);

}  // namespace portcullis::server
