// SPDX-License-Identifier: Apache-2.0

#include "cli/server_process.h"

#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "cli/confinement.h"
#include "net/io_threads.h"

namespace portcullis::cli {
namespace {

constexpr int kFirstFreePort = 1024;  // those below take a capability

// Every request takes memory and gives it back at its end. By default glibc would return it to the
// system each time, one mprotect and some page faults per request; what is large (a list) still is
// returned at once.
//
// glibc makes up to eight heaps for each core, and gives one to each thread as the threads first
// allocate: what a thread leaves free in its heap is of no use to threads of other heaps, and most
// threads allocate seldom. With as many heaps as there are I/O threads and one more, less is left
// free. Nothing keeps an I/O thread's heap its own: threads that come later share those that are there.
void TuneMemory() {
  mallopt(M_ARENA_MAX, net::IoThreads::DefaultCount() + 1);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
  mallopt(M_TOP_PAD, 256 << 10);
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
}

std::string Environment(const char* name, const char* other_name) {
  for (const char* variable : {name, other_name}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

// Adds advice to an error of the start whose text does not say what to do.
base::Status WithHint(const base::Status& error, const server::Options& options) {
  const std::string_view text = error.message();
  std::string hint;
  if (text.ends_with("bind: address already in use")) {
    hint =
        base::StrCat("another program listens on port ", std::to_string(options.secure_port),
                     ": stop it, or choose another one (--secure-port=0 takes any that is free)");
  } else if (text.ends_with("bind: permission denied")) {
    hint = "ports below 1024 are for root: choose another one with --secure-port";
  } else if (text.ends_with("bind: cannot assign requested address")) {
    hint = "--bind-address must be an address of this machine, or 0.0.0.0 or :: for all of them";
  }
  return hint.empty() ? error : base::ConfigError(base::StrCat(text, "\nHint: ", hint));
}

}  // namespace

std::optional<int> ReadServerFlags(const Command& command,
                                   const std::vector<std::string>& arguments,
                                   server::Options& options) {
  const std::string name = base::StrCat("portcullis ", command.name);
  auto parsed = server::ParseOptions(arguments, options, name);
  if (!parsed.ok()) return UsageError(command.name, parsed.status().message());
  options = *std::move(parsed);
  options.https_proxy = Environment("HTTPS_PROXY", "https_proxy");
  options.no_proxy = Environment("NO_PROXY", "no_proxy");
  if (options.help) return PrintHelp(command);
  const auto problems = server::CheckOptions(options);
  for (const std::string& problem : problems) std::fprintf(stderr, "Error: %s\n", problem.c_str());
  if (!problems.empty()) return kExitUsage;
  return std::nullopt;
}

void LogChoices(const server::Options& options) {
  for (const std::string& note : options.notes) base::LogInfo(note);
  // What the operator has left open, before the folder is made that would be the first to close.
  for (const std::string& door : server::OpenDoors(options)) base::LogWarning(door);
}

base::Result<std::unique_ptr<server::ApiServer>> StartServer(const server::Options& options) {
  TRY(Confine({.allow_core_dumps = options.allow_core_dumps,
               .binds_low_port = options.secure_port > 0 && options.secure_port < kFirstFreePort}));
  TuneMemory();
  std::signal(SIGPIPE, SIG_IGN);
  auto server = TRY(server::ApiServer::Create(options, base::SystemClock()));
  RemoveReadyFile(options);  // of a server that was killed; the data folder is ours now
  if (const base::Status running = server->Start(); !running.ok()) {
    return WithHint(running, options);
  }
  if (!options.ready_file.empty()) {
    const base::Status written = base::WriteFile(
        options.ready_file, base::StrCat(server->url(), "\n"), base::Durability::kNone);
    if (!written.ok()) return written.Annotate("--ready-file");
  }
  return server;
}

void RemoveReadyFile(const server::Options& options) {
  if (!options.ready_file.empty()) unlink(options.ready_file.c_str());
}

sigset_t BlockSignals(std::initializer_list<int> signals, sigset_t* before) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, before);
  return set;
}

int WaitForSignal(const sigset_t& signals, std::chrono::nanoseconds duration) {
  if (duration.count() <= 0) return 0;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  const timespec time{static_cast<std::time_t>(seconds.count()),
                      static_cast<long>((duration - seconds).count())};
  return std::max(sigtimedwait(&signals, nullptr, &time), 0);
}

}  // namespace portcullis::cli
