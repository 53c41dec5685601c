// SPDX-License-Identifier: Apache-2.0

// What is wrong with options that have been read, and which of them open doors.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "cel/library/regex.h"
#include "golang/strconv.h"
#include "golang/url.h"
#include "pki/certificates.h"
#include "registry/services/address_range.h"
#include "release/release.h"
#include "server/advertised_address.h"
#include "server/credentials.h"
#include "server/metric_limits.h"
#include "server/options.h"
#include "server/serving_tls.h"

namespace portcullis::server {
namespace {

void CheckFlowControl(const Options& options, std::vector<std::string>& problems) {
  if (!options.enable_priority_and_fairness) return;
  if (options.max_requests_inflight + options.max_mutating_requests_inflight <= 0) {
    problems.push_back(base::StrCat(
        "invalid configuration: MaxRequestsInFlight=",
        std::to_string(options.max_requests_inflight),
        " and MaxMutatingRequestsInFlight=", std::to_string(options.max_mutating_requests_inflight),
        "; they must add up to something positive"));
  }
  // What was said about the API last in this order counts.
  for (const char* api : {"flowcontrol.apiserver.k8s.io/v1", "api/ga", "api/all"}) {
    const auto said = options.runtime_config.find(api);
    if (said == options.runtime_config.end()) continue;
    if (said->second == "false") {
      problems.push_back(base::StrCat("--runtime-config=", api,
                                      "=false conflicts with --enable-priority-and-fairness=true"));
    }
    return;
  }
}

void CheckAuthentication(const Options& options, std::vector<std::string>& problems) {
  const bool is_complete = !options.oidc_issuer_url.empty() && !options.oidc_client_id.empty();
  if (!options.oidc_flags_given) return;
  if (!options.authentication_config.empty()) {
    problems.emplace_back("authentication-config file and oidc-* flags are mutually exclusive");
  } else if (!is_complete) {
    problems.emplace_back(
        "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are "
        "set");
  }
}

void CheckIssuers(const Options& options, std::vector<std::string>& problems) {
  std::set<std::string_view> seen;
  for (const std::string& issuer : options.service_account_issuers) {
    const auto url = golang::ParseUrl(issuer);
    if (issuer.find(':') != std::string::npos && !url.ok()) {
      problems.push_back(
          base::StrCat("service-account-issuer ", base::GoQuote(issuer),
                       " contained a ':' but was not a valid URL: ", url.status().message()));
    } else if (issuer.empty()) {
      problems.emplace_back("service-account-issuer should not be an empty string");
    } else if (!seen.insert(issuer).second) {
      problems.push_back(
          base::StrCat("service-account-issuer ", base::GoQuote(issuer), " is already specified"));
    }
  }
}

void CheckKeySetUri(const Options& options, std::vector<std::string>& problems) {
  if (options.service_account_jwks_uri.empty()) return;
  const auto url = golang::ParseUrl(options.service_account_jwks_uri);
  if (!url.ok()) {
    problems.push_back(
        base::StrCat("service-account-jwks-uri must be a valid URL: ", url.status().message()));
  } else if (url->scheme != "https") {
    problems.push_back(base::StrCat("service-account-jwks-uri requires https scheme, parsed as: ",
                                    url->ToString()));
  }
}

// None if they cannot be read, which is said elsewhere.
std::vector<pki::CertificateInfo> CertificatesOf(const std::string& file) {
  const auto pem = base::ReadFile(file);
  if (!pem.ok()) return {};
  auto certificates = pki::ParseCertificates(*pem);
  if (!certificates.ok()) return {};
  return *std::move(certificates);
}

// A client whose certificate counts for itself must not be taken for a front proxy, which may name
// any user. Our own CA is one of the client CAs.
void CheckFrontProxies(const Options& options, std::vector<std::string>& problems) {
  const std::pair<std::string_view, const std::vector<std::string>&> lists[] = {
      {"username-headers", options.requestheader_username_headers},
      {"group-headers", options.requestheader_group_headers},
      {"extra-headers-prefix", options.requestheader_extra_headers_prefix},
      {"allowed-names", options.requestheader_allowed_names},
      {"uid-headers", options.requestheader_uid_headers}};
  for (const auto& [name, values] : lists) {
    const auto is_blank = [](const std::string& value) { return base::Trim(value).empty(); };
    if (std::none_of(values.begin(), values.end(), is_blank)) continue;
    problems.push_back(base::StrCat("empty value in \"requestheader-", name, "\""));
  }
  const auto& uids = options.requestheader_uid_headers;
  if (!uids.empty() && std::none_of(uids.begin(), uids.end(), [](const std::string& name) {
        return base::EqualsIgnoreCase(name, "X-Remote-Uid");
      })) {
    problems.emplace_back(
        "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - "
        "API aggregation will not work");
  }
  const std::string& file = options.requestheader_client_ca_file;
  if (file.empty() || !options.requestheader_allowed_names.empty()) return;
  const auto proxies = CertificatesOf(file);
  const std::string folder = PkiFolderOf(options);
  const std::string own = folder.empty() ? "" : base::StrCat(folder, "/ca.crt");
  const std::pair<std::string_view, const std::string&> bundles[] = {
      {"--client-ca-file", options.client_ca_file}, {own, own}};
  for (const auto& [name, path] : bundles) {
    const auto clients = CertificatesOf(path);
    const auto is_of_clients = [&](const pki::CertificateInfo& proxy) {
      return std::any_of(clients.begin(), clients.end(), [&](const pki::CertificateInfo& client) {
        return client.der == proxy.der;
      });
    };
    if (std::none_of(proxies.begin(), proxies.end(), is_of_clients)) continue;
    problems.push_back(base::StrCat(
        "--requestheader-client-ca-file and ", name,
        " contain overlapping certificates; --requestheader-allowed-names must be specified to "
        "ensure regular client certificates cannot set authenticating proxy headers for arbitrary "
        "users"));
  }
}

void CheckAuthorization(const Options& options, std::vector<std::string>& problems) {
  if (!options.authorization_config.empty()) {
    if (options.authorization_flags_given) {
      problems.emplace_back(
          "--authorization-config can not be specified when --authorization-mode or "
          "--authorization-webhook-* flags are defined");
    }
    return;
  }
  constexpr std::string_view kModes[] = {"AlwaysAllow", "AlwaysDeny", "ABAC",
                                         "RBAC",        "Node",       "Webhook"};
  bool has_webhook = false;
  bool has_abac = false;
  for (const std::string& mode : options.authorization_modes) {
    has_webhook = has_webhook || mode == "Webhook";
    has_abac = has_abac || mode == "ABAC";
    if (std::find(std::begin(kModes), std::end(kModes), mode) != std::end(kModes)) continue;
    problems.push_back(base::StrCat(
        "authorization-mode ", base::GoQuote(mode),
        " is not a valid mode: use AlwaysAllow, AlwaysDeny, ABAC, RBAC, Node, Webhook"));
  }
  const std::set<std::string> modes(options.authorization_modes.begin(),
                                    options.authorization_modes.end());
  if (modes.size() != options.authorization_modes.size()) {
    problems.push_back(base::StrCat("authorization-mode ",
                                    base::GoQuotedList(options.authorization_modes),
                                    " has mode specified more than once"));
  }
  const bool has_policy = !options.authorization_policy_file.empty();
  if (has_abac && !has_policy) {
    problems.emplace_back("authorization-mode ABAC's authorization policy file not passed");
  }
  if (has_policy && !has_abac) {
    problems.emplace_back("cannot specify --authorization-policy-file without mode ABAC");
  }
  const bool has_file = !options.authorization_webhook_config_file.empty();
  if (has_webhook && !has_file) {
    problems.emplace_back("authorization-mode Webhook's authorization config file not passed");
  }
  if (has_file && !has_webhook) {
    problems.emplace_back(
        "cannot specify --authorization-webhook-config-file without mode Webhook");
  }
  const std::string& version = options.authorization_webhook_version;
  if (has_webhook && version != "v1" && version != "v1beta1") {
    problems.push_back(base::StrCat("unsupported webhook authorizer version ",
                                    base::GoQuote(version),
                                    ", supported versions are \"v1\", \"v1beta1\""));
  }
}

// The endpoint of the Service kubernetes is of the family of the Service's address.
void CheckEndpoints(const Options& options, const golang::IpPrefix& range,
                    std::vector<std::string>& problems) {
  if (options.apiserver_count <= 0) {
    problems.push_back(base::StrCat("--apiserver-count should be a positive number, but value '",
                                    std::to_string(options.apiserver_count), "' provided"));
  }
  const std::string& type = options.endpoint_reconciler_type;
  if (type == "none" || (type == "lease" && options.etcd_servers.empty())) return;
  const std::string address = AdvertisedAddress(options);
  if (address.empty() || registry::FamilyOf(address) == registry::FamilyOf(range.address)) return;
  problems.push_back(base::StrCat("service IP family ", base::GoQuote(range.ToString()),
                                  " must match public address family ", base::GoQuote(address)));
}

// kube-apiserver's form of --etcd-servers-overrides, and what is wrong here with what it says: one
// revision of one etcd tells how new the answer to a request has to be, and a write is compared with
// the newest rules in its own transaction.
void CheckOverrides(const Options& options, std::vector<std::string>& problems) {
  const auto sorted = [](std::vector<std::string_view> servers) {
    std::sort(servers.begin(), servers.end());
    return servers;
  };
  const auto all = sorted({options.etcd_servers.begin(), options.etcd_servers.end()});
  for (const std::string& given : options.etcd_servers_overrides) {
    const auto parts = base::Split(given, '#');
    const auto servers = base::Split(parts.back(), ';');
    const bool is_empty = std::find(servers.begin(), servers.end(), "") != servers.end();
    if (parts.size() != 2 || base::Split(parts.front(), '/').size() != 2 || is_empty) {
      problems.emplace_back(
          "--etcd-servers-overrides invalid, must be of format: group/resource#servers, where "
          "servers are URLs, semicolon separated");
      return;
    }
    if (sorted(servers) == all) continue;
    problems.push_back(base::StrCat(
        "--etcd-servers-overrides: ", parts.front(), " cannot be kept in ", parts.back(),
        ": all objects are in the etcd of --etcd-servers; docs/etcd.md says how to move them"));
  }
}

// What is wrong with how the backend `name`, log or webhook, gets its batches; "" if nothing is.
std::string BatchProblem(std::string_view name, const AuditDelivery& delivery) {
  const std::string_view modes[] = {"batch", "blocking", "blocking-strict"};
  if (std::find(std::begin(modes), std::end(modes), delivery.mode) == std::end(modes)) {
    return base::StrCat("invalid audit ", name, " mode ", delivery.mode, ", allowed modes are \"",
                        base::Join(modes, ","), "\"");
  }
  if (delivery.mode != "batch") return "";
  const auto not_positive = [&](std::string_view what, const std::string& number) {
    return base::StrCat("invalid audit batch ", name, " ", what, " ", number,
                        ", must be a positive number");
  };
  if (delivery.batch_buffer_size <= 0) {
    return not_positive("buffer size", std::to_string(delivery.batch_buffer_size));
  }
  if (delivery.batch_max_size <= 0) {
    return not_positive("max batch size", std::to_string(delivery.batch_max_size));
  }
  if (!delivery.batch_throttle_enable) return "";
  if (delivery.batch_throttle_qps <= 0) {
    return not_positive("throttle QPS", golang::FormatFloat(delivery.batch_throttle_qps));
  }
  if (delivery.batch_throttle_burst <= 0) {
    return not_positive("throttle burst", std::to_string(delivery.batch_throttle_burst));
  }
  return "";
}

void CheckAuditBackend(std::string_view name, const AuditDelivery& delivery,
                       std::vector<std::string>& problems) {
  if (std::string problem = BatchProblem(name, delivery); !problem.empty()) {
    problems.push_back(std::move(problem));
  }
  const std::string largest = std::to_string(delivery.truncate_max_event_size);
  if (delivery.truncate_max_event_size <= 0) {
    problems.push_back(base::StrCat("invalid audit truncate ", name, " max event size ", largest,
                                    ", must be a positive number"));
  } else if (delivery.truncate_max_batch_size < delivery.truncate_max_event_size) {
    problems.push_back(base::StrCat("invalid audit truncate ", name, " max batch size ",
                                    std::to_string(delivery.truncate_max_batch_size),
                                    ", must be greater than max event size (", largest, ")"));
  }
  if (delivery.version != "audit.k8s.io/v1") {
    problems.emplace_back("invalid group version, allowed versions are [\"audit.k8s.io/v1\"]");
  }
}

// What kube-apiserver checks of the backends that are in use.
void CheckAudit(const Options& options, std::vector<std::string>& problems) {
  if (!options.audit_webhook_config_file.empty()) {
    CheckAuditBackend("webhook", options.audit_webhook, problems);
  }
  if (options.audit_log_path.empty()) return;
  CheckAuditBackend("log", options.audit_log, problems);
  const std::string& format = options.audit_log_format;
  if (format != "json" && format != "legacy") {
    problems.push_back(
        base::StrCat("invalid audit log format ", format, ", allowed formats are \"legacy,json\""));
  }
  const std::pair<std::string_view, int> numbers[] = {{"maxage", options.audit_log_maxage},
                                                      {"maxbackup", options.audit_log_maxbackup},
                                                      {"maxsize", options.audit_log_maxsize}};
  for (const auto& [name, number] : numbers) {
    if (number >= 0) continue;
    problems.push_back(base::StrCat("--audit-log-", name, " ", std::to_string(number),
                                    " can't be a negative number"));
  }
}

// An external signer of tokens (ExternalJWTSigner).
void CheckSigner(const Options& options, std::vector<std::string>& problems) {
  if (options.service_account_signing_endpoint.empty()) return;
  if (!options.service_account_signing_key_file.empty() ||
      !options.service_account_key_files.empty()) {
    problems.emplace_back(
        "can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with "
        "`--service-account-signing-endpoint` (They are mutually exclusive)");
  }
  problems.emplace_back(
      "--service-account-signing-endpoint is not supported: tokens are signed with "
      "--service-account-signing-key-file");
}

void CheckTransportSecurity(const Options& options, std::vector<std::string>& problems) {
  for (const std::string& directive : options.strict_transport_security_directives) {
    std::string problem;
    if (base::Trim(directive).empty()) {
      problem = "empty value in strict-transport-security-directives";
    } else if (directive != "includeSubDomains" && directive != "preload") {
      const auto parts = base::Split(directive, '=');
      if (parts.size() == 2 && parts.front() == "max-age") continue;
      problem =
          "--strict-transport-security-directives invalid, allowed values: max-age=expireTime, "
          "includeSubDomains, preload. see https://tools.ietf.org/html/rfc6797#section-6.1 for "
          "more information";
    }
    if (problem.empty() || std::find(problems.begin(), problems.end(), problem) != problems.end()) {
      continue;
    }
    problems.push_back(std::move(problem));
  }
}

// What is wrong with an origin; "" if nothing is. One that could stand within a longer host would
// allow others than are meant (CVE-2022-1996).
std::string OriginProblem(const std::string& origin) {
  const auto compiled = cel::Regex::Compile(origin);
  if (!compiled.ok()) return compiled.status().message();
  const bool has_start =
      origin.find('^') != std::string::npos || origin.find("//") != std::string::npos;
  const bool has_end = origin.find_first_of("$:") != std::string::npos;
  if (has_start && has_end) return "";
  return "regular expression does not pin to start/end of host in the origin header";
}

void CheckOrigins(const Options& options, std::vector<std::string>& problems) {
  constexpr std::string_view kHelp =
      ", help: List of allowed origins for CORS, comma separated. An allowed origin can be a "
      "regular expression to support subdomain matching. If this list is empty CORS will not be "
      "enabled. Please ensure each expression matches the entire hostname by anchoring to the "
      "start with '^' or including the '//' prefix, and by anchoring to the end with '$' or "
      "including the ':' port separator suffix. Examples of valid expressions are "
      "'//example\\.com(:|$)' and '^https://example\\.com(:|$)'";
  for (const std::string& origin : options.cors_allowed_origins) {
    if (origin.empty()) {
      problems.push_back(base::StrCat("empty value in --cors-allowed-origins", kHelp));
    } else if (const std::string problem = OriginProblem(origin); !problem.empty()) {
      problems.push_back(base::StrCat(
          "--cors-allowed-origins has an invalid regular expression: ", problem, kHelp));
    }
  }
}

void CheckFiles(const Options& options, std::vector<std::string>& problems) {
  const auto readable = [&](std::string_view flag, const std::string& path) {
    if (path.empty() || access(path.c_str(), R_OK) == 0) return;
    problems.push_back(base::StrCat("--", flag, ": open ", path, ": ", base::ErrnoText(errno)));
  };
  readable("client-ca-file", options.client_ca_file);
  readable("token-auth-file", options.token_auth_file);
  readable("tls-cert-file", options.tls_cert_file);
  readable("tls-private-key-file", options.tls_private_key_file);
  readable("etcd-cafile", options.etcd_cafile);
  readable("etcd-certfile", options.etcd_certfile);
  readable("etcd-keyfile", options.etcd_keyfile);
  readable("requestheader-client-ca-file", options.requestheader_client_ca_file);
  readable("proxy-client-cert-file", options.proxy_client_cert_file);
  readable("proxy-client-key-file", options.proxy_client_key_file);
  readable("audit-webhook-config-file", options.audit_webhook_config_file);
  readable("audit-policy-file", options.audit_policy_file);
  readable("service-account-signing-key-file", options.service_account_signing_key_file);
  for (const std::string& file : options.service_account_key_files) {
    readable("service-account-key-file", file);
  }
}

// Numbers and times that must lie within bounds.
void CheckLimits(const Options& options, std::vector<std::string>& problems) {
  if (options.max_requests_inflight < 0) {
    problems.push_back("--max-requests-inflight can not be negative value");
  }
  if (options.max_mutating_requests_inflight < 0) {
    problems.push_back("--max-mutating-requests-inflight can not be negative value");
  }
  if (options.admission_trace_history < 0) {
    problems.push_back("--admission-trace-history can not be negative value");
  }
  if (options.max_webhook_response_bytes < 0) {
    problems.push_back("--max-webhook-response-bytes can not be negative value");
  }
  CheckFlowControl(options, problems);
  if (options.request_timeout.count() < 0) {
    problems.push_back("--request-timeout can not be negative value");
  }
  if (options.goaway_chance < 0 || options.goaway_chance > 0.02) {
    problems.emplace_back("--goaway-chance can not be less than 0 or greater than 0.02");
  }
  if (options.min_request_timeout < 0) {
    problems.emplace_back("--min-request-timeout can not be negative value");
  }
  if (options.shutdown_delay.count() < 0) {
    problems.emplace_back("--shutdown-delay-duration can not be negative value");
  }
  const auto longest = options.service_account_max_token_expiration;
  if (longest.count() != 0 &&
      (longest < std::chrono::hours(1) || longest > std::chrono::seconds(std::int64_t{1} << 32))) {
    problems.emplace_back(
        "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds");
  }
}

}  // namespace

std::vector<std::string> CheckOptions(const Options& options) {
  const auto ranges = registry::ParseServiceRanges(options.service_cluster_ip_range);
  if (!ranges.ok()) return {ranges.status().message()};  // it is parsed before anything is checked
  std::vector<std::string> problems;
  CheckFiles(options, problems);
  CheckOverrides(options, problems);
  if (options.store_given && !options.etcd_servers.empty()) {
    problems.emplace_back("--store and --etcd-servers exclude each other");
  }
  if (options.tls_cert_file.empty() != options.tls_private_key_file.empty()) {
    problems.push_back("--tls-cert-file and --tls-private-key-file must be given together");
  }
  if (options.proxy_client_cert_file.empty() != options.proxy_client_key_file.empty()) {
    problems.push_back(
        "--proxy-client-cert-file and --proxy-client-key-file must be given together");
  }
  if (options.secure_port < 0 || options.secure_port > 65535) {
    problems.push_back(base::StrCat("--secure-port ", std::to_string(options.secure_port),
                                    " must be between 0 and 65535, inclusive"));
  }
  if (options.data_dir.empty() && options.store == "sqlite") {
    problems.push_back("--data-dir must not be empty with --store=" + options.store);
  }
  if (options.encryption_provider_config.empty() &&
      options.encryption_provider_config_automatic_reload) {
    problems.emplace_back(
        "--encryption-provider-config-automatic-reload must be set with "
        "--encryption-provider-config");
  }
  CheckAuthentication(options, problems);
  CheckIssuers(options, problems);
  CheckKeySetUri(options, problems);
  CheckFrontProxies(options, problems);
  CheckAuthorization(options, problems);
  CheckAudit(options, problems);
  CheckSigner(options, problems);
  CheckMetricFlags(options, problems);
  const auto release = release::Release::Open(options.kubernetes_version, options.feature_gates);
  if (!release.ok()) {
    problems.emplace_back(release.status().message());
  } else {
    for (std::string& problem : release->Problems()) problems.push_back(std::move(problem));
    for (std::string& problem :
         registry::CheckServiceRanges(options.service_cluster_ip_range, *ranges, *release)) {
      problems.push_back(std::move(problem));
    }
  }
  CheckEndpoints(options, ranges->front(), problems);
  CheckLimits(options, problems);
  CheckTransportSecurity(options, problems);
  CheckOrigins(options, problems);
  if (const auto version = ParseTlsVersion(options.tls_min_version); !version.ok()) {
    problems.push_back(version.status().message());
  }
  if (options.admission_control_given &&
      (!options.enable_admission_plugins.empty() || !options.disable_admission_plugins.empty())) {
    problems.push_back(
        "admission-control and enable-admission-plugins/disable-admission-plugins flags are "
        "mutually exclusive");
  }
  return problems;
}

namespace {

// Of files that hold a secret. A group may read them, as of Secrets that are mounted into a pod.
void FindReadableSecret(std::string_view flag, const std::string& path,
                        std::vector<std::string>& doors) {
  struct stat info {};
  if (path.empty() || stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  if ((info.st_mode & S_IROTH) == 0) return;
  doors.push_back(base::StrCat("--", flag, "=", path,
                               " can be read by every user of this machine: chmod o-rwx ", path));
}

}  // namespace

std::vector<std::string> OpenDoors(const Options& options) {
  std::vector<std::string> doors;
  FindReadableSecret("tls-private-key-file", options.tls_private_key_file, doors);
  FindReadableSecret("proxy-client-key-file", options.proxy_client_key_file, doors);
  FindReadableSecret("service-account-signing-key-file", options.service_account_signing_key_file,
                     doors);
  FindReadableSecret("token-auth-file", options.token_auth_file, doors);
  FindReadableSecret("encryption-provider-config", options.encryption_provider_config, doors);
  FindReadableSecret("audit-webhook-config-file", options.audit_webhook_config_file, doors);
  FindReadableSecret("authentication-token-webhook-config-file",
                     options.authentication_token_webhook_config_file, doors);
  FindReadableSecret("authorization-webhook-config-file", options.authorization_webhook_config_file,
                     doors);
  for (const std::string& pair : options.tls_sni_cert_keys) {
    const auto parsed = ParseNamedCertificate(pair);
    if (parsed.ok()) FindReadableSecret("tls-sni-cert-key", parsed->key_file, doors);
  }
  if (AllowsEverything(options)) {
    doors.emplace_back(
        "--authorization-mode=AlwaysAllow lets every client that has a name do everything");
  }
  if (options.allow_core_dumps) {
    doors.emplace_back("--allow-core-dumps: core files hold private keys and Secrets");
  }
  struct stat info {};
  if (stat(options.data_dir.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
      (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    doors.push_back(base::StrCat("--data-dir=", options.data_dir,
                                 " can be entered by other users: chmod 700 ", options.data_dir));
  }
  return doors;
}

}  // namespace portcullis::server
