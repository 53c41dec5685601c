// SPDX-License-Identifier: Apache-2.0

#include "cli/test_command.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "cli/offline_flags.h"
#include "flags/setters.h"
#include "golang/strconv.h"
#include "offline/test_draft.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"help(Judges manifests as an API server would, without one: decoding, defaults, every default admission
controller, policies, validation. Nothing is written and no cluster is asked.

Usage:
  portcullis test [PATH...] [flags]

PATH is a file, a directory with all that is below it, or - for standard input; by default the current
directory. Files are told by what they hold: policies, bindings, their parameters, webhook
configurations, CustomResourceDefinitions, namespaces, quotas, limit ranges, service accounts and roles
make up the cluster; they and all other objects are judged as if they were created, in the order of the
files. What a workload would make (the pods of a Deployment) is judged with it. AdmissionReview documents
are judged as the requests that they record. If there are test files, their cases are run instead: those of
portcullis (docs/offline-tests.md), kyverno-test.yaml, gator's Suites, kat, kaptest, kubescape's tests.json,
vap-library's policy_test.go, chainsaw, audit logs.

Examples:
  portcullis test deploy/                              # policies and manifests of a folder
  helm template . | portcullis test - -f policies/     # what a chart makes
  kustomize build | portcullis test - -n staging
  portcullis test . --as=alice --as-group=developers   # for policies that ask who it is
  portcullis test new/ --old=old/                      # updates of what is stored
  portcullis test . --run=replica -v                   # only cases with such a name
  portcullis test policies/ --update                   # what is expected becomes what is
  portcullis test . --coverage=lcov=policies.info      # what the cases do not reach
  portcullis test . -o github -o junit=report.xml      # annotations, and a report in a file
)help";

constexpr std::string_view kExitCodes = R"help(
Exit status: 0 all were admitted, 1 one was refused, 2 flags or files are wrong, 3 a mistake of ours.
)help";

base::Status SetFailFast(OfflineOptions& options, std::string_view value) {
  options.judge.fail_fast = TRY(golang::ParseBool(value));
  return base::OkStatus();
}

base::Status SetRun(OfflineOptions& options, std::string_view value) {
  options.judge.run = TRY(offline::Pattern::Read(value));
  return base::OkStatus();
}

base::Status SetThreads(OfflineOptions& options, std::string_view value) {
  const std::int64_t threads = TRY(golang::ParseInt(value, 0, 32));
  if (threads < 0 || threads > 256) return base::BadRequest("must be 0 to 256");
  options.judge.threads = static_cast<std::size_t>(threads);
  return base::OkStatus();
}

base::Status AddCoverage(OfflineOptions& options, std::string_view value) {
  const auto cut = base::Cut(value, "=");
  const std::string_view name = cut ? cut->first : value == "true" ? "text" : value;
  const offline::CoverageForm* form = offline::FindCoverageForm(name);
  if (form != nullptr) {
    options.coverage.push_back({form, cut ? std::string(cut->second) : ""});
    return base::OkStatus();
  }
  std::vector<std::string_view> names;
  for (const offline::CoverageForm& known : offline::CoverageForms()) names.push_back(known.name);
  return base::BadRequest(
      base::StrCat("must be one of ", base::Join(names, ", "), "; with =FILE it goes to a file"));
}

base::Status PrintCoverage(const offline::Report& report, const OfflineOptions& options) {
  for (const CoverageOutput& output : options.coverage) {
    const std::string text = output.form->write(report.coverage);
    if (output.path.empty()) {
      std::fwrite(text.data(), 1, text.size(), stdout);
    } else {
      TRY(base::WriteSharedFile(output.path, text));
    }
  }
  return base::OkStatus();
}

constexpr flags::Type kSwitch = flags::Type::kBool;

// In the order of --help: name, type, default, meaning, setter, note, shorthand, value.
constexpr OfflineFlag kOwn[] = {
    {"output", flags::Type::kString, "table",
     "Form of the report: table, json, yaml, junit, sarif, github, tap, markdown, azuredevops,\n"
     "gitlab or html; with =FILE written to that file. May be repeated.",
     &AddOutput, "", 'o', "FORMAT[=FILE]"},
    {"verbose", kSwitch, "false", "Show what was admitted, too",
     &flags::SetBool<&OfflineOptions::verbose>, "", 'v'},
    {"run", flags::Type::kString, "",
     "Regular expression (RE2): only cases and manifests whose names it finds", &SetRun, "", '\0',
     "REGEX"},
    {"jobs", flags::Type::kInt, "0",
     "Test files that are run at the same time; 0: as many as the machine has processors",
     &SetThreads, "", 'j', "N"},
    {"init", flags::Type::kString, "",
     "Write a test file for the policy of that file beside it, with a case for each operation\n"
     "and each way that its expressions can go, and the verdicts of today. Files of --filename,\n"
     "such as its binding and parameters, are part of it",
     &flags::SetText<&OfflineOptions::init>, "", '\0', "POLICY"},
    {"update", kSwitch, "false",
     "Rewrite the expectations of native test files that do not hold, after printing what is\n"
     "changed; comments and all else in the files stay as they are",
     &flags::SetBool<&OfflineOptions::update>, ""},
    {"coverage", kSwitch, "",
     "Say what the cases reach of policies: rules, conditions, validations, variables and both\n"
     "sides of &&, || and ?:. --coverage=FORMAT[=FILE] with text, json, lcov or cobertura. May be\n"
     "repeated.",
     &AddCoverage, ""},
    {"force", kSwitch, "false", "--init replaces a file that is there",
     &flags::SetBool<&OfflineOptions::force>, ""},
    {"fail-fast", kSwitch, "false", "End with the first manifest that is refused", &SetFailFast,
     ""},
    {"require-tests", kSwitch, "false", "No test file at all is an error (status 2)",
     &flags::SetBool<&OfflineOptions::require_tests>, ""},
    {"require-manifests", kSwitch, "false", "No manifest at all is an error (status 2)",
     &flags::SetBool<&OfflineOptions::require_manifests>, ""},
    {"warn-exit-code", flags::Type::kInt, "0", "Exit status if there are warnings and no refusals",
     &flags::SetInt<&OfflineOptions::warn_exit_code>, ""},
};

