// SPDX-License-Identifier: Apache-2.0

#include "cli/diff_command.h"

#include <spawn.h>
#include <sys/wait.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "cli/offline_flags.h"
#include "cli/temporary_folder.h"
#include "flags/setters.h"
#include "offline/two_sides.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"help(Judges the same requests by two clusters and shows what differs: verdicts, messages, warnings, audit
annotations, the objects in the end; nothing else.

Usage:
  portcullis diff --old A --new B [PATH...] [flags]

A and B are files and directories, or directories of a git revision (main:policies). PATH has the requests: manifests,
AdmissionReview documents, test files, audit logs; by default the current directory.

Examples:
  portcullis diff --old main:policies --new policies deploy/
  portcullis diff --kubernetes-versions=1.33,1.36 deploy/ -f policies/
  portcullis diff --new-plugins=AlwaysPullImages,-PodSecurity deploy/
  portcullis diff --old policies/v1 --new policies/v2 audit.log -o json
)help";

constexpr std::string_view kExitCodes = R"help(
Exit status: 0 nothing differs, 1 something does, 2 flags or files are wrong, 3 a mistake of ours.
)help";

base::Status SetVersions(OfflineOptions& options, std::string_view value) {
  options.diff_versions.clear();
  for (const std::string_view version : base::Split(value, ',')) {
    options.diff_versions.emplace_back(version);
  }
  if (options.diff_versions.size() == 2) return base::OkStatus();
  return base::BadRequest("must be two releases: 1.33,1.36");
}

// The plugins that one side enables; those with - in front are disabled.
void AddPlugins(const std::vector<std::string>& plugins, admission::PluginFlags& flags) {
  for (const std::string& plugin : plugins) {
    if (plugin.starts_with("-")) {
      flags.disable.push_back(plugin.substr(1));
    } else {
      flags.enable.push_back(plugin);
    }
  }
}

constexpr OfflineFlag kOwn[] = {
    {.name = "old",
     .type = flags::Type::kList,
     .meaning =
         "Policies and what else the first cluster has: files, directories, REVISION:DIRECTORY",
     .set = &flags::AddToList<&OfflineOptions::diff_old>,
     .value_name = "PATH"},
    {.name = "new",
     .type = flags::Type::kList,
     .meaning = "The same of the second",
     .set = &flags::AddToList<&OfflineOptions::diff_new>,
     .value_name = "PATH"},
    {.name = "kubernetes-versions",
     .type = flags::Type::kString,
     .meaning = "Releases of the two clusters: 1.33,1.36",
     .set = &SetVersions,
     .value_name = "OLD,NEW"},
    {.name = "kubernetes",
     .type = flags::Type::kString,
     .meaning = "The same",
     .set = &SetVersions,
     .value_name = "OLD,NEW"},
    {.name = "k8s",
     .type = flags::Type::kString,
     .meaning = "The same",
     .set = &SetVersions,
     .value_name = "OLD,NEW"},
    {.name = "old-plugins",
     .type = flags::Type::kList,
     .meaning = "Admission plugins that the first cluster has besides; -NAME: that it has not",
     .set = &flags::AddToList<&OfflineOptions::diff_old_plugins>,
     .value_name = "NAMES"},
    {.name = "new-plugins",
     .type = flags::Type::kList,
     .meaning = "The same of the second",
     .set = &flags::AddToList<&OfflineOptions::diff_new_plugins>,
     .value_name = "NAMES"},
    kReportOutput,
};

constexpr std::string_view kSharedNames[] = {"filename",
                                             "resource",
                                             "recursive",
                                             "namespace",
                                             "as",
                                             "as-group",
                                             "validate",
                                             "expand",
                                             "strict",
                                             "webhooks",
                                             "feature-gates",
                                             "runtime-config",
                                             "pod-template",
                                             "kubernetes-version",
                                             "k8s-version",
                                             "enable-admission-plugins",
                                             "disable-admission-plugins",
                                             "admission-control-config-file"};

std::vector<OfflineFlag> AllFlags() { return WithSharedFlags(kOwn, kSharedNames); }
std::vector<flags::Info> Flags() { return flags::InfosOf<OfflineOptions>(AllFlags()); }

int Fail(const base::Status& status) {
  std::fprintf(stderr, "Error: %s\n", status.message().c_str());
  return kExitUsage;
}

