// SPDX-License-Identifier: Apache-2.0

#include "cli/serve.h"

#include <malloc.h>
#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "base/log.h"
#include "base/strings.h"
#include "cli/confinement.h"
#include "server/api_server.h"
#include "server/options.h"

namespace portcullis::cli {
namespace {

constexpr std::chrono::seconds kGrace{10};
constexpr int kFirstFreePort = 1024;  // those below take a capability

constexpr std::string_view kUsage =
    R"(Serves the Kubernetes API: objects are kept in --data-dir, every built-in admission controller
runs, webhooks and policies are called. Certificates and a kubeconfig are made at first start.

Usage:
  portcullis serve [flags]

Examples:
  portcullis serve                                     port 6443, data in ./portcullis-data
  portcullis serve --store=memory --secure-port=0      nothing on disk but certificates, any port
  portcullis serve --webhook-service-map=default/hook:443=127.0.0.1:8443

)";

// Every request takes memory and gives it back at its end. By default glibc would return it to the
// system each time, one mprotect and some page faults per request; what is large (a list) still is
// returned at once.
void TuneMemory() {
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
  mallopt(M_TOP_PAD, 256 << 10);
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
}

// Blocks the signals in this thread and all it starts; they are waited for below.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

std::string Environment(const char* name, const char* other_name) {
  for (const char* variable : {name, other_name}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

// Waits for that long (--shutdown-delay-duration), or until asked to stop once more.
void Delay(const sigset_t& signals, std::chrono::nanoseconds duration) {
  if (duration.count() <= 0) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  const timespec time{static_cast<std::time_t>(seconds.count()),
                      static_cast<long>((duration - seconds).count())};
  sigtimedwait(&signals, nullptr, &time);
}

int Run(const std::vector<std::string>& arguments) {
  const base::SteadyTime started = base::SystemClock().Steady();
  auto parsed = server::ParseOptions(arguments);
  if (!parsed.ok()) return UsageError(kServe.name, parsed.status().message());
  server::Options& options = *parsed;
  options.https_proxy = Environment("HTTPS_PROXY", "https_proxy");
  options.no_proxy = Environment("NO_PROXY", "no_proxy");
  if (options.help) {
    std::fputs(base::StrCat(kUsage, server::FlagHelp()).c_str(), stdout);
    return kExitOk;
  }
  const auto problems = server::CheckOptions(options);
  if (!problems.empty()) {
    for (const std::string& problem : problems)
      std::fprintf(stderr, "Error: %s\n", problem.c_str());
    return kExitUsage;
  }
  base::ConfigureLog(options.log_format == "json" ? base::LogFormat::kJson : base::LogFormat::kText,
                     options.verbosity > 3 ? base::LogLevel::kDebug : base::LogLevel::kInfo);
  for (const std::string& note : options.notes) base::LogInfo(note);
  // What the operator has left open, before the folder is made that would be the first to close.
  for (const std::string& door : server::OpenDoors(options)) base::LogWarning(door);
  if (RunsAsRoot()) {
    base::LogWarning("running as root, which is not needed: run it as another user");
  }
  const base::Status confined =
      Confine({.allow_core_dumps = options.allow_core_dumps,
               .binds_low_port = options.secure_port > 0 && options.secure_port < kFirstFreePort});
  if (!confined.ok()) {
    std::fprintf(stderr, "Error: %s\n", confined.message().c_str());
    return kExitUsage;
  }

  TuneMemory();
  const sigset_t signals = BlockSignals();
  auto server = server::ApiServer::Create(options, base::SystemClock());
  if (!server.ok()) {
    std::fprintf(stderr, "Error: %s\n", server.status().message().c_str());
    return kExitUsage;
  }
  const base::Status running = (*server)->Start();
  if (!running.ok()) {
    std::fprintf(stderr, "Error: %s\n", running.message().c_str());
    return kExitUsage;
  }
  base::LogInfo("serving",
                {{"url", (*server)->url()},
                 {"kubeconfig", (*server)->kubeconfig_path()},
                 {"after", base::FormatDuration(base::SystemClock().Steady() - started)}});
  std::fputs(base::StrCat("\nReady. In another terminal:\n"
                          "  export KUBECONFIG=",
                          (*server)->kubeconfig_path(),
                          "\n"
                          "  kubectl get ns\n"
                          "and then docs/walkthrough.md. Ctrl-C stops the server.\n\n")
                 .c_str(),
             stdout);
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  base::LogInfo("stopping", {{"signal", signal == SIGINT ? "SIGINT" : "SIGTERM"}});
  (*server)->AnnounceStop();
  Delay(signals, options.shutdown_delay);
  (*server)->Stop(kGrace);
  return kExitOk;
}

}  // namespace

const Command kServe = {"serve", "run the API server", &Run, &server::Flags};

}  // namespace portcullis::cli
