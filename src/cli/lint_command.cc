// SPDX-License-Identifier: Apache-2.0

#include "cli/lint_command.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "cli/offline_flags.h"
#include "flags/setters.h"
#include "offline/lint/lint.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"help(Finds what is wrong with policies, bindings, webhook configurations and manifests although an API server
takes them: webhooks that can block a cluster, rules and selectors that never match, expressions that
fail for some objects or cost too much, mutations whose order matters, certificates that have expired,
API versions that are not served. Expressions and mutations are tried with plain objects and with the manifests
among the files.

Usage:
  portcullis lint [PATH...] [flags]

PATH is a file, a directory with all that is below it, or - for standard input; by default the current
directory. `# portcullis:ignore ID reason` in the line of a finding, in the line above it or above the object
keeps it quiet. docs/lint.md explains each ID.

Examples:
  portcullis lint policies/ webhooks/
  helm template . | portcullis lint -
  portcullis lint policies/ --fix
  portcullis lint webhooks/ --webhooks=call            # try the mutating webhooks, in dry runs
  portcullis lint . -o github -o sarif=lint.sarif
)help";

constexpr std::string_view kExitCodes = R"help(
Exit status: 0 no errors were found, 1 errors, 2 flags or files are wrong, 3 a mistake of ours.
)help";

constexpr OfflineFlag kOwn[] = {
    kReportOutput,
    {.name = "rules",
     .type = flags::Type::kBool,
     .default_text = "false",
     .meaning = "Print what is looked for, as Markdown",
     .set = &flags::SetBool<&OfflineOptions::rules>},
    {.name = "fix",
     .type = flags::Type::kBool,
     .default_text = "false",
     .meaning =
         "Mend what can be mended without a change of verdicts, after printing what is changed;\n"
         "all else in the files stays as it is",
     .set = &flags::SetBool<&OfflineOptions::fix>},
    {.name = "warn-exit-code",
     .type = flags::Type::kInt,
     .default_text = "0",
     .meaning = "Exit status if there are warnings and no errors",
     .set = &flags::SetInt<&OfflineOptions::warn_exit_code>},
};

constexpr std::string_view kSharedNames[] = {"filename",           "recursive",   "webhooks",
                                             "kubernetes-version", "k8s-version", "feature-gates",
                                             "runtime-config"};

std::vector<OfflineFlag> AllFlags() { return WithSharedFlags(kOwn, kSharedNames); }
std::vector<flags::Info> Flags() { return flags::InfosOf<OfflineOptions>(AllFlags()); }

int Fail(const base::Status& status) {
  std::fprintf(stderr, "Error: %s\n", status.message().c_str());
  return kExitUsage;
}

// The table is lint's own; other forms are those of all offline commands.
base::Status Print(const offline::LintReport& report, OfflineOptions options) {
  std::vector<OfflineOutput> others;
  for (OfflineOutput& output : options.outputs) {
    if (output.format->name != "table") {
      others.push_back(std::move(output));
      continue;
    }
    const std::string text = offline::LintAsText(report);
    if (output.path.empty()) {
      std::fwrite(text.data(), 1, text.size(), stdout);
    } else {
      TRY(base::WriteSharedFile(output.path, text));
    }
  }
  options.outputs = std::move(others);
  return PrintReport(offline::LintAsReport(report), options);
}

// Again and again, because findings about one list are mended one after the other.
base::Status Fix(OfflineOptions& options) {
  constexpr int kMostRounds = 1000;
  for (int round = 0; round < kMostRounds; ++round) {
    const auto inputs = TRY(ReadOfflineInputs(options));
    const auto report = TRY(offline::Lint(inputs, options.judge));
    const std::size_t written = TRY(WriteCorrections(offline::LintCorrections(report)));
    if (written == 0) return base::OkStatus();
  }
  return base::OkStatus();
}

int Run(const std::vector<std::string>& arguments) {
  OfflineOptions options;
  auto line = flags::Parse<OfflineOptions>(AllFlags(), arguments,
                                           {"portcullis lint", flags::Arguments::kAny}, options);
  if (!line.ok()) return UsageError(kLint.name, line.status().message());
  if (line->help) return PrintHelp(kLint);
  if (options.rules) {
    std::fputs(offline::LintRulesAsMarkdown().c_str(), stdout);
    return kExitOk;
  }
  options.inputs.paths = std::move(line->arguments);
  if (options.outputs.empty()) options.outputs.push_back({offline::FindFormat("table"), ""});
  base::ConfigureLog(base::LogFormat::kText, base::LogLevel::kError);
  const auto& paths = options.inputs.paths;
  if (options.fix && std::find(paths.begin(), paths.end(), "-") != paths.end()) {
    return UsageError(kLint.name, "--fix rewrites files; standard input is none");
  }
  const auto client = WebhookClient::Create(options);
  if (!client.ok()) return Fail(client.status());
  if (options.fix) {
    if (const base::Status fixed = Fix(options); !fixed.ok()) return Fail(fixed);
  }
  const auto inputs = ReadOfflineInputs(options);
  if (!inputs.ok()) return Fail(inputs.status());
  const auto report = offline::Lint(*inputs, options.judge);
  if (!report.ok()) return Fail(report.status());
  if (const base::Status printed = Print(*report, options); !printed.ok()) return Fail(printed);
  if (!report->problems.empty()) return kExitUsage;
  const offline::Report counted = offline::LintAsReport(*report);
  if (counted.refusals() > 0) return kExitRefused;
  return counted.warnings() > 0 ? options.warn_exit_code : kExitOk;
}

}  // namespace

const Command kLint = {
    "lint", "find what is wrong with policies and webhooks", &Run, &Flags, kUsage, kExitCodes};

}  // namespace portcullis::cli
