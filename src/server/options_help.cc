// SPDX-License-Identifier: Apache-2.0

#include "server/options_help.h"

#include <algorithm>
#include <iterator>

namespace portcullis::server {
namespace {

// The flags below a heading of --help. A name that ends with a dash stands for all that begin so.
struct Group {
  std::string_view heading;
  std::string_view flags[24];
};

constexpr Group kGroups[] = {
    {"Secure serving",
     {"bind-address", "secure-port", "tls-cert-file", "tls-private-key-file", "tls-sni-cert-key",
      "tls-min-version", "tls-cipher-suites", "tls-curve-preferences", "cert-dir",
      "disable-http2-serving", "http2-max-streams-per-connection", "goaway-chance",
      "strict-transport-security-directives", "cors-allowed-origins"}},
    {"Data",
     {"data-dir", "store", "skip-damaged-objects", "encryption-provider-config",
      "encryption-provider-config-automatic-reload", "event-ttl"}},
    {"etcd",
     {"etcd-", "lease-reuse-duration-seconds", "endpoint-reconciler-type", "apiserver-count"}},
    {"Kubeconfig and readiness", {"write-kubeconfig", "ready-file", "shutdown-delay-duration"}},
    {"Admission",
     {"admission-control", "admission-control-config-file", "enable-admission-plugins",
      "disable-admission-plugins", "admission-trace-history",
      "default-not-ready-toleration-seconds", "default-unreachable-toleration-seconds",
      "allow-privileged", "webhook-service-map", "max-webhook-response-bytes", "ir-"}},
    {"Aggregation",
     {"proxy-client-cert-file", "proxy-client-key-file", "enable-aggregator-routing",
      "aggregator-reject-forwarding-redirect"}},
    {"Authentication",
     {"anonymous-auth",
      "api-audiences",
      "authentication-config",
      "authentication-token-webhook-cache-ttl",
      "authentication-token-webhook-config-file",
      "authentication-token-webhook-version",
      "oidc-",
      "client-ca-file",
      "enable-bootstrap-token-auth",
      "requestheader-allowed-names",
      "requestheader-client-ca-file",
      "requestheader-extra-headers-prefix",
      "requestheader-group-headers",
      "requestheader-uid-headers",
      "requestheader-username-headers",
      "service-account-extend-token-expiration",
      "service-account-issuer",
      "service-account-jwks-uri",
      "service-account-key-file",
      "service-account-lookup",
      "service-account-max-token-expiration",
      "service-account-signing-endpoint",
      "service-account-signing-key-file",
      "token-auth-file"}},
    {"Authorization",
     {"authorization-config", "authorization-mode", "authorization-policy-file",
      "authorization-webhook-cache-authorized-ttl", "authorization-webhook-cache-unauthorized-ttl",
      "authorization-webhook-config-file", "authorization-webhook-version"}},
    {"Auditing", {"audit-", "record", "record-"}},
    {"API enablement",
     {"emulated-version", "feature-gates", "kubernetes-version", "runtime-config", "controllers",
      "service-cluster-ip-range", "service-node-port-range", "advertise-address",
      "external-hostname"}},
    {"Limits",
     {"enable-priority-and-fairness", "max-requests-inflight", "max-mutating-requests-inflight",
      "memory-limit", "min-request-timeout", "request-timeout"}},
    {"Metrics",
     {"allow-metric-labels", "allow-metric-labels-manifest", "disabled-metrics",
      "show-hidden-metrics-for-version"}},
    {"Log", {"log-format", "logging-format", "v", "profiling", "allow-core-dumps"}},
};

// What flags open to others; told in --help.
struct Risk {
  std::string_view flag;
  std::string_view text;
};
constexpr Risk kRisks[] = {
    {"admission-trace-history",
     "objects that are written, but for the contents of Secrets and ConfigMaps, are shown to those "
     "who may get the path /debug/admission"},
    {"allow-core-dumps", "core files hold private keys and Secrets"},
    {"allow-privileged", "a privileged container has the rights of its node's root"},
    {"anonymous-auth",
     "clients without credentials reach what RBAC grants to system:unauthenticated (by default "
     "/healthz, /livez, /readyz and /version)"},
    {"audit-policy-file",
     "level Request or RequestResponse for secrets, configmaps or tokenreviews writes their "
     "contents to the audit log; use level Metadata for them"},
    {"authentication-token-webhook-config-file",
     "the server of this file names any user and groups, system:masters included"},
    {"authorization-mode", "AlwaysAllow lets every client that has a name do everything"},
    {"bind-address", "0.0.0.0 and :: accept clients of every network that reaches this machine"},
    {"client-ca-file",
     "every certificate it signs for clients names a user and groups, "
     "system:masters included"},
    {"disable-admission-plugins",
     "without NamespaceLifecycle, ServiceAccount, PodSecurity or the webhook and policy plugins "
     "their rules are not enforced"},
    {"ir-password", "every user of the machine can read the command line of a process"},
    {"max-webhook-response-bytes", "0 lets a webhook fill the server's memory"},
    {"oidc-username-prefix", "-: the issuer names any user, those of Kubernetes included"},
    {"requestheader-allowed-names",
     "empty: every certificate of --requestheader-client-ca-file may name any user"},
    {"service-account-lookup",
     "false: tokens of secrets stay valid when the secret or its service account is deleted"},
    {"token-auth-file", "the tokens never expire, and can be read by all who can read the file"},
    {"webhook-service-map", "AdmissionReviews, Secrets included, are sent to these addresses"},
};

}  // namespace

std::string_view GroupOf(std::string_view flag) {
  for (const Group& group : kGroups) {
    const bool is_in =
        std::any_of(std::begin(group.flags), std::end(group.flags), [&](std::string_view name) {
          return name == flag || (name.ends_with('-') && flag.starts_with(name));
        });
    if (is_in) return group.heading;
  }
  return "";
}

std::string_view RiskOf(std::string_view flag) {
  for (const Risk& risk : kRisks) {
    if (risk.flag == flag) return risk.text;
  }
  return "";
}

}  // namespace portcullis::server
