// SPDX-License-Identifier: Apache-2.0

// Keeps a number of requests under way for some seconds and tells how it went.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "target.h"

namespace portcullis::load {

struct Figures {
  double requests_per_second = 0;
  double p50_milliseconds = 0;
  double p99_milliseconds = 0;
  double cpu_milliseconds = 0;  // of the server's processes, per request
  double memory_megabytes = 0;  // resident, when the run ended
  std::size_t requests = 0;
  std::size_t highest_number = 0;  // requests made, those of the warm-up included
  std::size_t errors = 0;
  std::string first_error;
  std::vector<float> latencies;  // of all requests, in milliseconds, sorted
};

// Sorts the latencies and makes the percentiles of them.
void SetPercentiles(Figures& figures);

// Makes the n-th request. Called from I/O threads, at most one call at a time per connection.
using MakeRequest = std::function<net::ClientRequest(std::size_t number)>;

struct RunOptions {
  int connections = 16;
  double warmup_seconds = 1;
  double seconds = 5;
};

// Blocks. Requests of the warm-up are not counted; the numbers go on from there.
Figures RunLoad(const Target& target, const RunOptions& options, const MakeRequest& make);

// Makes the requests 0 to count-1 in the same way, whatever comes back. Blocks. `on_result` may be
// null; it is called from I/O threads.
void RunEach(const Target& target, int connections, std::size_t count, const MakeRequest& make,
             const std::function<void(const net::CallResult&)>& on_result = nullptr);

}  // namespace portcullis::load
