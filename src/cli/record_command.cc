// SPDX-License-Identifier: Apache-2.0

#include "cli/record_command.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "audit/recording.h"
#include "base/clock.h"
#include "base/strings.h"
#include "flags/setters.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"help(Makes a recording of an audit log (audit.k8s.io/v1, a line for each event, level Request or deeper): a folder
with the writes that can be carried out anew, without secrets, and few of those that are alike. Of a
server of its own, `portcullis serve --record=DIR` makes one.

Usage:
  portcullis record --to=DIR [FILE...] [flags]

FILE is an audit log, or - for standard input, which is the default. `portcullis replay DIR` carries the
requests out again, `portcullis diff` compares what two sets of policies make of them.

The data of Secrets, tokens, kubectl's last-applied-configuration and the objects of responses are never
recorded. --redact names more: texts become REDACTED, numbers 0.

Examples:
  portcullis record --to=corpus /var/log/kubernetes/audit.log
  portcullis record --to=corpus --redact='spec.containers[*].env[*].value' --redact=configmaps:data audit.log
  kubectl logs kube-apiserver -n kube-system | portcullis record --to=corpus --sample=10
)help";

constexpr std::string_view kExitCodes = R"help(
Exit status: 0 the recording is made, 1 it is and lines were no events, 2 flags or files are wrong.
)help";

using audit::RecordingOptions;
constexpr flags::Type kText = flags::Type::kString;
constexpr flags::Type kNumber = flags::Type::kInt;

// Name, type, default, meaning, setter, note, shorthand, value.
constexpr flags::Flag<RecordingOptions> kFlags[] = {
    {"to", kText, "", "Folder of the recording; is made, and added to if it is there",
     &flags::SetText<&RecordingOptions::folder>, "", '\0', "DIR"},
    {"redact", kText, "",
     "Field that is not recorded, behind RESOURCE: of these only; * is any element. May be\n"
     "repeated.",
     &flags::AddText<&RecordingOptions::redact>, "", '\0', "[RESOURCE:]PATH"},
    {"sample", kNumber, "1", "Record one of so many", &flags::SetCount<&RecordingOptions::sample>,
     "", '\0', "N"},
    {"per-shape", kNumber, "10",
     "Record so many requests of the same verb, resource, groups, answer and fields; 0: all",
     &flags::SetCount<&RecordingOptions::per_shape>, "", '\0', "N"},
    {"max-file-size", kNumber, "64", "Megabytes of a file, behind which the next one is begun",
     &flags::SetCount<&RecordingOptions::max_file_mb>, "", '\0', "MB"},
    {"max-files", kNumber, "0", "Keep so many files and delete older ones; 0: all",
     &flags::SetCount<&RecordingOptions::max_files>, "", '\0', "N"},
};

std::vector<flags::Info> Flags() { return flags::InfosOf<RecordingOptions>(kFlags); }

int Fail(std::string_view message) {
  std::fputs(base::StrCat("Error: ", message, "\n").c_str(), stderr);
  return kExitUsage;
}

// The number of lines that are no events.
std::size_t Read(std::istream& log, const std::string& name, audit::Recording& recording) {
  std::size_t wrong = 0;
  std::size_t number = 0;
  std::string line;
  while (std::getline(log, line)) {
    ++number;
    if (base::Trim(line).empty()) continue;
    const base::Status written = recording.Write(line);
    if (written.ok()) continue;
    std::fputs(
        base::StrCat(name, ":", std::to_string(number), ": ", written.message(), "\n").c_str(),
        stderr);
    ++wrong;
  }
  return wrong;
}

int Run(const std::vector<std::string>& arguments) {
  RecordingOptions options;
  auto line = flags::Parse<RecordingOptions>(
      kFlags, arguments, {"portcullis record", flags::Arguments::kAny}, options);
  if (!line.ok()) return UsageError(kRecord.name, line.status().message());
  if (line->help) return PrintHelp(kRecord);
  if (options.folder.empty()) return UsageError(kRecord.name, "--to names no folder");
  if (line->arguments.empty()) line->arguments.emplace_back("-");
  const auto recording = audit::Recording::Open(options, base::SystemClock());
  if (!recording.ok()) return Fail(recording.status().message());
  std::size_t wrong = 0;
  for (const std::string& path : line->arguments) {
    if (path == "-") {
      wrong += Read(std::cin, "<stdin>", **recording);
      continue;
    }
    std::ifstream log(path);
    if (!log) return Fail(base::StrCat(path, ": cannot be read"));
    wrong += Read(log, path, **recording);
  }
  (*recording)->Flush();
  const auto counts = (*recording)->counts();
  std::fputs(base::StrCat(std::to_string(counts.recorded), " requests recorded in ", options.folder,
                          "; left out: ", std::to_string(counts.alike), " alike, ",
                          std::to_string(counts.sampled), " by --sample, ",
                          std::to_string(counts.others), " that cannot be carried out anew\n")
                 .c_str(),
             stdout);
  return wrong == 0 ? kExitOk : kExitRefused;
}

}  // namespace

const Command kRecord = {"record",  "make a recording of an audit log", &Run, &Flags, kUsage,
                         kExitCodes};

}  // namespace portcullis::cli
