// SPDX-License-Identifier: Apache-2.0

// Drives a Kubernetes API server with load and prints what it cost. See README.md.
#include <algorithm>
#include <cstdio>

#include "base/strings.h"
#include "goals.h"
#include "options.h"
#include "report.h"
#include "scenarios.h"
#include "startup.h"
#include "target.h"
#include "webhooks.h"

namespace portcullis::load {
namespace {

base::Result<std::vector<const Scenario*>> Chosen(const std::vector<std::string>& names) {
  std::vector<const Scenario*> chosen;
  for (const auto& scenario : Scenarios()) {
    if (names.empty()) chosen.push_back(&scenario);
  }
  for (const auto& name : names) {
    const auto found = std::find_if(Scenarios().begin(), Scenarios().end(),
                                    [&](const auto& scenario) { return scenario.name == name; });
    if (found == Scenarios().end()) {
      return base::ConfigError(base::StrCat("no scenario is called ", name, "; --list names them"));
    }
    chosen.push_back(&*found);
  }
  return chosen;
}

base::Status Measure(const Target& target, const Target* baseline, const WebhookServer& webhooks,
                     const RunOptions& run, Row& row) {
  if (baseline == nullptr) {
    row.server = TRY(RunScenario(*row.scenario, target, webhooks, run));
    return base::OkStatus();
  }
  ScenarioDuel duel = TRY(RunScenarioInTurn(*row.scenario, target, *baseline, webhooks, run));
  row.server = std::move(duel.first);
  row.baseline = std::move(duel.second);
  row.cpu = duel.cpu;
  row.rate = duel.rate;
  return base::OkStatus();
}

base::Status Run(const Options& options) {
  const auto scenarios = TRY(Chosen(options.scenarios));
  net::IoThreads load_threads(options.threads);
  net::IoThreads webhook_threads(1);
  const auto target = TRY(Target::Create(load_threads, options.server));
  std::unique_ptr<Target> baseline;
  if (!options.baseline.url.empty()) baseline = TRY(Target::Create(load_threads, options.baseline));
  const auto webhooks = TRY(WebhookServer::Start(webhook_threads, options.webhook_listen));

  Report report;
  report.baseline_is_recorded = baseline == nullptr;
  report.connections = options.connections;
  report.has_cpu = !options.server.pids.empty();
  if (!options.start.empty()) {
    report.start = TRY(MeasureStart(options.start, options.starts, *target));
  } else {
    const RunOptions run{.connections = options.connections,
                         .warmup_seconds = options.warmup,
                         .seconds = options.seconds};
    for (const auto* scenario : scenarios) {
      std::fprintf(stderr, "%s: %s\n", std::string(scenario->name).c_str(),
                   std::string(scenario->summary).c_str());
      Row row;
      row.scenario = scenario;
      if (const auto status = Measure(*target, baseline.get(), *webhooks, run, row); !status.ok()) {
        row.error = status.message();
      }
      report.rows.push_back(std::move(row));
    }
  }
  const auto text = options.json ? AsJson(report) : AsText(report);
  std::fputs(text.c_str(), stdout);
  return base::OkStatus();
}

base::Status Main(int argc, char** argv) {
  const Options options = TRY(ParseOptions(argc, argv));
  if (options.help) {
    std::fputs(HelpText().c_str(), stdout);
    return base::OkStatus();
  }
  if (options.list) {
    for (const auto& scenario : Scenarios()) {
      std::printf("%-20s %s\n", std::string(scenario.name).c_str(),
                  std::string(scenario.summary).c_str());
    }
    for (const auto& goal : Goals()) {
      std::printf("%-20s a goal: %s\n", std::string(goal.name).c_str(),
                  std::string(goal.summary).c_str());
    }
    return base::OkStatus();
  }
  return options.serve.empty() ? Run(options) : RunGoals(options);
}

}  // namespace
}  // namespace portcullis::load

int main(int argc, char** argv) {
  const auto status = portcullis::load::Main(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "portcullis-load: %s\n", status.message().c_str());
  return 2;
}
