// SPDX-License-Identifier: Apache-2.0

// Every flag of `portcullis serve`: one row per flag, with its default and meaning, and the struct
// the rows fill. Names, forms and texts of errors are kube-apiserver's (a pflag command line);
// --data-dir, --admission-trace-history, --store, --controllers, --memory-limit,
// --webhook-service-map, --write-kubeconfig and --ready-file are ours.
//
// Flags of kube-apiserver that make no sense here are rows too: accepted, with a note that goes to
// the log. Options is a value type.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admission/usage_history.h"
#include "audit/recording.h"
#include "base/status.h"
#include "flags/flags.h"
#include "release/release.h"

// How audit events reach a backend: --audit-log-…, --audit-webhook-….
struct AuditDelivery {
  std::string mode;
  int batch_buffer_size = 10000;
  int batch_max_size = 0;
  std::chrono::nanoseconds batch_max_wait = std::chrono::seconds(30);
  bool batch_throttle_enable = false;
  double batch_throttle_qps = 10;
  int batch_throttle_burst = 15;
  bool truncate_enabled = false;
  std::int64_t truncate_max_event_size = 100 << 10;
  std::int64_t truncate_max_batch_size = 10 << 20;
  std::string version = "audit.k8s.io/v1";
};

namespace portcullis::server {

struct Options {
  // Where and how to listen.
  std::string bind_address = "127.0.0.1";  // kube-apiserver: 0.0.0.0
  bool also_bind_ipv6_loopback = false;    // --bind-address was not given
  int secure_port = 6443;                  // 0 takes any free port
  std::string advertise_address;
  std::string endpoint_reconciler_type = "lease";  // lease (with etcd) | master-count | none
  int apiserver_count = 1;                         // of servers, for master-count
  std::string external_hostname;
  std::string tls_cert_file;
  std::string tls_private_key_file;
  std::string cert_dir;
  std::vector<std::string> tls_sni_cert_keys;
  std::string tls_min_version = "VersionTLS12";
  std::vector<std::string> tls_cipher_suites;
  std::vector<int> tls_curve_preferences;  // CurveID values of Go's crypto/tls
  int http2_max_streams_per_connection = 250;
  bool disable_http2_serving = false;
  std::vector<std::string> strict_transport_security_directives;
  std::vector<std::string> cors_allowed_origins;  // regular expressions
  double goaway_chance = 0;
  std::chrono::nanoseconds shutdown_delay{0};

  // Where things are kept.
  // "": nothing is kept but in memory, and no folder made; then the store is "memory".
  std::string data_dir = "portcullis-data";
  std::string store = "sqlite";  // sqlite | memory | etcd, which --etcd-servers chooses
  bool store_given = false;
  bool skip_damaged_objects = false;
  std::string encryption_provider_config;  // "": objects are stored in plain
  bool encryption_provider_config_automatic_reload = false;
  std::string write_kubeconfig;  // default: <data dir>/admin.kubeconfig, if any
  std::string ready_file;        // holds the URL while the server is ready

  // etcd.
  std::vector<std::string> etcd_servers;
  std::vector<std::string> etcd_servers_overrides;  // "group/resource#server;server"
  std::string etcd_prefix = "/registry";
  std::string etcd_cafile;
  std::string etcd_certfile;
  std::string etcd_keyfile;
  std::chrono::nanoseconds etcd_compaction_interval = std::chrono::minutes(5);
  std::chrono::nanoseconds etcd_healthcheck_timeout = std::chrono::seconds(2);
  std::chrono::nanoseconds etcd_readycheck_timeout = std::chrono::seconds(2);
  std::int64_t lease_reuse_duration_seconds = 60;

  // Limits.
  bool enable_priority_and_fairness = true;
  int max_requests_inflight = 400;
  int max_mutating_requests_inflight = 200;
  std::string memory_limit;  // "": see ReadMemoryLimit
  std::chrono::nanoseconds request_timeout = std::chrono::minutes(1);
  // How long Events are kept after they were last written; less than a second: for ever.
  std::chrono::nanoseconds event_ttl = std::chrono::hours(1);
  int min_request_timeout = 1800;  // seconds a watch lasts at least

