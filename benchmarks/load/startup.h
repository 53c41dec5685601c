// SPDX-License-Identifier: Apache-2.0

// How long a server takes from being started until it is ready, and what it then occupies.
#pragma once

#include <string>
#include <vector>

#include "target.h"

namespace portcullis::load {

struct StartFigures {
  std::vector<double> ready_milliseconds;  // one per start, sorted
  double idle_megabytes = 0;               // resident, half a second after the last got ready
};

// Runs `command` by the shell `times` times, asks `target` for /readyz until it says ok, and ends
// the command with SIGTERM. Blocks.
base::Result<StartFigures> MeasureStart(const std::string& command, int times,
                                        const Target& target);

}  // namespace portcullis::load
