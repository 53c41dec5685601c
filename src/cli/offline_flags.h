// SPDX-License-Identifier: Apache-2.0

// The flags that the offline commands share: what is read, what the cluster is like, who asks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/live_cluster.h"
#include "flags/flags.h"
#include "net/client.h"
#include "net/io_threads.h"
#include "offline/judge.h"
#include "offline/report/format.h"
#include "offline/webhooks.h"

namespace portcullis::cli {

struct OfflineOutput {
  const offline::Format* format = nullptr;
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
  bool rules = false;  // lint: print them
  std::string init;    // test: the policy to write a test file for
  bool force = false;
  bool cluster = false;
  LiveCluster live;
  std::vector<std::string> diff_old;
  std::vector<std::string> diff_new;
  std::vector<std::string> diff_versions;
  std::string form = "text";
};

using OfflineFlag = flags::Flag<OfflineOptions>;

// `own` rows, then those that all offline commands have.
std::vector<OfflineFlag> WithSharedFlags(std::span<const OfflineFlag> own);
// `own` rows, then those of these names.
std::vector<OfflineFlag> WithSharedFlags(std::span<const OfflineFlag> own,
                                         std::span<const std::string_view> names);

// The setter of --output: FORMAT[=FILE].
base::Status AddOutput(OfflineOptions& options, std::string_view value);
// Writes the report in every form that is asked for.
base::Status PrintReport(const offline::Report& report, const OfflineOptions& options);

// The client that webhooks are called with, as long as it lives.
class WebhookClient {
 public:
  // Settles how webhooks are called, and tells `options`, which it outlives.
  static base::Result<std::unique_ptr<WebhookClient>> Create(OfflineOptions& options);

 private:
  offline::WebhookPlan plan_;
  std::unique_ptr<net::IoThreads> threads_;
  std::unique_ptr<net::HttpsClient> https_;
};

// Reads the inputs, and what they lack from a running cluster if a flag says so. An
// AdmissionConfiguration among them is used unless a flag names one.
base::Result<offline::Inputs> ReadOfflineInputs(OfflineOptions& options);

// Whether standard output is a terminal that takes colors (NO_COLOR: none does).
bool UsesColor();

}  // namespace portcullis::cli
