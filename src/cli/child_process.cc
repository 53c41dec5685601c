// SPDX-License-Identifier: Apache-2.0

#include "cli/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/file.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::cli {
namespace {

constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;
constexpr int kSignalled = 128;
constexpr int kNeverBegun = 125;

// Everything that comes through the pipe; "" if the parent has ended.
std::string ReadAll(int pipe) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count = read(pipe, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

// The child: waits for its environment, then becomes the command.
[[noreturn]] void Become(std::span<const std::string> command, int gate, const sigset_t& mask) {
  // If the server is killed, its command does not go on against nothing.
  prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  const std::string environment = ReadAll(gate);
  if (environment.empty()) _exit(kNeverBegun);
  for (const std::string_view row : base::Split(environment, '\0')) {
    const auto pair = base::Cut(row, "=");
    if (pair) setenv(std::string(pair->first).c_str(), std::string(pair->second).c_str(), 1);
  }
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvp(words[0], words.data());
  const int error = errno;
  const bool was_searched = error == ENOENT && command[0].find('/') == std::string::npos;
  std::fprintf(
      stderr, "Error: exec: %s: %s\n", base::GoQuote(command[0]).c_str(),
      was_searched ? "executable file not found in $PATH" : base::ErrnoText(error).c_str());
  _exit(error == ENOENT ? kNotFound : kCannotExecute);
}

}  // namespace

base::Result<ChildProcess> ChildProcess::Fork(std::span<const std::string> command,
                                              const sigset_t& mask) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return base::ConfigError(base::StrCat("pipe: ", base::ErrnoText(errno)));
  }
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[1]);
    Become(command, ends[0], mask);
  }
  const int error = errno;
  close(ends[0]);
  if (pid > 0) return ChildProcess(pid, ends[1]);
  close(ends[1]);
  return base::ConfigError(base::StrCat("fork: ", base::ErrnoText(error)));
}

ChildProcess::~ChildProcess() {
  if (gate_ >= 0) close(gate_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

base::Status ChildProcess::Begin(const Environment& environment) {
  std::string text;
  for (const auto& [name, value] : environment) {
    text += base::StrCat(name, "=", value);
    text += '\0';
  }
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t count = write(gate_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::ConfigError(base::StrCat("exec: ", base::ErrnoText(errno)));
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  close(std::exchange(gate_, -1));
  return base::OkStatus();
}

int ChildProcess::Wait(const sigset_t& signals) {
  int status = 0;
  while (true) {
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_ || (ended < 0 && errno != EINTR)) break;
    siginfo_t info{};
    const int signal = sigwaitinfo(&signals, &info);
    // The kernel sends to all of a terminal's foreground, the command included.
    if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL) kill(pid_, signal);
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace portcullis::cli
