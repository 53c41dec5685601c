// SPDX-License-Identifier: Apache-2.0

#include "server/options.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "flags/flags.h"
#include "flags/record.h"
#include "flags/setters.h"
#include "server/etcd_flags.h"
#include "server/option_setters.h"
#include "server/options_help.h"

namespace portcullis::server {

namespace {

using flags::AddRecord;
using flags::SetBool;
using flags::SetDuration;
using flags::SetInt;
using flags::SetText;

constexpr std::string_view kReconcilers[] = {"lease", "master-count", "none"};

constexpr std::string_view kLogFormats[] = {"text", "json"};
constexpr auto SetLogFormat = &flags::SetOneOf<&Options::log_format, kLogFormats>;

constexpr std::string_view kOneEtcd =
    "all objects are kept in the etcd of --etcd-servers, if given";
constexpr std::string_view kCounted = "objects are counted in the server's memory";
constexpr std::string_view kNoNodes = "there are no nodes to connect to";
constexpr std::string_view kOwnFlow = "reads never leave the store's memory";
constexpr std::string_view kOneServer = "there is one server";
constexpr std::string_view kAsReleased = "a release has the API that it was released with";
constexpr std::string_view kLineLog = "each line of the log is written at once, to standard error";

constexpr flags::Type kText = flags::Type::kString;
constexpr flags::Type kNumber = flags::Type::kInt;
constexpr flags::Type kSwitch = flags::Type::kBool;
constexpr flags::Type kTime = flags::Type::kDuration;
constexpr flags::Type kMany = flags::Type::kList;
constexpr flags::Type kPairs = flags::Type::kMap;

// A flag of the recording, set as `portcullis record` sets its own.
template <auto Set>
base::Status SetRecord(Options& options, std::string_view value) {
  return Set(options.record, value);
}
using audit::RecordingOptions;

template <auto Set>
base::Status SetHistory(Options& options, std::string_view value) {
  return Set(options.usage_history, value);
}
using admission::UsageHistoryOptions;

template <auto Delivery, auto Set>
base::Status SetAudit(Options& options, std::string_view value) {
  return Set(options.*Delivery, value);
}

template <auto Member>
base::Status SetRate(flags::OwnerOf<Member>& options, std::string_view value) {
  double rate = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), rate);
  if (error != std::errc() || end != value.data() + value.size()) {
    return base::BadRequest(
        base::StrCat("strconv.ParseFloat: parsing ", base::GoQuote(value), ": invalid syntax"));
  }
  options.*Member = rate;
  return base::OkStatus();
}

