// SPDX-License-Identifier: Apache-2.0

#include "cli/serve.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "base/strings.h"
#include "cli/confinement.h"
#include "cli/server_process.h"
#include "cli/service_manager.h"

namespace portcullis::cli {
namespace {

constexpr std::chrono::seconds kGrace{10};
// How long controllers are busy with a new cluster, and more.
constexpr std::chrono::seconds kSettles{2};

constexpr std::string_view kUsage =
    R"(Serves the Kubernetes API: objects are kept in --data-dir, every built-in admission controller
runs, webhooks and policies are called. Certificates and a kubeconfig are made at first start.

Usage:
  portcullis serve [flags]

Examples:
  portcullis serve                                     port 6443 of this machine, data in ./portcullis-data
  portcullis serve --bind-address=0.0.0.0              other machines may connect, too
  portcullis serve --store=memory --secure-port=0      nothing on disk but certificates, any port
  portcullis serve --webhook-service-map=default/hook:443=127.0.0.1:8443
)";

constexpr std::string_view kExitCodes = R"(
SIGINT and SIGTERM stop the server. Exit status: 0 it was stopped, 2 a flag, file, directory or port is
wrong.
)";

// Ends the program with a signal that comes while the server starts, which may wait for etcd for a minute: nothing
// is served yet, and what is on the disk is whole at any moment.
class EndsOnSignal {
 public:
  explicit EndsOnSignal(sigset_t signals) : started_(BlockSignals({kStarted})) {
    sigaddset(&signals, kStarted);
    thread_ = std::thread([signals] {
      int signal = 0;
      sigwait(&signals, &signal);
      if (signal != kStarted) _exit(kExitOk);
    });
  }
  ~EndsOnSignal() {
    pthread_kill(thread_.native_handle(), kStarted);
    thread_.join();
    pthread_sigmask(SIG_UNBLOCK, &started_, nullptr);
  }

 private:
  static constexpr int kStarted = SIGUSR1;
  const sigset_t started_;
  std::thread thread_;
};

int Run(const std::vector<std::string>& arguments) {
  const base::SteadyTime started = base::SystemClock().Steady();
  server::Options options;
  if (const auto end = ReadServerFlags(kServe, arguments, options)) return *end;
  base::ConfigureLog(options.log_format == "json" ? base::LogFormat::kJson : base::LogFormat::kText,
                     options.verbosity > 3 ? base::LogLevel::kDebug : base::LogLevel::kInfo);
  LogChoices(options);
  if (RunsAsRoot()) {
    base::LogWarning("running as root, which is not needed: run it as another user");
  }
  const sigset_t signals = BlockSignals({SIGINT, SIGTERM});
  auto starting = std::make_unique<EndsOnSignal>(signals);
  auto server = StartServer(options);
  starting.reset();
  if (!server.ok()) {
    std::fprintf(stderr, "Error: %s\n", server.status().message().c_str());
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
  std::clearerr(stdout);  // a server goes on without a reader
  NotifyServiceManager("READY=1");
  int signal = WaitForSignal(signals, kSettles);
  if (signal == 0) {
    (*server)->ForgetStart();
    sigwait(&signals, &signal);
  }
  base::LogInfo("stopping", {{"signal", signal == SIGINT ? "SIGINT" : "SIGTERM"}});
  NotifyServiceManager("STOPPING=1");
  (*server)->AnnounceStop();
  RemoveReadyFile(options);
  WaitForSignal(signals, options.shutdown_delay);
  (*server)->Stop(kGrace);
  return kExitOk;
}

}  // namespace

const Command kServe = {"serve", "run the API server", &Run, &server::Flags, kUsage, kExitCodes};

}  // namespace portcullis::cli
