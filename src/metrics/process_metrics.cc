// SPDX-License-Identifier: Apache-2.0

#include "metrics/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/strings.h"

namespace portcullis::metrics {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

double Limit(__rlimit_resource what) {
  rlimit limit{};
  getrlimit(what, &limit);
  return static_cast<double>(limit.rlim_cur);
}

double OpenFiles() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int count = -3;  // ".", ".." and the folder itself
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

// A number in a file of /proc: the `index`-th word behind `prefix`; 0 if it cannot be read.
double NumberIn(const std::string& path, std::string_view prefix, std::size_t index) {
  const auto text = base::ReadFile(path);
  if (!text.ok()) return 0;
  const std::size_t at = prefix.empty() ? 0 : text->rfind(prefix);
  if (at == std::string::npos) return 0;
  const std::string_view rest = std::string_view(*text).substr(at + prefix.size());
  std::size_t seen = 0;
  for (const std::string_view line : base::Split(rest, '\n')) {
    for (const std::string_view word : base::Split(line, ' ')) {
      if (word.empty() || seen++ != index) continue;
      return static_cast<double>(base::ParseInt(word).value_or(0));
    }
  }
  return 0;
}

// proc(5), /proc/self/statm: the size of the program and its resident set, in pages.
double Pages(std::size_t index) {
  return NumberIn("/proc/self/statm", "", index) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// The number of the second line of "IpExt:" that stands where the first one has the name.
double NetworkOctets(std::string_view name) {
  const auto text = base::ReadFile("/proc/self/net/netstat");
  if (!text.ok()) return 0;
  std::vector<std::string_view> names;
  for (const std::string_view line : base::Split(*text, '\n')) {
    if (!line.starts_with("IpExt:")) continue;
    const auto words = base::Split(line, ' ');
    if (names.empty()) {
      names.assign(words.begin(), words.end());
      continue;
    }
    for (std::size_t i = 0; i < names.size() && i < words.size(); ++i) {
      if (names[i] == name) return static_cast<double>(base::ParseInt(words[i]).value_or(0));
    }
  }
  return 0;
}

}  // namespace

// The 22nd field of /proc/self/stat, the 20th behind the name: in ticks since the system started.
double ProcessStart() {
  const double started = NumberIn("/proc/self/stat", ")", 19);
  return NumberIn("/proc/stat", "btime", 0) + started / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void AddProcessStart(Registry& registry, Stability stability) {
  registry.AddGaugeFunction({"process_start_time_seconds",
                             "Start time of the process since unix epoch in seconds.", stability},
                            [started = ProcessStart()] { return started; });
}

void AddProcessMetrics(Registry& registry) {
  const auto gauge = [&](std::string name, std::string help, std::function<double()> value) {
    registry.AddGaugeFunction({std::move(name), std::move(help), Stability::kNone},
                              std::move(value));
  };
  registry.AddCounterFunction(
      {"process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
       Stability::kNone},
      CpuSeconds);
  registry.AddCounterFunction(
      {"process_network_receive_bytes_total",
       "Number of bytes received by the process over the network.", Stability::kNone},
      [] { return NetworkOctets("InOctets"); });
  registry.AddCounterFunction(
      {"process_network_transmit_bytes_total",
       "Number of bytes sent by the process over the network.", Stability::kNone},
      [] { return NetworkOctets("OutOctets"); });
  gauge("process_max_fds", "Maximum number of open file descriptors.",
        [] { return Limit(RLIMIT_NOFILE); });
  gauge("process_open_fds", "Number of open file descriptors.", OpenFiles);
  gauge("process_resident_memory_bytes", "Resident memory size in bytes.", [] { return Pages(1); });
  AddProcessStart(registry);
  gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", [] { return Pages(0); });
  gauge("process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.",
        [] { return Limit(RLIMIT_AS); });
}

}  // namespace portcullis::metrics
