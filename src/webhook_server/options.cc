// SPDX-License-Identifier: Apache-2.0

#include "webhook_server/options.h"

#include "base/strings.h"
#include "flags/setters.h"
#include "golang/strconv.h"

namespace portcullis::webhook_server {
namespace {

constexpr std::string_view kPolicies[] = {"Fail", "Ignore"};
constexpr std::string_view kFormats[] = {"text", "json"};

base::Status AddGates(Options& options, std::string_view value) {
  for (const std::string_view pair : base::Split(value, ',')) {
    if (pair.empty()) continue;
    const auto cut = base::Cut(pair, "=");
    if (!cut) return base::BadRequest(base::StrCat("missing bool value for ", pair));
    options.feature_gates[std::string(base::Trim(cut->first))] =
        TRY(golang::ParseBool(base::Trim(cut->second)));
  }
  return base::OkStatus();
}

base::Status SetTimeout(Options& options, std::string_view value) {
  const auto seconds = base::ParseInt(value);
  if (!seconds || *seconds < 1 || *seconds > 30) return base::BadRequest("must be 1 to 30");
  options.timeout_seconds = static_cast<int>(*seconds);
  return base::OkStatus();
}

constexpr flags::Type kText = flags::Type::kString;
constexpr flags::Type kMany = flags::Type::kList;
constexpr flags::Type kNumber = flags::Type::kInt;

// Name, type, default, meaning, setter, note, shorthand, value.
constexpr flags::Flag<Options> kFlags[] = {
    {"enable-admission-plugins", kMany, "",
     "Admission plugins that judge; there are no default ones",
     &flags::AddToList<&Options::enable_admission_plugins>, ""},
    {"disable-admission-plugins", kMany, "",
     "Admission plugins to leave out, such as ValidatingAdmissionPolicy, which --policies brings",
     &flags::AddToList<&Options::disable_admission_plugins>, ""},
    {"admission-control-config-file", kText, "", "File with the configuration of admission plugins",
     &flags::SetText<&Options::admission_control_config_file>, "", '\0', "FILE"},
    {"policies", kMany, "",
     "Files and directories with policies, bindings, their parameters and what plugins look at\n"
     "(namespaces, LimitRanges, …); policies among them enable the plugins that read them",
     &flags::AddToList<&Options::policies>, "", 'f', "PATH"},
    {"kubernetes-version", kText, "1.36", "Release of Kubernetes whose plugins judge: 1.7 to 1.36",
     &flags::SetText<&Options::kubernetes_version>, "", '\0', "VERSION"},
    {"feature-gates", flags::Type::kMap, "", "Feature gates to set: Name=true,Other=false",
     &AddGates, ""},
    {"default-not-ready-toleration-seconds", kNumber, "300",
     "Seconds that DefaultTolerationSeconds gives to notReady:NoExecute",
     &flags::SetInt<&Options::default_not_ready_toleration_seconds>, ""},
    {"default-unreachable-toleration-seconds", kNumber, "300",
     "Seconds that DefaultTolerationSeconds gives to unreachable:NoExecute",
     &flags::SetInt<&Options::default_unreachable_toleration_seconds>, ""},
    {"kubeconfig", kText, "",
     "Kubeconfig of the cluster whose objects the plugins look at; in a pod with a service\n"
     "account that of the pod",
     &flags::SetText<&Options::kubeconfig>, "", '\0', "FILE"},
    {"context", kText, "", "Context in it (default its current one)",
     &flags::SetText<&Options::context>, "", '\0', "NAME"},
    {"bind-address", kText, "127.0.0.1", "Address to listen on; 0.0.0.0 or :: for all",
     &flags::SetText<&Options::bind_address>, ""},
    {"secure-port", kNumber, "9443", "Port to listen on; 0 takes a free one",
     &flags::SetInt<&Options::secure_port>, ""},
    {"tls-cert-file", kText, "", "Serving certificate, read again when it changes; default: made",
     &flags::SetText<&Options::tls_cert_file>, "", '\0', "FILE"},
    {"tls-private-key-file", kText, "", "Key of --tls-cert-file",
     &flags::SetText<&Options::tls_private_key_file>, "", '\0', "FILE"},
    {"cert-dir", kText, "",
     "Directory that keeps the certificate that is made, and its CA (default none: they are made\n"
     "at each start)",
     &flags::SetText<&Options::cert_dir>, "", '\0', "DIR"},
    {"tls-min-version", kText, "VersionTLS12", "VersionTLS12 or VersionTLS13",
     &flags::SetText<&Options::tls_min_version>, ""},
    {"tls-cipher-suites", kMany, "", "Cipher suites of TLS 1.2, by their IANA names",
     &flags::AddToList<&Options::tls_cipher_suites>, ""},
    {"client-ca-file", kText, "",
     "CA bundle used to verify client certificates, which all but health checks need then",
     &flags::SetText<&Options::client_ca_file>, "", '\0', "FILE"},
    {"memory-limit", kText, "",
     "Memory the webhook keeps below, as 512Mi; 80 % of what there is if empty",
     &flags::SetText<&Options::memory_limit>, ""},
    {"shutdown-delay-duration", flags::Type::kDuration, "0s",
     "How long to keep serving after a stop signal, not ready any more",
     &flags::SetDuration<&Options::shutdown_delay>, ""},
    {"log-format", kText, "text", "Form of the log: text or json",
     &flags::SetOneOf<&Options::log_format, kFormats>, ""},
    {"v", kNumber, "0", "Verbosity of the log; above 3 every review",
     &flags::SetInt<&Options::verbosity>, "", 'v'},
    {"print-config", flags::Type::kBool, "false",
     "Print the webhook configurations of these flags, and what runs them in a cluster, and end",
     &flags::SetBool<&Options::print_config>, ""},
    {"name", kText, "portcullis", "Name of what --print-config prints",
     &flags::SetText<&Options::name>, ""},
    {"service", kText, "", "Service that leads to the webhook (default portcullis/NAME:443)",
     &flags::SetText<&Options::service>, "", '\0', "NAMESPACE/NAME[:PORT]"},
    {"url", kText, "", "URL that leads to it, for webhooks outside the cluster",
     &flags::SetText<&Options::url>, "", '\0', "URL"},
    {"ca-bundle-file", kText, "", "CA of --tls-cert-file, for the configurations",
     &flags::SetText<&Options::ca_bundle_file>, "", '\0', "FILE"},
    {"image", kText, "", "Image of the Deployment (default portcullis and this version)",
     &flags::SetText<&Options::image>, ""},
    {"failure-policy", kText, "Fail",
     "What the API server does when the webhook fails: Fail or Ignore",
     &flags::SetOneOf<&Options::failure_policy, kPolicies>, ""},
    {"timeout-seconds", kNumber, "10", "How long the API server waits for it: 1 to 30", &SetTimeout,
     ""},
};

}  // namespace

std::vector<flags::Info> Flags() { return flags::InfosOf<Options>(kFlags); }

base::Result<flags::Line> ReadFlags(const std::vector<std::string>& words, Options& options) {
  flags::Line line = TRY(flags::Parse<Options>(kFlags, words, {"portcullis webhook"}, options));
  if (options.tls_cert_file.empty() != options.tls_private_key_file.empty()) {
    return base::BadRequest("--tls-cert-file and --tls-private-key-file go together");
  }
  if (!options.service.empty() && !options.url.empty()) {
    return base::BadRequest("--service and --url both say where the webhook is reached");
  }
  return line;
}

}  // namespace portcullis::webhook_server