std::vector<flags::Info> Flags() { return flags::InfosOf<OfflineOptions>(WithSharedFlags(kOwn)); }

int Fail(const base::Status& status) {
  std::fprintf(stderr, "Error: %s\n", status.message().c_str());
  return kExitUsage;
}

int ExitCode(const offline::Report& report, const OfflineOptions& options) {
  if (!report.problems.empty()) return kExitUsage;
  if (options.require_manifests && report.results.empty()) {
    std::fputs("Error: no manifest was found\n", stderr);
    return kExitUsage;
  }
  if (report.refusals() > 0) return kExitRefused;
  return report.warnings() > 0 ? options.warn_exit_code : kExitOk;
}

// --init: says what it writes, and replaces nothing unless it is told to.
int WriteInitialTest(const OfflineOptions& options) {
  const auto made = offline::MakeInitialTest(options.init, options.inputs.filenames, options.judge);
  if (!made.ok()) return Fail(made.status());
  std::error_code error;
  if (!options.force && std::filesystem::exists(made->path, error)) {
    return Fail(base::ConfigError(base::StrCat(made->path, " is there: --force replaces it")));
  }
  std::fputs(base::StrCat("writes ", made->path, "\n").c_str(), stdout);
  const base::Status written = base::WriteSharedFile(made->path, made->text);
  return written.ok() ? kExitOk : Fail(written);
}

// --update: what is expected becomes what is. Tests of other formats stay as they are.
base::Status CorrectTests(const offline::Inputs& inputs, const OfflineOptions& options) {
  offline::JudgeOptions judge = options.judge;
  judge.corrects = true;
  const offline::Report report = TRY(offline::RunTests(inputs, judge));
  TRY(WriteCorrections(report.corrections));
  return base::OkStatus();
}

int Run(const std::vector<std::string>& arguments) {
  OfflineOptions options;
  auto line = flags::Parse<OfflineOptions>(WithSharedFlags(kOwn), arguments,
                                           {"portcullis test", flags::Arguments::kAny}, options);
  if (!line.ok()) return UsageError(kTest.name, line.status().message());
  if (line->help) return PrintHelp(kTest);
  options.inputs.paths = std::move(line->arguments);
  if (options.outputs.empty()) options.outputs.push_back({offline::FindFormat("table"), ""});
  const auto& paths = options.inputs.paths;
  if (options.update && std::find(paths.begin(), paths.end(), "-") != paths.end()) {
    return UsageError(kTest.name, "--update rewrites files; standard input is none");
  }
  base::ConfigureLog(base::LogFormat::kText, base::LogLevel::kError);

  if (!options.init.empty()) return WriteInitialTest(options);
  options.judge.covers = !options.coverage.empty();
  const auto client = WebhookClient::Create(options);
  if (!client.ok()) return Fail(client.status());
  auto inputs = ReadOfflineInputs(options);
  if (!inputs.ok()) return Fail(inputs.status());
  if (options.update) {
    if (const base::Status corrected = CorrectTests(*inputs, options); !corrected.ok()) {
      return Fail(corrected);
    }
    inputs = ReadOfflineInputs(options);  // the report is about the files as they are now
    if (!inputs.ok()) return Fail(inputs.status());
  }
  const bool has_tests = !inputs->tests.empty();
  if (options.require_tests && !has_tests) {
    std::fputs("Error: no test was found\n", stderr);
    return kExitUsage;
  }
  const auto report = has_tests ? offline::RunTests(*inputs, options.judge)
                                : offline::Judge(*inputs, options.judge);
  if (!report.ok()) return Fail(report.status());
  if (const base::Status printed = PrintReport(*report, options); !printed.ok())
    return Fail(printed);
  if (const base::Status printed = PrintCoverage(*report, options); !printed.ok())
    return Fail(printed);
  return ExitCode(*report, options);
}

}  // namespace

const Command kTest = {"test",    "judge manifests without a cluster", &Run, &Flags, kUsage,
                       kExitCodes};

}  // namespace portcullis::cli
