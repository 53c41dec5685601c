// SPDX-License-Identifier: Apache-2.0

#include "startup.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "base/clock.h"
#include "base/strings.h"

namespace portcullis::load {
namespace {

constexpr auto kGiveUp = std::chrono::seconds(60);

void Pause(long milliseconds) {
  const timespec pause{.tv_sec = 0, .tv_nsec = milliseconds * 1'000'000};
  nanosleep(&pause, nullptr);
}

pid_t Start(const std::string& command) {
  const std::string line = "exec " + command;
  const pid_t pid = fork();
  if (pid != 0) return pid;
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
  _exit(127);
}

void Stop(pid_t pid) {
  kill(pid, SIGTERM);
  waitpid(pid, nullptr, 0);
}

}  // namespace

base::Result<StartFigures> MeasureStart(const std::string& command, int times,
                                        const Target& target) {
  const auto& clock = base::SystemClock();
  if (target.Call("GET", "/readyz") == 200) {
    return base::ConfigError("--start: a server answers at that address already");
  }
  StartFigures figures;
  for (int i = 0; i < times; ++i) {
    const auto begin = clock.Steady();
    const pid_t pid = Start(command);
    while (target.Call("GET", "/readyz") != 200) {
      if (waitpid(pid, nullptr, WNOHANG) == pid) {
        return base::ConfigError("--start: the command ended before it was ready");
      }
      if (clock.Steady() - begin > kGiveUp) {
        Stop(pid);
        return base::ConfigError("--start: not ready after a minute");
      }
      Pause(1);
    }
    figures.ready_milliseconds.push_back(
        std::chrono::duration<double, std::milli>(clock.Steady() - begin).count());
    Pause(500);
    figures.idle_megabytes = UsageOf({pid}).memory_megabytes;
    Stop(pid);
  }
  std::sort(figures.ready_milliseconds.begin(), figures.ready_milliseconds.end());
  return figures;
}

}  // namespace portcullis::load