  // Who may come in.
  std::string client_ca_file;
  std::string token_auth_file;
  bool anonymous_auth = true;
  bool anonymous_auth_given = false;
  std::string authentication_config;
  std::string authentication_token_webhook_config_file;
  std::string authentication_token_webhook_version = "v1beta1";
  std::chrono::nanoseconds authentication_token_webhook_cache_ttl = std::chrono::minutes(2);
  bool oidc_flags_given = false;  // any of those below
  std::string oidc_issuer_url;
  std::string oidc_client_id;
  std::string oidc_ca_file;
  std::string oidc_username_claim = "sub";
  std::string oidc_username_prefix;
  std::string oidc_groups_claim;
  std::string oidc_groups_prefix;
  std::vector<std::string> oidc_signing_algs = {"RS256"};
  std::map<std::string, std::string> oidc_required_claims;
  std::string service_account_issuer = "https://kubernetes.default.svc.cluster.local";
  std::vector<std::string> service_account_issuers;
  std::vector<std::string> service_account_key_files;
  std::string service_account_signing_key_file;
  std::string service_account_jwks_uri;  // "": /openid/v1/jwks of this server
  std::string service_account_signing_endpoint;
  std::vector<std::string> api_audiences;
  bool service_account_lookup = true;
  bool bootstrap_tokens = false;
  bool service_account_extend_token_expiration = true;
  std::chrono::nanoseconds service_account_max_token_expiration{0};
  std::vector<std::string> authorization_modes = {"RBAC"};
  bool authorization_flags_given = false;  // any of those below, or the modes
  std::string authorization_config;
  std::string authorization_policy_file;
  std::string authorization_webhook_config_file;
  std::string authorization_webhook_version = "v1beta1";
  std::chrono::nanoseconds authorization_webhook_cache_authorized_ttl = std::chrono::minutes(5);
  std::chrono::nanoseconds authorization_webhook_cache_unauthorized_ttl = std::chrono::seconds(30);
  std::string requestheader_client_ca_file;
  std::vector<std::string> requestheader_username_headers;
  std::vector<std::string> requestheader_uid_headers;
  std::vector<std::string> requestheader_group_headers;
  std::vector<std::string> requestheader_extra_headers_prefix;
  std::vector<std::string> requestheader_allowed_names;

  // Admission.
  int admission_trace_history = 0;  // traces kept; see AdmissionTraces
  std::vector<std::string> enable_admission_plugins;
  std::vector<std::string> disable_admission_plugins;
  std::vector<std::string> admission_control;  // the ordered list of old
  bool admission_control_given = false;
  std::string admission_control_config_file;
  std::string proxy_client_cert_file;
  std::string proxy_client_key_file;
  bool enable_aggregator_routing = false;
  bool aggregator_reject_forwarding_redirect = true;
  admission::UsageHistoryOptions usage_history;  // --ir-…
  std::string kubernetes_version = "1.36";
  std::int64_t default_not_ready_toleration_seconds = 300;
  std::int64_t default_unreachable_toleration_seconds = 300;
  bool allow_privileged = true;
  // "namespace/name:port" -> "host:port": how webhooks reach Services on a machine without a
  // cluster network.
  std::map<std::string, std::string> webhook_service_map;

  // Of an answer of a webhook, as it arrives and inflated; 0: no limit.
  std::int64_t max_webhook_response_bytes = 3 << 20;

  // What is served.
  release::GateSettings feature_gates;
  std::map<std::string, std::string> runtime_config;
  std::string service_cluster_ip_range = "10.0.0.0/24";
  bool service_cluster_ip_range_given = false;  // those addresses exist: webhooks are called there
  std::string service_node_port_range = "30000-32767";
  std::vector<std::string> controllers = {"*"};

  // Audit.
  std::string audit_policy_file;
  std::string audit_log_path;
  std::string audit_log_format = "json";
  int audit_log_maxage = 366;
  int audit_log_maxbackup = 100;
  int audit_log_maxsize = 100;
  bool audit_log_compress = false;
  AuditDelivery audit_log = {.mode = "blocking", .batch_max_size = 1};
  audit::RecordingOptions record;
  std::string audit_webhook_config_file;
  AuditDelivery audit_webhook = {
      .mode = "batch", .batch_max_size = 400, .batch_throttle_enable = true};

  // HTTPS_PROXY and NO_PROXY of the environment: how webhooks beyond this machine are reached.
  std::string https_proxy;
  std::string no_proxy;

  // Of the process: core files and debuggers are allowed.
  bool allow_core_dumps = false;

  // The log.
  std::string log_format = "text";
  int verbosity = 0;
  bool profiling = true;  // /debug/flags is served

  // Which metrics are shown, and which values their labels may have.
  std::vector<std::string> disabled_metrics;
  std::map<std::string, std::string> metric_labels;  // values by "name,label"
  std::string metric_labels_manifest;                // a file with the same
  std::string show_hidden_metrics_for_version;

  // What each flag is set to, as /flagz shows it.
  std::map<std::string, std::string> flag_values;
  // Notes about flags that were accepted and ignored, for the log.
  std::vector<std::string> notes;
  bool help = false;
};

// The rows of the flag table, by name, with their groups and risks.
std::vector<flags::Info> Flags();

// Whether an authorizer allows whatever a client asks for. kube-apiserver lets no client be anonymous then, nor does
// ParseOptions().
bool AllowsEverything(const Options& options);

// Reads the command line of `command` (flags/flags.h); what it does not say is as in `defaults`.
base::Result<Options> ParseOptions(std::span<const std::string> arguments, Options defaults = {},
                                   std::string_view command = "portcullis serve");

// What the flags contradict in, and files that are named but cannot be read: one message per
// problem.
std::vector<std::string> CheckOptions(const Options& options);

// What the given flags open to others, a sentence each, for the log: AlwaysAllow, keys that other
// users can read, no client authentication, …
std::vector<std::string> OpenDoors(const Options& options);

}  // namespace portcullis::server
