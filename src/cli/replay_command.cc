// SPDX-License-Identifier: Apache-2.0

#include "cli/replay_command.h"

#include <cstdio>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "cli/offline_flags.h"
#include "flags/setters.h"
#include "offline/suites/suite_format.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"help(Carries the requests of a recording out again, against policies, webhooks and a release of Kubernetes,
without a cluster, and shows which of them are answered with another code than then.

Usage:
  portcullis replay DIR... [-f PATH...] [flags]

DIR is a recording of `portcullis record` or `portcullis serve --record`, or an audit log. --filename names
what the cluster has: policies, bindings, namespaces, definitions. The requests of one file follow from
each other; patches, deletions and requests for subresources of objects that it does not create cannot be
carried out and are counted.

Examples:
  portcullis replay corpus/ -f policies/
  portcullis replay corpus/ -f policies/ --kubernetes-version=1.34
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
};

std::vector<flags::Info> Flags() { return flags::InfosOf<OfflineOptions>(WithSharedFlags(kOwn)); }

int Fail(std::string_view message) {
  std::fputs(base::StrCat("Error: ", message, "\n").c_str(), stderr);
  return kExitUsage;
}

int Run(const std::vector<std::string>& arguments) {
  OfflineOptions options;
  auto line = flags::Parse<OfflineOptions>(WithSharedFlags(kOwn), arguments,
                                           {"portcullis replay", flags::Arguments::kAny}, options);
  if (!line.ok()) return UsageError(kReplay.name, line.status().message());
  if (line->help) return PrintHelp(kReplay);
  if (line->arguments.empty()) return UsageError(kReplay.name, "a DIR to replay is missing");
  options.inputs.paths = std::move(line->arguments);
  if (options.outputs.empty()) options.outputs.push_back({offline::FindFormat("table"), ""});
  base::ConfigureLog(base::LogFormat::kText, base::LogLevel::kError);
  const auto client = WebhookClient::Create(options);
  if (!client.ok()) return Fail(client.status().message());
  auto inputs = ReadOfflineInputs(options);
  if (!inputs.ok()) return Fail(inputs.status().message());
  std::erase_if(inputs->tests,
                [](const offline::Manifest& test) { return !offline::IsAuditEvent(test); });
  if (inputs->tests.empty()) return Fail("no recorded request was found");
  const auto report = offline::RunTests(*inputs, options.judge);
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
