// SPDX-License-Identifier: Apache-2.0

#include "cli/record_command.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "audit/recording.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strings.h"
#include "cli/record_webhook.h"
#include "flags/setters.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"help(Makes a recording: a directory with the writes that can be carried out again, without secrets, and few
of those that are alike. Of an audit log (audit.k8s.io/v1, a line for each event, level Request or
deeper), or of the AdmissionReviews that a cluster sends. `portcullis serve --record=DIR` makes one of a
Portcullis.

Usage:
  portcullis record --to=DIR [FILE...] [flags]
  portcullis record --to=DIR --listen=ADDRESS [flags]

FILE is an audit log, or - for standard input, which is the default. With --listen it is a webhook that
allows everything: it makes a certificate, prints the configuration to apply, and records until it is
ended. Updates and deletions are recorded with the object that they change. `portcullis replay DIR`
carries the requests out again, `portcullis diff` compares what two sets of policies make of them.

The data of Secrets, tokens, kubectl's last-applied-configuration and the objects of responses are never
recorded. --redact names more: texts become REDACTED, numbers 0.

Examples:
  portcullis record --to=corpus /var/log/kubernetes/audit.log
  portcullis record --to=corpus --redact='spec.containers[*].env[*].value' --redact=configmaps:data audit.log
  kubectl logs kube-apiserver -n kube-system | portcullis record --to=corpus --sample=10
  portcullis record --to=corpus --listen=0.0.0.0:8443 --service=tools/recorder > webhook.yaml
)help";

constexpr std::string_view kExitCodes = R"help(
Exit status: 0 the recording is made, 1 it is and lines were no events, 2 flags or files are wrong.
)help";

struct RecordOptions {
  audit::RecordingOptions recording;
  RecordingWebhookOptions webhook;
};

template <auto Setter>
base::Status SetOfRecording(RecordOptions& options, std::string_view value) {
  return Setter(options.recording, value);
}

template <auto Setter>
base::Status SetOfWebhook(RecordOptions& options, std::string_view value) {
  return Setter(options.webhook, value);
}

using Recorded = audit::RecordingOptions;
using Webhook = RecordingWebhookOptions;
constexpr flags::Type kText = flags::Type::kString;
constexpr flags::Type kNumber = flags::Type::kInt;

// Name, type, default, meaning, setter, note, shorthand, value.
constexpr flags::Flag<RecordOptions> kFlags[] = {
    {"to", kText, "", "Directory of the recording; is made, and added to if it is there",
     &SetOfRecording<&flags::SetText<&Recorded::folder>>, "", '\0', "DIR"},
    {"redact", kText, "",
     "Field that is not recorded, behind RESOURCE: of these only; * is any element. May be\n"
     "repeated.",
     &SetOfRecording<&flags::AddText<&Recorded::redact>>, "", '\0', "[RESOURCE:]PATH"},
    {"sample", kNumber, "1", "Record one of so many",
     &SetOfRecording<&flags::SetCount<&Recorded::sample>>, "", '\0', "N"},
    {"per-shape", kNumber, "10",
     "Record so many requests of the same verb, resource, groups, answer and fields; 0: all",
     &SetOfRecording<&flags::SetCount<&Recorded::per_shape>>, "", '\0', "N"},
    {"max-file-size", kNumber, "64", "Megabytes of a file, behind which the next one is begun",
     &SetOfRecording<&flags::SetCount<&Recorded::max_file_mb>>, "", '\0', "MB"},
    {"max-files", kNumber, "0", "Keep so many files and delete older ones; 0: all",
     &SetOfRecording<&flags::SetCount<&Recorded::max_files>>, "", '\0', "N"},
    {"listen", kText, "", "Receive AdmissionReviews as a webhook at this address",
     &SetOfWebhook<&flags::SetText<&Webhook::listen>>, "", '\0', "HOST:PORT"},
    {"service", kText, "", "Service that leads to that webhook: the certificate has its name",
     &SetOfWebhook<&flags::SetText<&Webhook::service>>, "", '\0', "NAMESPACE/NAME[:PORT]"},
    {"url", kText, "", "URL that leads to it (default https:// and the address of --listen)",
     &SetOfWebhook<&flags::SetText<&Webhook::url>>, "", '\0', "URL"},
    {"configuration", kText, "", "File for the configuration to apply (default standard output)",
     &SetOfWebhook<&flags::SetText<&Webhook::configuration>>, "", '\0', "FILE"},
    {"mutating", flags::Type::kBool, "false",
     "Print a MutatingWebhookConfiguration that is called first: objects are recorded before\n"
     "other webhooks change them",
     &SetOfWebhook<&flags::SetBool<&Webhook::mutating>>, ""},
    {"cert-dir", kText, "",
     "Directory that keeps the certificate and its CA, so that the configuration stays good\n"
     "(default none: they are made at each start)",
     &SetOfWebhook<&flags::SetText<&Webhook::cert_dir>>, "", '\0', "DIR"},
};

std::vector<flags::Info> Flags() { return flags::InfosOf<RecordOptions>(kFlags); }

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

void PrintCounts(const audit::Recording& recording, const std::string& folder, std::FILE* out) {
  const auto counts = recording.counts();
  std::fputs(
      base::StrCat(std::to_string(counts.recorded), counts.recorded == 1 ? " request" : " requests",
                   " recorded in ", folder, "; left out: ", std::to_string(counts.alike),
                   " alike, ", std::to_string(counts.sampled), " by --sample, ",
                   std::to_string(counts.others), " that cannot be carried out anew\n")
          .c_str(),
      out);
}

int Run(const std::vector<std::string>& arguments) {
  RecordOptions options;
  auto line = flags::Parse<RecordOptions>(kFlags, arguments,
                                          {"portcullis record", flags::Arguments::kAny}, options);
  if (!line.ok()) return UsageError(kRecord.name, line.status().message());
  if (line->help) return PrintHelp(kRecord);
  const std::string& folder = options.recording.folder;
  if (folder.empty()) return UsageError(kRecord.name, "--to names no directory");
  const bool listens = !options.webhook.listen.empty();
  if (listens && !line->arguments.empty()) {
    return UsageError(kRecord.name, "--listen records what it receives, and no FILE");
  }
  const auto recording = audit::Recording::Open(options.recording, base::SystemClock());
  if (!recording.ok()) return Fail(recording.status().message());
  if (listens) {
    base::ConfigureLog(base::LogFormat::kText, base::LogLevel::kError);
    const base::Status served = RunRecordingWebhook(options.webhook, **recording);
    if (!served.ok()) return Fail(served.message());
    (*recording)->Flush();
    PrintCounts(**recording, folder, stderr);  // standard output has the configuration
    return kExitOk;
  }
  if (line->arguments.empty()) line->arguments.emplace_back("-");
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
  PrintCounts(**recording, folder, stdout);
  return wrong == 0 ? kExitOk : kExitRefused;
}

}  // namespace

const Command kRecord = {
    "record", "make a recording of the requests of a cluster", &Run, &Flags, kUsage, kExitCodes};

}  // namespace portcullis::cli