// In the order of names: name, type, default, meaning, setter, note.
constexpr flags::Flag<Options> kFlags[] = {
    {"admission-control", kMany, "",
     "Deprecated: use --enable-admission-plugins and --disable-admission-plugins",
     &SetAdmissionControl, ""},
    {"admission-control-config-file", kText, "", "File with the configuration of admission plugins",
     &SetText<&Options::admission_control_config_file>, ""},
    {"admission-trace-history", kNumber, "0",
     "Traces of the last writes to keep in memory and to show at /debug/admission",
     &SetInt<&Options::admission_trace_history>, ""},
    {"advertise-address", kText, "", "Address that the Service kubernetes points to",
     &SetAddress<&Options::advertise_address>, ""},
    {"aggregator-reject-forwarding-redirect", kSwitch, "true",
     "Answer 502 instead of a redirect of an aggregated API server",
     &SetBool<&Options::aggregator_reject_forwarding_redirect>, ""},
    {"allow-core-dumps", kSwitch, "false",
     "Allow core files, debuggers and profilers of the server's own user",
     &SetBool<&Options::allow_core_dumps>, ""},
    {"allow-metric-labels", kPairs, "",
     "Values that a label of a metric may have: metric,label='a,b'; others are \"unexpected\"",
     &AddMetricLabels, ""},
    {"allow-metric-labels-manifest", kText, "", "File with a map of the same",
     &SetText<&Options::metric_labels_manifest>, ""},
    {"allow-privileged", kSwitch, "true", "Let containers run privileged",
     &SetBool<&Options::allow_privileged>, ""},
    {"anonymous-auth", kSwitch, "true", "Accept requests without credentials as system:anonymous",
     &SetBool<&Options::anonymous_auth>, ""},
    {"api-audiences", kMany, "", "Audiences accepted in service account tokens",
     &AddRecord<&Options::api_audiences>, ""},
    {"apiserver-count", kNumber, "1",
     "Number of servers, for --endpoint-reconciler-type=master-count",
     &SetInt<&Options::apiserver_count>, ""},
    {"audit-log-batch-buffer-size", kNumber, "10000",
     "Maximum number of events that wait, in the mode batch",
     &SetAudit<&Options::audit_log, &flags::SetInt<&AuditDelivery::batch_buffer_size>>, ""},
    {"audit-log-batch-max-size", kNumber, "1", "Maximum number of events in a batch",
     &SetAudit<&Options::audit_log, &flags::SetInt<&AuditDelivery::batch_max_size>>, ""},
    {"audit-log-batch-max-wait", kTime, "30s", "How long an event waits for others",
     &SetAudit<&Options::audit_log, &flags::SetDuration<&AuditDelivery::batch_max_wait>>, ""},
    {"audit-log-batch-throttle-burst", kNumber, "15",
     "Maximum number of batches at once after a while without any",
     &SetAudit<&Options::audit_log, &flags::SetInt<&AuditDelivery::batch_throttle_burst>>, ""},
    {"audit-log-batch-throttle-enable", kSwitch, "false", "Limit the batches per second",
     &SetAudit<&Options::audit_log, &flags::SetBool<&AuditDelivery::batch_throttle_enable>>, ""},
    {"audit-log-batch-throttle-qps", kText, "10", "Batches per second in the long run",
     &SetAudit<&Options::audit_log, &SetRate<&AuditDelivery::batch_throttle_qps>>, "", '\0',
     "float32"},
    {"audit-log-compress", kSwitch, "false", "Compress rotated audit logs with gzip",
     &SetBool<&Options::audit_log_compress>, ""},
    {"audit-log-format", kText, "json", "Form of audit log lines: json or legacy",
     &SetText<&Options::audit_log_format>, ""},
    {"audit-log-maxage", kNumber, "366", "Days to keep rotated audit logs; 0: for ever",
     &SetInt<&Options::audit_log_maxage>, ""},
    {"audit-log-maxbackup", kNumber, "100", "Number of rotated audit logs to keep; 0: all",
     &SetInt<&Options::audit_log_maxbackup>, ""},
    {"audit-log-maxsize", kNumber, "100",
     "Megabytes at which the audit log is rotated; 0: never (not recommended)",
     &SetInt<&Options::audit_log_maxsize>, ""},
    {"audit-log-mode", kText, "blocking", "batch, blocking or blocking-strict",
     &SetAudit<&Options::audit_log, &flags::SetText<&AuditDelivery::mode>>, ""},
    {"audit-log-path", kText, "", "File of the audit log, - for standard output",
     &SetText<&Options::audit_log_path>, ""},
    {"audit-log-truncate-enabled", kSwitch, "false",
     "Drop what was asked and answered from events that are too large, or the event",
     &SetAudit<&Options::audit_log, &flags::SetBool<&AuditDelivery::truncate_enabled>>, ""},
    {"audit-log-truncate-max-batch-size", kNumber, "10485760",
     "Not less than --audit-log-truncate-max-event-size; events are looked at one by one",
     &SetAudit<&Options::audit_log, &flags::SetInt<&AuditDelivery::truncate_max_batch_size>>, ""},
    {"audit-log-truncate-max-event-size", kNumber, "102400", "Bytes of the largest event",
     &SetAudit<&Options::audit_log, &flags::SetInt<&AuditDelivery::truncate_max_event_size>>, ""},
    {"audit-log-version", kText, "audit.k8s.io/v1", "Version of the events: audit.k8s.io/v1",
     &SetAudit<&Options::audit_log, &flags::SetText<&AuditDelivery::version>>, ""},
    {"audit-policy-file", kText, "", "File with the audit Policy",
     &SetText<&Options::audit_policy_file>, ""},
    {"audit-webhook-batch-buffer-size", kNumber, "10000",
     "Maximum number of events that wait, in the mode batch",
     &SetAudit<&Options::audit_webhook, &flags::SetInt<&AuditDelivery::batch_buffer_size>>, ""},
    {"audit-webhook-batch-max-size", kNumber, "400", "Maximum number of events in a batch",
     &SetAudit<&Options::audit_webhook, &flags::SetInt<&AuditDelivery::batch_max_size>>, ""},
    {"audit-webhook-batch-max-wait", kTime, "30s", "How long an event waits for others",
     &SetAudit<&Options::audit_webhook, &flags::SetDuration<&AuditDelivery::batch_max_wait>>, ""},
    {"audit-webhook-batch-throttle-burst", kNumber, "15",
     "Maximum number of batches at once after a while without any",
     &SetAudit<&Options::audit_webhook, &flags::SetInt<&AuditDelivery::batch_throttle_burst>>, ""},
    {"audit-webhook-batch-throttle-enable", kSwitch, "true", "Limit the batches per second",
     &SetAudit<&Options::audit_webhook, &flags::SetBool<&AuditDelivery::batch_throttle_enable>>,
     ""},
    {"audit-webhook-batch-throttle-qps", kText, "10", "Batches per second in the long run",
     &SetAudit<&Options::audit_webhook, &SetRate<&AuditDelivery::batch_throttle_qps>>, "", '\0',
     "float32"},
    {"audit-webhook-config-file", kText, "", "kubeconfig of a server that receives audit events",
     &SetText<&Options::audit_webhook_config_file>, ""},
    {"audit-webhook-initial-backoff", kTime, "10s", "", nullptr,
     "events that were not taken go out with the next ones"},
    {"audit-webhook-mode", kText, "batch", "batch, blocking or blocking-strict",
     &SetAudit<&Options::audit_webhook, &flags::SetText<&AuditDelivery::mode>>, ""},
    {"audit-webhook-truncate-enabled", kSwitch, "false",
     "Drop what was asked and answered from events that are too large, or the event",
     &SetAudit<&Options::audit_webhook, &flags::SetBool<&AuditDelivery::truncate_enabled>>, ""},
    {"audit-webhook-truncate-max-batch-size", kNumber, "10485760",
     "Not less than --audit-webhook-truncate-max-event-size; events are looked at one by one",
     &SetAudit<&Options::audit_webhook, &flags::SetInt<&AuditDelivery::truncate_max_batch_size>>,
     ""},
    {"audit-webhook-truncate-max-event-size", kNumber, "102400", "Bytes of the largest event",
     &SetAudit<&Options::audit_webhook, &flags::SetInt<&AuditDelivery::truncate_max_event_size>>,
     ""},
    {"audit-webhook-version", kText, "audit.k8s.io/v1", "Version of the events: audit.k8s.io/v1",
     &SetAudit<&Options::audit_webhook, &flags::SetText<&AuditDelivery::version>>, ""},
    {"authentication-config", kText, "",
     "File with the AuthenticationConfiguration: issuers of tokens, instead of the flags --oidc-*, "
     "and anonymous requests, instead of --anonymous-auth",
     &SetText<&Options::authentication_config>, ""},
    {"authentication-token-webhook-cache-ttl", kTime, "2m0s",
     "How long to cache responses from the token webhook",
     &SetDuration<&Options::authentication_token_webhook_cache_ttl>, ""},
    {"authentication-token-webhook-config-file", kText, "",
     "kubeconfig of a server that is asked whose a bearer token is",
     &SetText<&Options::authentication_token_webhook_config_file>, ""},
    {"authentication-token-webhook-version", kText, "v1beta1",
     "Version of the TokenReviews sent to it: v1beta1 or v1",
     &SetText<&Options::authentication_token_webhook_version>, ""},
    {"authorization-config", kText, "",
     "File with the AuthorizationConfiguration; instead of the other flags of authorization",
     &SetText<&Options::authorization_config>, ""},
    {"authorization-mode", kMany, "RBAC",
     "Ordered list of AlwaysAllow, AlwaysDeny, ABAC, RBAC, Node, Webhook",
     &AddRecord<&Options::authorization_modes>, "", '\0', "",
     &flags::ClearList<&Options::authorization_modes>},
    {"authorization-policy-file", kText, "",
     "File with a policy in JSON on each line, for the mode ABAC",
     &SetText<&Options::authorization_policy_file>, ""},
    {"authorization-webhook-cache-authorized-ttl", kTime, "5m0s",
     "How long to cache \"authorized\" responses from the webhook",
     &SetDuration<&Options::authorization_webhook_cache_authorized_ttl>, ""},
    {"authorization-webhook-cache-unauthorized-ttl", kTime, "30s",
     "How long to cache \"unauthorized\" responses from the webhook",
     &SetDuration<&Options::authorization_webhook_cache_unauthorized_ttl>, ""},
    {"authorization-webhook-config-file", kText, "",
     "kubeconfig of the server that the mode Webhook calls",
     &SetText<&Options::authorization_webhook_config_file>, ""},
    {"authorization-webhook-version", kText, "v1beta1",
     "Version of the SubjectAccessReviews sent to it: v1beta1 or v1",
     &SetText<&Options::authorization_webhook_version>, ""},
    {"bind-address", kText, "127.0.0.1",
     "Address to listen on, if not given also ::1; 0.0.0.0 or :: for all (kube-apiserver's "
     "default)",
     &SetAddress<&Options::bind_address>, ""},
    {"cert-dir", kText, "", "Directory of generated certificates; default: --data-dir",
     &SetText<&Options::cert_dir>, ""},
    {"client-ca-file", kText, "", "CA bundle used to verify client certificates",
     &SetText<&Options::client_ca_file>, ""},
    {"contention-profiling", kSwitch, "false", "", nullptr, "there is no profiler"},
    {"controllers", kMany, "*",
     "In-process controllers to run: * for all, name for one, -name or -* for none; workloads for "
     "those that make pods of Deployments, Jobs and others",
     &AddRecord<&Options::controllers>, "", '\0', "", &flags::ClearList<&Options::controllers>},
    {"coordinated-leadership-lease-duration", kTime, "", "", nullptr, kOneServer},
    {"coordinated-leadership-renew-deadline", kTime, "", "", nullptr, kOneServer},
    {"coordinated-leadership-retry-period", kTime, "", "", nullptr, kOneServer},
    {"cors-allowed-origins", kMany, "",
     "Origins whose scripts may read answers (CORS): regular expressions with ^ or // at the "
     "beginning of the host and $ or : at its end",
     &AddRecord<&Options::cors_allowed_origins>, ""},
    {"data-dir", kText, "portcullis-data", "Directory of the store, certificates and kubeconfig",
     &SetText<&Options::data_dir>, ""},
    {"debug-socket-path", kText, "", "", nullptr, "there is no profiler"},
    {"default-not-ready-toleration-seconds", kNumber, "300",
     "Seconds pods tolerate a node that is not ready",
     &SetInt<&Options::default_not_ready_toleration_seconds>, ""},
    {"default-unreachable-toleration-seconds", kNumber, "300",
     "Seconds pods tolerate a node that is unreachable",
     &SetInt<&Options::default_unreachable_toleration_seconds>, ""},
    {"default-watch-cache-size", kNumber, "100", "", nullptr, kOwnFlow},
    {"delete-collection-workers", kNumber, "1", "", nullptr,
     "the objects of a collection are deleted side by side, and committed together"},
    {"disable-admission-plugins", kMany, "",
     "Admission plugins to disable although they are on by default",
     &AddRecord<&Options::disable_admission_plugins>, ""},
    {"disable-http2-serving", kSwitch, "false", "Speak HTTP/1.1 only",
     &SetBool<&Options::disable_http2_serving>, ""},
    {"disabled-metrics", kMany, "", "Metrics that are not served",
     &AddRecord<&Options::disabled_metrics>, ""},
    {"egress-selector-config-file", kText, "", "", nullptr, kNoNodes},
    {"emulated-version", kMany, "kube=1.36",
     "The same as --kubernetes-version, by kube-apiserver's name", &SetEmulatedVersion, ""},
    {"emulation-forward-compatible", kSwitch, "false", "", nullptr, kAsReleased},
    {"enable-admission-plugins", kMany, "", "Admission plugins to enable besides the default ones",
     &AddRecord<&Options::enable_admission_plugins>, ""},
    {"enable-aggregator-routing", kSwitch, "false",
     "Call Services of webhooks and aggregated API servers at their endpoints, not at cluster IPs",
     &SetBool<&Options::enable_aggregator_routing>, ""},
    {"enable-bootstrap-token-auth", kSwitch, "false",
     "Accept the tokens of secrets of type bootstrap.kubernetes.io/token in kube-system",
     &SetBool<&Options::bootstrap_tokens>, ""},
    {"enable-garbage-collector", kSwitch, "true", "", nullptr, "see --controllers"},
    {"enable-logs-handler", kSwitch, "", "", nullptr, "logs of nodes are not served"},
    {"enable-priority-and-fairness", kSwitch, "true",
     "Let requests wait for their turn by FlowSchemas and priority levels; otherwise refuse what "
     "is "
     "beyond the limits",
     &SetBool<&Options::enable_priority_and_fairness>, ""},
    {"encryption-provider-config", kText, "",
     "File with the EncryptionConfiguration: how objects are encrypted before they are stored",
     &SetText<&Options::encryption_provider_config>, ""},
    {"encryption-provider-config-automatic-reload", kSwitch, "false",
     "Follow changes of the file of --encryption-provider-config",
     &SetBool<&Options::encryption_provider_config_automatic_reload>, ""},
    {"endpoint-reconciler-type", kText, "lease",
     "What lists the servers in the endpoints of the Service kubernetes: lease (those that live, "
     "with --etcd-servers), master-count (as many as --apiserver-count), or none",
     &flags::SetOneOf<&Options::endpoint_reconciler_type, kReconcilers>, ""},
    EtcdFlag<Options>("etcd-cafile"),
    EtcdFlag<Options>("etcd-certfile"),
    {"etcd-compaction-interval", kTime, "5m0s",
     "How often what has been replaced for so long is dropped; 0s: etcd is left to others",
     &SetDuration<&Options::etcd_compaction_interval>, ""},
    {"etcd-count-metric-poll-period", kTime, "", "", nullptr, kCounted},
    {"etcd-db-metric-poll-interval", kTime, "", "", nullptr, kCounted},
    {"etcd-healthcheck-timeout", kTime, "2s",
     "How long the check etcd of /healthz and /livez waits",
     &SetDuration<&Options::etcd_healthcheck_timeout>, ""},
    EtcdFlag<Options>("etcd-keyfile"),
    EtcdFlag<Options>("etcd-prefix"),
    {"etcd-readycheck-timeout", kTime, "2s", "How long the checks of /readyz wait for etcd",
     &SetDuration<&Options::etcd_readycheck_timeout>, ""},
    EtcdFlag<Options>("etcd-servers"),
    {"etcd-servers-overrides", kMany, "",
     "Resources in an etcd of their own, group/resource#server;server: refused unless these are "
     "--etcd-servers, where all objects are",
     &AddRecord<&Options::etcd_servers_overrides>, ""},
    {"event-ttl", kTime, "1h0m0s",
     "Time that Events are kept after they were last written; 0s: until they are deleted",
     &SetDuration<&Options::event_ttl>, ""},
    {"external-hostname", kText, "", "Host name for generated certificates and URLs",
     &SetText<&Options::external_hostname>, ""},
    {"feature-gates", kPairs, "", "Feature gates to set: Name=true,Other=false", &SetFeatureGates,
     ""},
    {"goaway-chance", kText, "0",
     "Part of the requests of HTTP/2 whose answer asks the client for another connection (GOAWAY), "
     "so that a load balancer may choose another server: 0 to 0.02",
     &SetRate<&Options::goaway_chance>, "", '\0', "float64"},
    {"http2-max-streams-per-connection", kNumber, "250", "Streams of one HTTP/2 connection",
     &SetInt<&Options::http2_max_streams_per_connection>, ""},
    {"ir-data-source", kText, "influxdb", "History of usage that InitialResources reads: influxdb",
     &SetHistory<&flags::SetText<&UsageHistoryOptions::source>>, ""},
    {"ir-dbname", kText, "k8s", "Database of --ir-influxdb-host",
     &SetHistory<&flags::SetText<&UsageHistoryOptions::database>>, ""},
    {"ir-influxdb-host", kText, "",
     "InfluxDB 1.x that Heapster writes to, host:port or URL; without it InitialResources changes "
     "nothing",
     &SetHistory<&flags::SetText<&UsageHistoryOptions::host>>, ""},
    {"ir-namespace-only", kSwitch, "false",
     "Let InitialResources look at containers of the pod's namespace alone",
     &SetHistory<&flags::SetBool<&UsageHistoryOptions::namespace_only>>, ""},
    {"ir-password", kText, "root", "Password of --ir-user",
     &SetHistory<&flags::SetText<&UsageHistoryOptions::password>>, ""},
    {"ir-percentile", kNumber, "90", "Percentile of the samples that InitialResources requests",
     &SetHistory<&flags::SetCount<&UsageHistoryOptions::percentile>>, ""},
    {"ir-user", kText, "root", "User of --ir-influxdb-host",
     &SetHistory<&flags::SetText<&UsageHistoryOptions::user>>, ""},
    {"kubelet-certificate-authority", kText, "", "", nullptr, kNoNodes},
    {"kubelet-client-certificate", kText, "", "", nullptr, kNoNodes},
    {"kubelet-client-key", kText, "", "", nullptr, kNoNodes},
    {"kubelet-preferred-address-types", kMany, "", "", nullptr, kNoNodes},
    {"kubelet-timeout", kTime, "5s", "", nullptr, kNoNodes},
    {"kubernetes-service-node-port", kNumber, "", "", nullptr,
     "the Service kubernetes has no node port"},
    {"kubernetes-version", kText, "1.36",
     "Release whose admission plugins, feature gates and rules apply: 1.7 to 1.36",
     &SetText<&Options::kubernetes_version>, ""},
    {"lease-reuse-duration-seconds", kNumber, "60",
     "How long Events that are written share a lease of etcd",
     &SetInt<&Options::lease_reuse_duration_seconds>, ""},
    {"livez-grace-period", kTime, "0s", "", nullptr, "the server is live when it listens"},
    {"log-flush-frequency", kTime, "", "", nullptr, kLineLog},
    {"log-format", kText, "text", "Form of the log: text or json", SetLogFormat, ""},
    {"log-json-info-buffer-size", kText, "", "", nullptr, kLineLog},
    {"log-json-split-stream", kSwitch, "", "", nullptr, kLineLog},
    {"log-text-info-buffer-size", kText, "", "", nullptr, kLineLog},
    {"log-text-split-stream", kSwitch, "", "", nullptr, kLineLog},
    {"logging-format", kText, "text", "The same as --log-format, by kube-apiserver's name",
     SetLogFormat, ""},
    {"max-connection-bytes-per-sec", kNumber, "0", "", nullptr, "connections are not throttled"},
    {"max-mutating-requests-inflight", kNumber, "200",
     "Writes under way at one time; with --enable-priority-and-fairness, seats beside those of "
     "--max-requests-inflight",
     &SetInt<&Options::max_mutating_requests_inflight>, ""},
    {"max-requests-inflight", kNumber, "400",
     "Reads under way at one time; with --enable-priority-and-fairness, seats beside those of "
     "--max-mutating-requests-inflight",
     &SetInt<&Options::max_requests_inflight>, ""},
    {"max-webhook-response-bytes", kNumber, "3145728",
     "Largest answer of a webhook (admission, conversion, authorization, image policy, audit), as "
     "it arrives and decompressed; 0: no limit",
     &SetInt<&Options::max_webhook_response_bytes>, ""},
    {"memory-limit", kText, "",
     "Memory the server keeps below, as 512Mi; 80 % of what there is if empty",
     &SetText<&Options::memory_limit>, ""},
    {"min-compatibility-version", kMany, "", "", nullptr, kAsReleased},
    {"min-request-timeout", kNumber, "1800", "Minimum duration of a watch in seconds",
     &SetInt<&Options::min_request_timeout>, ""},
    {"oidc-ca-file", kText, "",
     "CA bundle used to verify the certificate of --oidc-issuer-url; default: the system's",
     &SetText<&Options::oidc_ca_file>, ""},
    {"oidc-client-id", kText, "", "Audience that tokens of --oidc-issuer-url have to have",
     &SetText<&Options::oidc_client_id>, ""},
    {"oidc-groups-claim", kText, "", "Claim with the user's groups: a text or a list",
     &SetText<&Options::oidc_groups_claim>, ""},
    {"oidc-groups-prefix", kText, "", "Prefix of all groups of --oidc-groups-claim",
     &SetText<&Options::oidc_groups_prefix>, ""},
    {"oidc-issuer-url", kText, "",
     "HTTPS URL of an OpenID Connect issuer whose tokens are accepted",
     &SetText<&Options::oidc_issuer_url>, ""},
    {"oidc-required-claim", kPairs, "",
     "Claim that tokens have to have, with its value; may be repeated", &AddRequiredClaim, ""},
    {"oidc-signing-algs", kMany, "RS256",
     "Algorithms that tokens may be signed with: RS256, RS384, RS512, ES256, ES384, ES512, PS256, "
     "PS384, PS512",
     &AddRecord<&Options::oidc_signing_algs>, "", '\0', "",
     &flags::ClearList<&Options::oidc_signing_algs>},
    {"oidc-username-claim", kText, "sub", "Claim with the user's name",
     &SetText<&Options::oidc_username_claim>, ""},
    {"oidc-username-prefix", kText, "",
     "Prefix of user names; default: the issuer and #, but nothing for the claim email; -: nothing",
     &SetText<&Options::oidc_username_prefix>, ""},
    {"peer-advertise-ip", kText, "", "", nullptr, kOneServer},
    {"peer-advertise-port", kText, "", "", nullptr, kOneServer},
    {"peer-ca-file", kText, "", "", nullptr, kOneServer},
    {"permit-address-sharing", kSwitch, "false", "", nullptr,
     "SO_REUSEADDR is set for the port in any case"},
    {"permit-port-sharing", kSwitch, "false", "", nullptr, "one server listens on a port"},
    {"profiling", kSwitch, "true",
     "Serve /debug/flags/v, which changes --v while the server runs; there is no profiler",
     &SetBool<&Options::profiling>, ""},
    {"proxy-client-cert-file", kText, "",
     "Client certificate shown to aggregated API servers and external admission hooks",
     &SetText<&Options::proxy_client_cert_file>, ""},
    {"proxy-client-key-file", kText, "", "Key of --proxy-client-cert-file",
     &SetText<&Options::proxy_client_key_file>, ""},
    {"ready-file", kText, "",
     "File that is written when the server is ready, with its URL, and removed when it stops",
     &SetText<&Options::ready_file>, ""},
    {"record", kText, "",
     "Directory of a recording: writes that `portcullis replay` carries out again, without "
     "secrets.\n"
     "Without --audit-policy-file all of them, else those that it records with their objects.",
     &SetRecord<&flags::SetText<&RecordingOptions::folder>>, "", '\0', "DIR"},
    {"record-per-shape", kNumber, "10",
     "Record so many requests of the same verb, resource, groups, answer and fields; 0: all",
     &SetRecord<&flags::SetCount<&RecordingOptions::per_shape>>, ""},
    {"record-redact", kText, "",
     "Field that is not recorded, behind RESOURCE: of these only; * is any element. May be "
     "repeated.",
     &SetRecord<&flags::AddText<&RecordingOptions::redact>>, "", '\0', "[RESOURCE:]PATH"},
    {"record-sample", kNumber, "1", "Record one of so many",
     &SetRecord<&flags::SetCount<&RecordingOptions::sample>>, ""},
    {"request-timeout", kTime, "1m0s", "Timeout of a request",
     &SetDuration<&Options::request_timeout>, ""},
    {"requestheader-allowed-names", kMany, "",
     "Common names of client certificates that are accepted from front proxies",
     &AddRecord<&Options::requestheader_allowed_names>, ""},
    {"requestheader-client-ca-file", kText, "",
     "CA bundle used to verify the client certificates of front proxies",
     &SetText<&Options::requestheader_client_ca_file>, ""},
    {"requestheader-extra-headers-prefix", kMany, "", "Prefix of headers with extra user data",
     &AddRecord<&Options::requestheader_extra_headers_prefix>, ""},
    {"requestheader-group-headers", kMany, "", "Headers with groups",
     &AddRecord<&Options::requestheader_group_headers>, ""},
    {"requestheader-uid-headers", kMany, "", "Headers with the user's uid",
     &AddRecord<&Options::requestheader_uid_headers>, ""},
    {"requestheader-username-headers", kMany, "", "Headers with the user name",
     &AddRecord<&Options::requestheader_username_headers>, ""},
    {"runtime-config", kPairs, "", "Versions to serve: api/all, api/beta, group/version=true|false",
     &SetRuntimeConfig, ""},
    {"runtime-config-emulation-forward-compatible", kSwitch, "false", "", nullptr, kAsReleased},
    {"secure-port", kNumber, "6443", "Port to listen on; 0 takes a free one",
     &SetInt<&Options::secure_port>, ""},
    {"send-retry-after-while-not-ready-once", kSwitch, "", "", nullptr, kOneServer},
    {"service-account-extend-token-expiration", kSwitch, "true", "Extend tokens of pods to a year",
     &SetBool<&Options::service_account_extend_token_expiration>, ""},
    {"service-account-issuer", kText, "https://kubernetes.default.svc.cluster.local",
     "Issuer of service account tokens", &SetIssuer, ""},
    {"service-account-jwks-uri", kText, "",
     "HTTPS URL of the keys that the issuer's discovery document names; default: this server's",
     &SetText<&Options::service_account_jwks_uri>, "", '\0', "URL"},
    {"service-account-key-file", kMany, "", "Keys that service account tokens are verified with",
     &flags::AddText<&Options::service_account_key_files>, ""},
    {"service-account-lookup", kSwitch, "true",
     "Check that the secret of a legacy service account token exists",
     &SetBool<&Options::service_account_lookup>, ""},
    {"service-account-max-token-expiration", kTime, "0s",
     "Maximum lifetime of a service account token",
     &SetDuration<&Options::service_account_max_token_expiration>, ""},
    {"service-account-signing-endpoint", kText, "",
     "Socket of an external signer of tokens, which is not supported: refused",
     &SetText<&Options::service_account_signing_endpoint>, ""},
    {"service-account-signing-key-file", kText, "",
     "Key that service account tokens are signed with",
     &SetText<&Options::service_account_signing_key_file>, ""},
    {"service-cluster-ip-range", kText, "10.0.0.0/24",
     "Addresses of Services, one network or two of different families; if given, webhooks are "
     "called "
     "at them",
     &SetText<&Options::service_cluster_ip_range>, ""},
    {"service-node-port-range", kText, "30000-32767", "Node ports of Services",
     &SetText<&Options::service_node_port_range>, ""},
    {"show-hidden-metrics-for-version", kText, "", "1.35: metrics deprecated for long, too",
     &SetText<&Options::show_hidden_metrics_for_version>, ""},
    {"shutdown-delay-duration", kTime, "0s", "How long to keep serving after a stop signal",
     &SetDuration<&Options::shutdown_delay>, ""},
    {"shutdown-send-retry-after", kSwitch, "false", "", nullptr, kOneServer},
    {"shutdown-watch-termination-grace-period", kTime, "", "", nullptr,
     "watches end with the server"},
    {"skip-damaged-objects", kSwitch, "false",
     "Start without stored objects whose checksum is wrong; they are kept aside in the database",
     &SetBool<&Options::skip_damaged_objects>, ""},
    {"storage-backend", kText, "", "", nullptr, kOneEtcd},
    {"storage-initialization-timeout", kTime, "", "", nullptr,
     "--request-timeout is how long the start waits for etcd"},
    {"storage-media-type", kText, "", "", nullptr, "objects are stored as JSON"},
    {"store", kText, "sqlite", "Where objects are kept without --etcd-servers: sqlite or memory",
     &SetStore, ""},
    {"strict-transport-security-directives", kMany, "",
     "Directives of the header Strict-Transport-Security: max-age=expireTime, includeSubDomains, "
     "preload",
     &AddRecord<&Options::strict_transport_security_directives>, ""},
    {"tls-cert-file", kText, "", "Serving certificate; default: made at first start",
     &SetText<&Options::tls_cert_file>, ""},
    {"tls-cipher-suites", kMany, "", "Cipher suites of TLS 1.2, by their IANA names",
     &AddRecord<&Options::tls_cipher_suites>, ""},
    {"tls-curve-preferences", kMany, "",
     "Numbers of the curves that keys are exchanged in: 23 (P-256), 24 (P-384), 25 (P-521), 29 "
     "(X25519)",
     &AddCurves, ""},
    {"tls-min-version", kText, "VersionTLS12",
     "VersionTLS12 or VersionTLS13; VersionTLS10 and VersionTLS11 mean VersionTLS12",
     &SetText<&Options::tls_min_version>, ""},
    {"tls-private-key-file", kText, "", "Key of --tls-cert-file",
     &SetText<&Options::tls_private_key_file>, ""},
    {"tls-sni-cert-key", kText, "",
     "A further certificate, by name: certificate,key or certificate,key:name,name; may be "
     "repeated",
     &AddSniCertificate, ""},
    {"token-auth-file", kText, "", "CSV file of bearer tokens: token,user,uid,\"groups\"",
     &SetText<&Options::token_auth_file>, ""},
    {"tracing-config-file", kText, "", "", nullptr,
     "no spans are exported; see --admission-trace-history"},
    {"v", kNumber, "0", "Verbosity of the log", &SetInt<&Options::verbosity>, "", 'v'},
    {"vmodule", kPairs, "", "", nullptr, "the log has one verbosity, --v"},
    {"watch-cache", kSwitch, "true", "", nullptr, kOwnFlow},
    {"watch-cache-sizes", kMany, "", "", nullptr, kOwnFlow},
    {"webhook-service-map", kPairs, "",
     "Where to reach the Services of webhooks: namespace/name:port=host:port", &SetServiceMap, ""},
    {"write-kubeconfig", kText, "",
     "File of the administrator's kubeconfig; default: in --data-dir",
     &SetText<&Options::write_kubeconfig>, ""},
};

}  // namespace

