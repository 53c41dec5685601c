// SPDX-License-Identifier: Apache-2.0

#include "cli/replay_command.h"

#include <cstdio>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/gotext.h"
#include "base/log.h"
#include "base/strings.h"
#include "cli/offline_flags.h"
#include "cli/replay_server.h"
#include "flags/setters.h"
#include "offline/suites/suite_format.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"help(Carries the requests of a recording out again, and shows which of them are answered with another code
than then: against policies, webhooks and a release of Kubernetes, without a cluster; or, with --server,
against a running one, in dry runs.

Usage:
  portcullis replay DIR... [-f PATH...] [flags]
  portcullis replay DIR... --webhook=URL|FILE [--webhook-ca=FILE]
  portcullis replay DIR... --server [--kubeconfig=FILE]

DIR is a recording of `portcullis record` or `portcullis serve --record`, or an audit log. --filename names
what the cluster has: policies, bindings, namespaces, definitions. The requests of one file follow from
each other; patches, deletions and requests for subresources of objects that it does not create, and that
it does not hold, cannot be carried out and are counted.

Examples:
  portcullis replay corpus/ -f policies/
  portcullis replay corpus/ -f policies/ --kubernetes-version=1.34
  portcullis replay corpus/ --webhook=https://127.0.0.1:8443/validate --webhook-ca=ca.crt
  portcullis replay corpus/ --webhook=webhook-configuration.yaml
  portcullis replay corpus/ --server --context=staging
  portcullis diff --old=main:policies --new=policies corpus/     # two sets of policies
)help";

constexpr std::string_view kExitCodes = R"help(
Exit status: 0 all are answered as then, 1 one is not, 2 flags or files are wrong, 3 a mistake of ours.
)help";

constexpr OfflineFlag kOwn[] = {
    kReportOutput,
    {.name = "verbose",
     .type = flags::Type::kBool,
     .default_text = "false",
     .meaning = "Show what is answered as then, too",
     .set = &flags::SetBool<&OfflineOptions::verbose>,
     .shorthand = 'v'},
    {.name = "server",
     .type = flags::Type::kBool,
     .default_text = "false",
     .meaning =
         "Send the requests to the server of --kubeconfig, as dry runs: nothing is written. The\n"
         "flags for judging have no effect then.",
     .set = &flags::SetBool<&OfflineOptions::server>},
    {.name = "impersonate",
     .type = flags::Type::kBool,
     .default_text = "true",
     .meaning =
         "With --server: make each request as its user, which needs the right to impersonate",
     .set = &flags::SetBool<&OfflineOptions::impersonate>},
    {.name = "webhook",
     .type = flags::Type::kString,
     .default_text = "",
     .meaning =
         "Call this webhook, for every request of a URL, as its rules say of a FILE with webhook\n"
         "configurations (where their Services are reached: --webhooks=FILE)",
     .set = &flags::SetText<&OfflineOptions::webhook>,
     .value_name = "URL|FILE"},
    {.name = "webhook-ca",
     .type = flags::Type::kString,
     .default_text = "",
     .meaning = "Certificates that verify the webhook of a URL (default those of the system)",
     .set = &flags::SetText<&OfflineOptions::webhook_ca>,
     .value_name = "FILE"},
};

std::vector<flags::Info> Flags() { return flags::InfosOf<OfflineOptions>(WithSharedFlags(kOwn)); }

int Fail(std::string_view message) {
  std::fputs(base::StrCat("Error: ", message, "\n").c_str(), stderr);
  return kExitUsage;
}

// The recorded requests, and what else the flags name.
base::Result<offline::Inputs> ReadRecording(OfflineOptions& options) {
  auto inputs = TRY(ReadOfflineInputs(options));
  std::erase_if(inputs.tests,
                [](const offline::Manifest& test) { return !offline::IsAuditEvent(test); });
  if (!inputs.tests.empty()) return inputs;
  if (inputs.problems.empty()) return base::ConfigError("no recorded request was found");
  const offline::Problem& problem = inputs.problems.front();
  return base::ConfigError(base::StrCat(problem.place.ToString(), ": ", problem.message));
}

// A webhook of a URL, for everything; whether it mutates or validates only it knows, and one of a
// MutatingWebhookConfiguration may do both.
std::string ConfigurationOf(const std::string& url, std::string_view ca_pem) {
  const std::string ca =
      ca_pem.empty() ? "" : base::StrCat(", caBundle: ", base::Base64Encode(ca_pem));
  return base::StrCat(
      "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\n"
      "metadata: {name: replay}\nwebhooks:\n- name: replay.portcullis.dev\n  clientConfig: {url: ",
      base::GoQuote(url), ca,
      "}\n  admissionReviewVersions: [v1, v1beta1]\n  sideEffects: None\n  failurePolicy: Fail\n"
      "  timeoutSeconds: 10\n  matchPolicy: Exact\n"
      "  rules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*']}]\n");
}

bool IsUrl(std::string_view text) {
  return text.starts_with("https://") || text.starts_with("http://");
}

base::Result<offline::Report> ReplayHere(OfflineOptions& options) {
  const bool of_url = IsUrl(options.webhook);
  if (!options.webhook.empty()) {
    if (options.webhooks == "skip") options.webhooks = "call";
    if (!of_url) options.inputs.filenames.push_back(options.webhook);
  }
  const auto client = TRY(WebhookClient::Create(options));
  auto inputs = TRY(ReadRecording(options));
  if (of_url) {
    std::string ca;
    if (!options.webhook_ca.empty()) ca = TRY(base::ReadFile(options.webhook_ca));
    offline::ReadText("--webhook", ConfigurationOf(options.webhook, ca), true, inputs);
  }
  return offline::RunTests(inputs, options.judge);
}

base::Result<offline::Report> ReplayThere(OfflineOptions& options) {
  options.cluster = false;  // nothing is read of it: it judges
  const auto inputs = TRY(ReadRecording(options));
  return ReplayOnServer(options.live, inputs, options.impersonate);
}

int Run(const std::vector<std::string>& arguments) {
  OfflineOptions options;
  auto line = flags::Parse<OfflineOptions>(WithSharedFlags(kOwn), arguments,
                                           {"portcullis replay", flags::Arguments::kAny}, options);
  if (!line.ok()) return UsageError(kReplay.name, line.status().message());
  if (line->help) return PrintHelp(kReplay);
  if (line->arguments.empty()) return UsageError(kReplay.name, "a DIR to replay is missing");
  if (options.server && !options.webhook.empty()) {
    return UsageError(kReplay.name, "--server and --webhook both say what judges");
  }
  options.inputs.paths = std::move(line->arguments);
  if (options.outputs.empty()) options.outputs.push_back({offline::FindFormat("table"), ""});
  base::ConfigureLog(base::LogFormat::kText, base::LogLevel::kError);
  const auto report = options.server ? ReplayThere(options) : ReplayHere(options);
  if (!report.ok()) return Fail(report.status().message());
  if (const base::Status printed = PrintReport(*report, options); !printed.ok()) {
    return Fail(printed.message());
  }
  if (!report->problems.empty()) return kExitUsage;
  return report->refusals() > 0 ? kExitRefused : kExitOk;
}

}  // namespace

const Command kReplay = {"replay",  "carry out recorded requests again", &Run, &Flags, kUsage,
                         kExitCodes};

}  // namespace portcullis::cli
