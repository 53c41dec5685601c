// SPDX-License-Identifier: Apache-2.0

// The flags that the offline commands share: what is read, what the cluster is like, who asks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/live_cluster.h"
#include "flags/flags.h"
#include "net/client.h"
#include "net/io_threads.h"
#include "offline/judge.h"
#include "offline/progress.h"
#include "offline/report/coverage_forms.h"
#include "offline/report/format.h"
#include "offline/webhooks.h"

namespace portcullis::cli {

struct OfflineOutput {
  const offline::Format* format = nullptr;
  std::string path;  // "": standard output
};

struct CoverageOutput {
  const offline::CoverageForm* form = nullptr;
  std::string path;  // "": standard output
};

// What the flags of all offline commands say.
struct OfflineOptions {
  offline::InputOptions inputs;
  offline::JudgeOptions judge;
  std::string webhooks = "skip";
  // Of single commands.
  std::vector<OfflineOutput> outputs;
  bool verbose = false;
  bool require_manifests = false;
  bool require_tests = false;
  int warn_exit_code = 0;
  bool fix = false;    // lint: mend
  bool rules = false;  // lint: print them
  std::string init;    // test: the policy to write a test file for
  bool force = false;
  std::string order;                     // explain: the kind whose order is shown
  bool server = false;                   // explain, replay: a running server judges
  bool impersonate = true;               // replay: as the users of the requests
  std::string webhook;                   // replay: the webhook that judges
  std::string webhook_ca;                // replay: file with what its certificate is verified by
  bool update = false;                   // test: rewrite expectations
  std::vector<CoverageOutput> coverage;  // test: what the cases reach of policies
  std::shared_ptr<offline::Progress> progress;  // null: nothing is shown
  bool cluster = false;
  LiveCluster live;
  std::vector<std::string> diff_old;
  std::vector<std::string> diff_new;
  std::vector<std::string> diff_versions;
  std::vector<std::string> diff_old_plugins;
  std::vector<std::string> diff_new_plugins;
};

using OfflineFlag = flags::Flag<OfflineOptions>;

// `own` rows, then those that all offline commands have.
std::vector<OfflineFlag> WithSharedFlags(std::span<const OfflineFlag> own);
// `own` rows, then those of these names.
std::vector<OfflineFlag> WithSharedFlags(std::span<const OfflineFlag> own,
                                         std::span<const std::string_view> names);

// The setter of --output: FORMAT[=FILE].
base::Status AddOutput(OfflineOptions& options, std::string_view value);
// --output of the commands whose report has a place for each finding.
inline constexpr OfflineFlag kReportOutput = {
    .name = "output",
    .type = flags::Type::kString,
    .default_text = "table",
    .meaning =
        "Form of the report: table, json, yaml, junit, sarif, github, …; with =FILE "
        "written to that\n"
        "file. May be repeated.",
    .set = &AddOutput,
    .shorthand = 'o',
    .value_name = "FORMAT[=FILE]"};
// What a command prints instead of a form of the report.
struct OwnForm {
  std::string_view name;  // "table"
  std::string text;
  std::string colored = {};  // for a terminal; "": the same
};
// Writes the report in every form that is asked for.
base::Status PrintReport(const offline::Report& report, const OfflineOptions& options,
                         std::span<const OwnForm> own = {});

// The client that webhooks are called with, as long as it lives.
class WebhookClient {
 public:
  // Settles how webhooks are called, and tells `options`, which it outlives.
  static base::Result<std::unique_ptr<WebhookClient>> Create(OfflineOptions& options);

 private:
  offline::WebhookPlan plan_;
  std::unique_ptr<net::IoThreads> threads_;
  std::unique_ptr<net::HttpsClient> https_;
  std::unique_ptr<offline::Handshakes> handshakes_;
};

// Reads the inputs, and what they lack from a running cluster if a flag says so. An
// AdmissionConfiguration among them is used unless a flag names one.
base::Result<offline::Inputs> ReadOfflineInputs(OfflineOptions& options);

// Replaces a file that a user has written: what a link names, with the permissions that it has.
base::Status RewriteFile(const std::string& path, const std::string& text);

// Prints to standard error what is changed in which file, then writes the files. Returns how many.
base::Result<std::size_t> WriteCorrections(std::span<const offline::Correction> corrections);

// Whether what is printed has colors: on a terminal, or, as logs of pipelines show them, if FORCE_COLOR
// says so; never if NO_COLOR does.
bool UsesColor();

}  // namespace portcullis::cli
