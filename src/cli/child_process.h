// SPDX-License-Identifier: Apache-2.0

// ChildProcess: a command that is forked early and begins later.
//
//   auto child = TRY(ChildProcess::Fork({"go", "test", "./..."}, signal_mask));
//   …                                       // the parent gives up rights, starts threads
//   child.Begin({{"KUBECONFIG", path}});
//   const int code = child.Wait(signals);
//
// It is forked before the parent confines itself and starts threads, so that the command runs with
// the rights, limits, umask and signals that the parent was started with. Until Begin() it waits;
// if the parent ends before, it ends, too. Confined to one thread.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace portcullis::cli {

class ChildProcess {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  // `mask`: the signals that the command has blocked. REQUIRES: a command, no other thread.
  static base::Result<ChildProcess> Fork(std::span<const std::string> command,
                                         const sigset_t& mask);
  ChildProcess(ChildProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), gate_(std::exchange(other.gate_, -1)) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  // A command that has not begun ends without having run.
  ~ChildProcess();

  // Lets the command run with these variables besides the parent's.
  base::Status Begin(const Environment& environment);

  // Waits for the end of the command and returns its exit code as a shell does: 128 + the number of
  // the signal that has ended it, 126 if it may not be executed, 127 if it is not found. Meanwhile
  // `signals`, blocked in this process, are handed on; SIGCHLD must be one of them. What the
  // terminal sends (Ctrl-C) reaches the command by itself and is not sent twice.
  int Wait(const sigset_t& signals);

 private:
  ChildProcess(pid_t pid, int gate) : pid_(pid), gate_(gate) {}

  pid_t pid_;
  int gate_;  // the writing end of the pipe that the child waits on; -1 when it has begun
};

}  // namespace portcullis::cli