std::vector<flags::Info> Flags() {
  std::vector<flags::Info> infos = flags::InfosOf<Options>(kFlags);
  for (flags::Info& info : infos) {
    if (info.note.empty()) info.group = GroupOf(info.name);
    info.risk = RiskOf(info.name);
  }
  return infos;
}

bool AllowsEverything(const Options& options) {
  const auto& modes = options.authorization_modes;
  return options.authorization_config.empty() &&
         std::find(modes.begin(), modes.end(), "AlwaysAllow") != modes.end();
}

base::Result<Options> ParseOptions(std::span<const std::string> arguments, Options defaults,
                                   std::string_view command) {
  Options options = std::move(defaults);
  const flags::Line line = TRY(flags::Parse<Options>(kFlags, arguments, {command}, options));
  options.help = line.help;
  options.flag_values = flags::ValuesOf(flags::InfosOf<Options>(kFlags), line);
  if (line.given.contains("ir-password")) options.flag_values["ir-password"] = "<masked>";
  options.also_bind_ipv6_loopback = !line.given.contains("bind-address");
  options.service_cluster_ip_range_given = line.given.contains("service-cluster-ip-range");
  options.store_given = line.given.contains("store");
  options.anonymous_auth_given = line.given.contains("anonymous-auth");
  if (!options.etcd_servers.empty()) options.store = "etcd";
  for (const flags::Flag<Options>& flag : kFlags) {
    if (!line.given.contains(flag.name)) continue;
    if (!flag.note.empty()) {
      options.notes.push_back(
          base::StrCat("--", flag.name, " is accepted and has no effect: ", flag.note));
    }
    if (flag.name == "authorization-mode" || flag.name.starts_with("authorization-webhook-")) {
      options.authorization_flags_given = true;
    }
    if (flag.name.starts_with("oidc-")) options.oidc_flags_given = true;
  }
  if (options.anonymous_auth && AllowsEverything(options)) {
    options.anonymous_auth = false;
    options.notes.emplace_back(
        "AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to "
        "false. You should use a different authorizer");
  }
  return options;
}

}  // namespace portcullis::server
