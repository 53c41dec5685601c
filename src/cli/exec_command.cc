// SPDX-License-Identifier: Apache-2.0

#include "cli/exec_command.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "cli/child_process.h"
#include "cli/server_process.h"
#include "cli/temporary_folder.h"

namespace portcullis::cli {
namespace {

constexpr int kExitNotRun = 125;  // as env, timeout and docker run
constexpr std::chrono::seconds kGrace{2};

constexpr std::string_view kUsage =
    R"(Starts a server for one command: on a free port of this machine, its objects in memory. When the
server is ready the command is run with KUBECONFIG naming it; when the command ends the server and
its kubeconfig are gone.

Usage:
  portcullis exec [flags] -- COMMAND [ARGUMENT...]

The flags are those of portcullis serve, with other defaults: --store=memory, --secure-port=0, and no
--data-dir: there are no files but a kubeconfig. Only warnings and errors are logged, with --v=1 all.

The command gets
  KUBECONFIG             the administrator's kubeconfig
  PORTCULLIS_URL         the server, https://127.0.0.1:PORT
  USE_EXISTING_CLUSTER   true: controller-runtime's envtest uses this server and starts none

Examples:
  portcullis exec -- kubectl get namespaces
  portcullis exec -- go test ./...
  portcullis exec --admission-control-config-file=admission.yaml -- ./e2e.sh
  portcullis exec -- sh -c 'kubectl apply -f policies/ && kubectl apply -f deploy/'
)";

constexpr std::string_view kExitCodes = R"(
Signals are handed on to the command. Exit status: that of the command, 128 + N if signal N has ended
it; 127 the command was not found, 126 it cannot be executed; 125 the server could not be started.
)";

// What the command finds in its environment.
ChildProcess::Environment EnvironmentFor(const server::ApiServer& server) {
  std::error_code error;
  const auto kubeconfig = std::filesystem::absolute(server.kubeconfig_path(), error);
  return {{"KUBECONFIG", error ? server.kubeconfig_path() : kubeconfig.string()},
          {"PORTCULLIS_URL", server.url()},
          {"USE_EXISTING_CLUSTER", "true"}};
}

base::Result<int> RunWithServer(server::Options& options, std::span<const std::string> command) {
  std::optional<TemporaryFolder> folder;
  if (options.data_dir.empty() && options.write_kubeconfig.empty()) {
    folder.emplace(TRY(TemporaryFolder::Create("portcullis-exec")));
    options.write_kubeconfig = base::StrCat(folder->path(), "/kubeconfig");
  }
  std::signal(SIGCHLD, SIG_DFL);  // a parent that ignores it would have us never hear of the child
  sigset_t before;
  const sigset_t signals = BlockSignals(
      {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH}, &before);
  ChildProcess child = TRY(ChildProcess::Fork(command, before));
  const auto server = TRY(StartServer(options));
  TRY(child.Begin(EnvironmentFor(*server)));
  const int code = child.Wait(signals);
  server->AnnounceStop();
  RemoveReadyFile(options);
  server->Stop(kGrace);
  return code;
}

bool AsksForHelp(const std::vector<std::string>& flags) {
  return std::any_of(flags.begin(), flags.end(),
                     [](const std::string& word) { return word == "-h" || word == "--help"; });
}

int Run(const std::vector<std::string>& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const std::vector<std::string> flags(arguments.begin(), dashes);
  server::Options options;
  options.store = "memory";
  options.secure_port = 0;
  options.data_dir = "";
  const bool has_command = dashes != arguments.end() && dashes + 1 != arguments.end();
  if (!has_command && !AsksForHelp(flags)) {
    UsageError(kExec.name, "a command is missing: portcullis exec [flags] -- COMMAND");
    return kExitNotRun;
  }
  if (const auto end = ReadServerFlags(kExec, flags, options)) {
    return *end == kExitOk ? kExitOk : kExitNotRun;
  }
  base::ConfigureLog(options.log_format == "json" ? base::LogFormat::kJson : base::LogFormat::kText,
                     options.verbosity > 3   ? base::LogLevel::kDebug
                     : options.verbosity > 0 ? base::LogLevel::kInfo
                                             : base::LogLevel::kWarning);
  LogChoices(options);
  const std::vector<std::string> command(dashes + 1, arguments.end());
  const auto code = RunWithServer(options, command);
  if (code.ok()) return *code;
  std::fprintf(stderr, "Error: %s\n", code.status().message().c_str());
  return kExitNotRun;
}

}  // namespace

const Command kExec = {
    "exec", "run a command with a server of its own", &Run, &server::Flags, kUsage, kExitCodes};

}  // namespace portcullis::cli
