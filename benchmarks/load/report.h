// SPDX-License-Identifier: Apache-2.0

// Prints what was measured, beside what it is compared with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios.h"
#include "startup.h"

namespace portcullis::load {

struct Row {
  const Scenario* scenario = nullptr;
  std::string error;  // preparation failed
  ScenarioResult server;
  std::optional<ScenarioResult> baseline;  // from a second server
  Estimate cpu;                            // ratios to it
  Estimate rate;
};

struct Report {
  bool baseline_is_recorded = true;
  int connections = 0;
  std::vector<Row> rows;
  std::optional<StartFigures> start;
  bool has_cpu = false;  // process ids were given
};

std::string AsText(const Report& report);
std::string AsJson(const Report& report);

}  // namespace portcullis::load
