// SPDX-License-Identifier: Apache-2.0

#include "server/option_setters.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/gotext.h"
#include "base/strings.h"
#include "flags/record.h"
#include "golang/netip.h"
#include "golang/strconv.h"
#include "server/serving_tls.h"

namespace portcullis::server {

base::Status SetAddressOf(std::string& address, std::string_view value) {
  if (value.empty()) return base::OkStatus();
  const auto parsed = golang::ParseIp(base::Trim(value));
  if (!parsed) {
    return base::BadRequest(base::StrCat("failed to parse IP: ", base::GoQuote(value)));
  }
  address = parsed->Unmap().ToString();
  return base::OkStatus();
}

base::Status SetIssuer(Options& options, std::string_view value) {
  if (options.service_account_issuers.empty()) {
    options.service_account_issuer = std::string(value);
  }
  options.service_account_issuers.emplace_back(value);
  return base::OkStatus();
}

base::Status SetAdmissionControl(Options& options, std::string_view value) {
  options.admission_control_given = true;
  return flags::AddRecordTo(options.admission_control, value);
}

base::Status AddSniCertificate(Options& options, std::string_view value) {
  TRY(ParseNamedCertificate(value));
  options.tls_sni_cert_keys.emplace_back(value);
  return base::OkStatus();
}

base::Status AddCurves(Options& options, std::string_view value) {
  for (const std::string_view number : base::Split(value, ',')) {
    options.tls_curve_preferences.push_back(static_cast<int>(TRY(golang::ParseInt(number, 0, 32))));
  }
  return base::OkStatus();
}

base::Status SetStore(Options& options, std::string_view value) {
  if (value != "sqlite" && value != "memory") {
    return base::BadRequest("must be sqlite or memory; etcd is given by --etcd-servers");
  }
  options.store = std::string(value);
  return base::OkStatus();
}

base::Status SetFeatureGates(Options& options, std::string_view value) {
  for (std::string_view piece : base::Split(value, ',')) {
    piece = base::Trim(piece);
    if (piece.empty()) continue;
    const auto cut = base::Cut(piece, "=");
    if (!cut) return base::BadRequest(base::StrCat("missing bool value for ", piece));
    const auto enabled = golang::ParseBool(base::Trim(cut->second));
    if (!enabled.ok()) {
      return base::BadRequest(base::StrCat("invalid value of ", cut->first, "=", cut->second,
                                           ", err: ", enabled.status().message()));
    }
    std::string_view name = base::Trim(cut->first);
    if (const auto component = base::Cut(name, ":")) {
      if (component->first != "kube") {
        return base::BadRequest(base::StrCat("component not registered: ", component->first));
      }
      name = component->second;
    }
    options.feature_gates[std::string(name)] = *enabled;
  }
  return base::OkStatus();
}

base::Status SetEmulatedVersion(Options& options, std::string_view value) {
  const std::vector<std::string_view> versions = base::Split(value, ',');
  if (versions.size() > 1) {
    return base::BadRequest(
        base::StrCat("duplicate version flag, ", versions[0], " and ", versions[1]));
  }
  std::string_view version = base::Trim(value);
  if (const auto component = base::Cut(version, "=")) {
    if (component->first != "kube") {
      return base::BadRequest(base::StrCat("component not registered: ", component->first));
    }
    version = component->second;
  }
  std::vector<std::string_view> numbers =
      base::Split(version.starts_with('v') ? version.substr(1) : version, '.');
  const auto is_number = [](std::string_view text) { return base::ParseInt(text).has_value(); };
  if (numbers.size() < 2 || !std::all_of(numbers.begin(), numbers.end(), is_number)) {
    return base::BadRequest(
        base::StrCat("could not parse ", base::GoQuote(version), " as version"));
  }
  if (numbers.size() > 2) {
    return base::BadRequest(base::StrCat("patch version not allowed, got: kube=", version));
  }
  options.kubernetes_version = std::string(version);
  return base::OkStatus();
}

base::Status SetRuntimeConfig(Options& options, std::string_view value) {
  for (std::string_view piece : base::Split(value, ',')) {
    piece = base::Trim(piece);
    if (piece.empty()) continue;
    const auto cut = base::Cut(piece, "=");
    options.runtime_config[std::string(cut ? cut->first : piece)] =
        cut ? std::string(cut->second) : "true";
  }
  return base::OkStatus();
}

base::Status AddRequiredClaim(Options& options, std::string_view value) {
  const auto cut = base::Cut(value, "=");
  if (!cut) return base::BadRequest("malformed pair, expect string=string");
  options.oidc_required_claims[std::string(base::Trim(cut->first))] = base::Trim(cut->second);
  return base::OkStatus();
}

base::Status AddMetricLabels(Options& options, std::string_view value) {
  const auto none = [](std::string_view pair) {
    return base::BadRequest(base::StrCat(pair, " must be formatted as key=value"));
  };
  const auto count = std::count(value.begin(), value.end(), '=');
  if (count == 0) return none(value);
  std::vector<std::string> pairs;
  if (count == 1) {
    while (value.starts_with('"')) value.remove_prefix(1);
    while (value.ends_with('"')) value.remove_suffix(1);
    pairs.emplace_back(value);
  } else {
    TRY(flags::AddRecordTo(pairs, value));
  }
  for (const std::string& pair : pairs) {
    const auto cut = base::Cut(pair, "=");
    if (!cut) return none(pair);
    options.metric_labels[std::string(cut->first)] = cut->second;
  }
  return base::OkStatus();
}

base::Status SetServiceMap(Options& options, std::string_view value) {
  for (std::string_view piece : base::Split(value, ',')) {
    piece = base::Trim(piece);
    if (piece.empty()) continue;
    const auto cut = base::Cut(piece, "=");
    const auto ends_with_port = [](std::string_view text) {
      const std::size_t colon = text.rfind(':');
      if (colon == std::string_view::npos) return false;
      const auto port = base::ParseInt(text.substr(colon + 1));
      return port && *port > 0 && *port <= 65535;
    };
    if (!cut || cut->first.find('/') == std::string_view::npos || !ends_with_port(cut->first) ||
        !ends_with_port(cut->second)) {
      return base::BadRequest("must be namespace/name:port=host:port");
    }
    options.webhook_service_map[std::string(cut->first)] = std::string(cut->second);
  }
  return base::OkStatus();
}

}  // namespace portcullis::server
