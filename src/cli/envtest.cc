// SPDX-License-Identifier: Apache-2.0

#include "cli/envtest.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/log.h"
#include "base/strings.h"
#include "cli/etcd_stand_in.h"
#include "cli/server_process.h"

namespace portcullis::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kGrace{5};

constexpr std::string_view kUsage =
    R"help(Makes a directory for $KUBEBUILDER_ASSETS, so that controller-runtime's envtest starts this program:
links named kube-apiserver and etcd to it, and one named kubectl to the kubectl of $PATH. Prints the
directory.

Usage:
  portcullis envtest-assets DIR

Examples:
  export KUBEBUILDER_ASSETS="$(portcullis envtest-assets bin/portcullis)"
  go test ./...
)help";

constexpr std::string_view kServerUsage =
    R"(The API server of portcullis, under the name that envtest starts: objects are kept in memory, and no
file is written. The pair apiserver.crt, apiserver.key of --cert-dir is the serving certificate.
Controllers of kube-controller-manager run only if --controllers names them.

Usage:
  kube-apiserver [flags]
)";

extern const Command kApiServer;

int RunApiServer(const std::vector<std::string>& arguments) {
  server::Options options;
  options.store = "memory";
  options.data_dir = "";
  // kube-apiserver has none of kube-controller-manager's: suites end their namespaces themselves.
  options.controllers = {"-*"};
  if (const auto end = ReadServerFlags(kApiServer, arguments, options)) return *end;
  // The etcd that envtest starts and names is a stand-in.
  if (!options.etcd_servers.empty()) options.store = "memory";
  base::ConfigureLog(options.log_format == "json" ? base::LogFormat::kJson : base::LogFormat::kText,
                     options.verbosity > 3 ? base::LogLevel::kDebug : base::LogLevel::kInfo);
  const sigset_t signals = BlockSignals({SIGINT, SIGTERM});
  const auto server = StartServer(options);
  if (!server.ok()) {
    std::fprintf(stderr, "Error: %s\n", server.status().message().c_str());
    return kExitUsage;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  (*server)->AnnounceStop();
  RemoveReadyFile(options);
  (*server)->Stop(kGrace);
  return kExitOk;
}

const Command kApiServer = {"kube-apiserver", "", &RunApiServer, &server::Flags, kServerUsage};

int RunKubectl(const std::vector<std::string>&) {
  std::fputs(
      "Error: this name is a link to portcullis, which is no kubectl: install kubectl and run "
      "portcullis envtest-assets again\n",
      stderr);
  return kExitRefused;
}

// The kubectl of $PATH, but for links to this program; "" if there is none.
fs::path FindKubectl(const fs::path& self) {
  const char* path = std::getenv("PATH");
  if (path == nullptr) return {};
  for (const std::string_view folder : base::Split(path, ':')) {
    const fs::path candidate = fs::path(folder) / "kubectl";
    std::error_code error;
    fs::path real = fs::canonical(candidate, error);
    if (!error && real != self && access(real.c_str(), X_OK) == 0) return real;
  }
  return {};
}

base::Status Link(const fs::path& target, const fs::path& link) {
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(link, error))) fs::remove(link, error);
  fs::create_symlink(target, link, error);
  if (!error) return base::OkStatus();
  return base::ConfigError(base::StrCat("symlink ", link.string(), ": ", error.message()));
}

base::Result<std::string> MakeAssets(const std::string& where) {
  std::error_code error;
  const fs::path self = fs::canonical("/proc/self/exe", error);
  if (error) return base::ConfigError(base::StrCat("/proc/self/exe: ", error.message()));
  const fs::path folder = fs::absolute(where, error);
  if (!error) fs::create_directories(folder, error);
  if (error) return base::ConfigError(base::StrCat("mkdir ", where, ": ", error.message()));
  const fs::path kubectl = FindKubectl(self);
  TRY(Link(self, folder / "kube-apiserver"));
  TRY(Link(self, folder / "etcd"));
  TRY(Link(kubectl.empty() ? self : kubectl, folder / "kubectl"));
  return folder.string();
}

int RunAssets(const std::vector<std::string>& arguments) {
  struct None {};
  None none;
  const auto line = flags::Parse<None>({}, arguments,
                                       {"portcullis envtest-assets", flags::Arguments::kAny}, none);
  if (!line.ok()) return UsageError(kEnvtestAssets.name, line.status().message());
  if (line->help) return PrintHelp(kEnvtestAssets);
  if (line->arguments.size() != 1) return UsageError(kEnvtestAssets.name, "one DIR is needed");
  const auto folder = MakeAssets(line->arguments[0]);
  if (!folder.ok()) {
    std::fprintf(stderr, "Error: %s\n", folder.status().message().c_str());
    return kExitUsage;
  }
  std::puts(folder->c_str());
  return kExitOk;
}

}  // namespace

std::optional<int> RunAsAsset(std::string_view argv0, const std::vector<std::string>& arguments) {
  const std::string name = fs::path(argv0).filename().string();
  if (name == "kube-apiserver") return RunApiServer(arguments);
  if (name == "etcd") return RunEtcdStandIn(arguments);
  if (name == "kubectl") return RunKubectl(arguments);
  return std::nullopt;
}

const Command kEnvtestAssets = {"envtest-assets", "make links for controller-runtime's envtest",
                                &RunAssets, nullptr, kUsage};

}  // namespace portcullis::cli