// The archive that `git archive` makes of a folder of a revision.
base::Result<std::string> GitArchive(const std::string& revision) {
  const TemporaryFolder folder = TRY(TemporaryFolder::Create("portcullis-diff"));
  const std::string file = base::StrCat(folder.path(), "/archive.tar");
  std::string words[] = {"git", "archive",          "--format=tar", "-o",
                         file,  "--end-of-options", revision};
  char* arguments[std::size(words) + 1] = {};
  std::transform(std::begin(words), std::end(words), arguments,
                 [](std::string& word) { return word.data(); });
  pid_t child = 0;
  if (const int error = ::posix_spawnp(&child, "git", nullptr, nullptr, arguments, environ)) {
    return base::ConfigError(base::StrCat("git: ", base::ErrnoText(error)));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return base::ConfigError(base::StrCat(revision,
                                          ": no file or directory, and no directory of a git "
                                          "revision"));
  }
  return base::ReadFile(file);
}

// The requests, and behind them what the side has.
base::Result<offline::DiffSide> SideOf(OfflineOptions options,
                                       const std::vector<std::string>& paths, std::size_t index) {
  std::vector<std::string> revisions;
  for (const std::string& path : paths) {
    std::error_code error;
    const bool is_revision =
        path.find(':') != std::string::npos && !std::filesystem::exists(path, error);
    (is_revision ? revisions : options.inputs.filenames).push_back(path);
  }
  options.inputs.recursive = true;
  if (!options.diff_versions.empty()) {
    options.judge.cluster.kubernetes_version = options.diff_versions[index];
  }
  AddPlugins(index == 0 ? options.diff_old_plugins : options.diff_new_plugins,
             options.judge.cluster.admission_plugins);
  offline::DiffSide side;
  side.inputs = TRY(ReadOfflineInputs(options));
  for (const std::string& revision : revisions) {
    TRY(offline::ReadTar(revision, TRY(GitArchive(revision)), side.inputs));
  }
  for (const std::string& path : side.inputs.admission_configurations) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) continue;
    side.inputs.problems.push_back(
        {{path, 0, 0},
         "an AdmissionConfiguration of a revision is not used, for it names other files: check the "
         "revision out (git worktree add) and name its directory"});
  }
  side.options = options.judge;
  return side;
}

int Run(const std::vector<std::string>& arguments) {
  OfflineOptions options;
  auto line = flags::Parse<OfflineOptions>(AllFlags(), arguments,
                                           {"portcullis diff", flags::Arguments::kAny}, options);
  if (!line.ok()) return UsageError(kDiff.name, line.status().message());
  if (line->help) return PrintHelp(kDiff);
  if (options.diff_old.empty() && options.diff_new.empty() && options.diff_versions.empty() &&
      options.diff_old_plugins.empty() && options.diff_new_plugins.empty()) {
    return UsageError(kDiff.name,
                      "--old and --new, --kubernetes-versions, or --old-plugins and --new-plugins, "
                      "say what is compared");
  }
  if (options.outputs.empty()) options.outputs.push_back({offline::FindFormat("table"), ""});
  options.inputs.paths = std::move(line->arguments);
  if (options.inputs.paths.empty()) options.inputs.paths = {"."};
  base::ConfigureLog(base::LogFormat::kText, base::LogLevel::kError);
  const auto client = WebhookClient::Create(options);
  if (!client.ok()) return Fail(client.status());
  const auto before = SideOf(options, options.diff_old, 0);
  if (!before.ok()) return Fail(before.status());
  const auto after = SideOf(options, options.diff_new, 1);
  if (!after.ok()) return Fail(after.status());
  const auto report = offline::Diff(*before, *after);
  if (!report.ok()) return Fail(report.status());
  const OwnForm own[] = {{"table", offline::DiffAsText(*report)},
                         {"json", offline::DiffAsJson(*report)},
                         {"yaml", offline::DiffAsYaml(*report)}};
  const base::Status printed = PrintReport(offline::DiffAsReport(*report), options, own);
  if (!printed.ok()) return Fail(printed);
  if (!report->problems.empty()) return kExitUsage;
  return report->differences.empty() ? kExitOk : kExitRefused;
}

}  // namespace

const Command kDiff = {
    "diff", "show what two sets of policies judge differently", &Run, &Flags, kUsage, kExitCodes};

}  // namespace portcullis::cli
