// SPDX-License-Identifier: Apache-2.0

#include "cli/explain_command.h"

#include <cstdio>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "cli/offline_flags.h"
#include "flags/setters.h"
#include "offline/explain.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"help(Explains what an API server would do with manifests, without one: every step in its order, what each
plugin, webhook and policy has changed, refused, warned of, or why it was passed over; and who has set
each field of the object in the end.

Usage:
  portcullis explain FILE... [-f PATH...] [flags]

FILE is a file, a folder or - for standard input: what is explained. --filename names what else the
cluster has: policies, namespaces, limit ranges.

Examples:
  portcullis explain deploy/web.yaml -f policies/
  helm template . | portcullis explain - -o json
)help";

constexpr std::string_view kExitCodes = R"help(
Exit status: 0 all were admitted, 1 one was refused, 2 flags or files are wrong, 3 a mistake of ours.
docs/internals/trace.md explains steps, outcomes and reasons.
)help";

constexpr std::string_view kForms[] = {"text", "json", "html"};

constexpr OfflineFlag kOwn[] = {
    {.name = "output",
     .type = flags::Type::kString,
     .default_text = "text",
     .meaning =
         "Form: text, html (one page), or json: one document with the trace of each manifest",
     .set = &flags::SetOneOf<&OfflineOptions::form, kForms>,
     .shorthand = 'o',
     .value_name = "FORMAT"},
};

std::vector<flags::Info> Flags() { return flags::InfosOf<OfflineOptions>(WithSharedFlags(kOwn)); }

int Fail(const base::Status& status) {
  std::fprintf(stderr, "Error: %s\n", status.message().c_str());
  return kExitUsage;
}

int Run(const std::vector<std::string>& arguments) {
  OfflineOptions options;
  auto line = flags::Parse<OfflineOptions>(WithSharedFlags(kOwn), arguments,
                                           {"portcullis explain", flags::Arguments::kAny}, options);
  if (!line.ok()) return UsageError(kExplain.name, line.status().message());
  if (line->help) return PrintHelp(kExplain);
  if (line->arguments.empty()) return UsageError(kExplain.name, "a FILE to explain is missing");
  options.inputs.paths = std::move(line->arguments);
  options.judge.traces = true;
  base::ConfigureLog(base::LogFormat::kText, base::LogLevel::kError);

  const auto client = WebhookClient::Create(options);
  if (!client.ok()) return Fail(client.status());
  const auto inputs = ReadOfflineInputs(options);
  if (!inputs.ok()) return Fail(inputs.status());
  auto report = offline::Judge(*inputs, options.judge);
  if (!report.ok()) return Fail(report.status());
  report->results.resize(inputs->own);
  const std::string text = options.form == "json"   ? offline::ExplainAsJson(*report)
                           : options.form == "html" ? offline::ExplainAsHtml(*report)
                                                    : offline::ExplainAsText(*report);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!report->problems.empty()) return kExitUsage;
  const bool refused =
      report->Count(offline::Verdict::kDeny) + report->Count(offline::Verdict::kError) > 0;
  return refused ? kExitRefused : kExitOk;
}

}  // namespace

const Command kExplain = {
    "explain", "show every step that a manifest goes through", &Run, &Flags, kUsage, kExitCodes};

}  // namespace portcullis::cli
