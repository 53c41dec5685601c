// SPDX-License-Identifier: Apache-2.0

#include "cli/explain_command.h"

#include <cstdio>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "cli/explain_server.h"
#include "cli/offline_flags.h"
#include "flags/setters.h"
#include "offline/explain.h"
#include "offline/order.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"help(Explains what an API server would do with manifests, without one: every step in its order, what each
plugin, webhook and policy has changed, refused, warned of, or why it was passed over; and who has set
each field of the object in the end.

Usage:
  portcullis explain FILE... [-f PATH...] [flags]
  portcullis explain --order=KIND [-f PATH...]
  portcullis explain --server FILE... [--kubeconfig=FILE]

FILE is a file, a directory or - for standard input: what is explained. --filename names what else the
cluster has: policies, namespaces, limit ranges.

Examples:
  portcullis explain deploy/web.yaml -f policies/
  helm template . | portcullis explain - -o json
  portcullis explain --order=deployments -f policies/
  portcullis explain --server deploy/web.yaml          # as the running server judges it
)help";

constexpr std::string_view kExitCodes = R"help(
Exit status: 0 all were admitted, 1 one was refused, 2 flags or files are wrong, 3 a mistake of ours.
docs/internals/trace.md explains steps, outcomes and reasons.
)help";

constexpr OfflineFlag kOwn[] = {
    {.name = "order",
     .type = flags::Type::kString,
     .default_text = "",
     .meaning =
         "Instead of a FILE: the order in which the plugins, and the policies and webhooks of\n"
         "--filename, judge requests for this kind (deployments, Pod, pods/exec)",
     .set = &flags::SetText<&OfflineOptions::order>,
     .value_name = "KIND"},
    {.name = "server",
     .type = flags::Type::kBool,
     .default_text = "false",
     .meaning =
         "Ask the Portcullis of --kubeconfig, in dry runs: its plugins, policies, webhooks and\n"
         "objects judge, and nothing is written. The other flags have no effect then.",
     .set = &flags::SetBool<&OfflineOptions::server>},
    {.name = "output",
     .type = flags::Type::kString,
     .default_text = "text",
     .meaning = "Form: text, html (one page), json or yaml: one document with the trace of each "
                "manifest;\n"
                "the other forms of `portcullis test` show the verdicts. With =FILE written to "
                "that file.\n"
                "May be repeated.",
     .set = &AddOutput,
     .shorthand = 'o',
     .value_name = "FORMAT[=FILE]"},
};

std::vector<flags::Info> Flags() { return flags::InfosOf<OfflineOptions>(WithSharedFlags(kOwn)); }

int Fail(const base::Status& status) {
  std::fprintf(stderr, "Error: %s\n", status.message().c_str());
  return kExitUsage;
}

int ShowOrder(OfflineOptions& options) {
  offline::Inputs inputs;
  if (!options.inputs.paths.empty() || !options.inputs.filenames.empty() || options.cluster) {
    auto read = ReadOfflineInputs(options);
    if (!read.ok()) return Fail(read.status());
    inputs = *std::move(read);
  }
  for (const offline::Problem& problem : inputs.problems) {
    std::fputs(base::StrCat(problem.place.ToString(), ": ERROR ", problem.message, "\n").c_str(),
               stderr);
  }
  const auto order = offline::OrderOf(inputs, options.judge, options.order);
  if (!order.ok()) return Fail(order.status());
  const bool is_json = options.outputs.front().format->name == "json";
  const std::string text = is_json ? offline::OrderAsJson(*order) : offline::OrderAsText(*order);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return inputs.problems.empty() ? kExitOk : kExitUsage;
}

base::Result<offline::Report> ExplainRemotely(OfflineOptions& options) {
  options.live.ns = options.judge.ns.empty() ? "default" : options.judge.ns;
  return ExplainOnServer(options.live, offline::ReadInputs(options.inputs));
}

base::Result<offline::Report> ExplainHere(OfflineOptions& options) {
  const auto client = TRY(WebhookClient::Create(options));
  const auto inputs = TRY(ReadOfflineInputs(options));
  auto report = TRY(offline::Judge(inputs, options.judge));
  report.results.resize(inputs.own);
  return report;
}

int Run(const std::vector<std::string>& arguments) {
  OfflineOptions options;
  auto line = flags::Parse<OfflineOptions>(WithSharedFlags(kOwn), arguments,
                                           {"portcullis explain", flags::Arguments::kAny}, options);
  if (!line.ok()) return UsageError(kExplain.name, line.status().message());
  if (line->help) return PrintHelp(kExplain);
  if (options.outputs.empty()) options.outputs.push_back({offline::FindFormat("table"), ""});
  if (!options.order.empty()) {
    const std::string_view form = options.outputs.front().format->name;
    if (form != "table" && form != "json") {
      return UsageError(kExplain.name, "--order has the forms text and json");
    }
    options.inputs.paths = std::move(line->arguments);
    base::ConfigureLog(base::LogFormat::kText, base::LogLevel::kError);
    return ShowOrder(options);
  }
  if (line->arguments.empty()) return UsageError(kExplain.name, "a FILE to explain is missing");
  options.inputs.paths = std::move(line->arguments);
  options.judge.traces = true;
  base::ConfigureLog(base::LogFormat::kText, base::LogLevel::kError);

  auto report = options.server ? ExplainRemotely(options) : ExplainHere(options);
  if (!report.ok()) return Fail(report.status());
  const OwnForm own[] = {
      {"table", offline::ExplainAsText(*report), offline::ExplainAsText(*report, true)},
      {"html", offline::ExplainAsHtml(*report)}};
  if (const base::Status printed = PrintReport(*report, options, own); !printed.ok()) {
    return Fail(printed);
  }
  if (!report->problems.empty()) return kExitUsage;
  const bool refused =
      report->Count(offline::Verdict::kDeny) + report->Count(offline::Verdict::kError) > 0;
  return refused ? kExitRefused : kExitOk;
}

}  // namespace

const Command kExplain = {
    "explain", "show every step that a manifest goes through", &Run, &Flags, kUsage, kExitCodes};

}  // namespace portcullis::cli
