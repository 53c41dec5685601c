// SPDX-License-Identifier: Apache-2.0

#include "own_server.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>

#include "base/strings.h"

namespace portcullis::load {
namespace {

constexpr int kTries = 3000;  // of 10 ms

void Pause(long milliseconds) {
  const timespec pause{.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1'000'000};
  nanosleep(&pause, nullptr);
}

}  // namespace

base::Result<std::unique_ptr<OwnServer>> OwnServer::Start(net::IoThreads& threads,
                                                          const std::string& binary,
                                                          const std::string& flags) {
  auto server = std::unique_ptr<OwnServer>(new OwnServer);
  server->folder_ = (std::filesystem::temp_directory_path() / "portcullis-load-XXXXXX").string();
  if (::mkdtemp(server->folder_.data()) == nullptr) return base::ConfigError("no temporary folder");
  const std::string line = base::StrCat(
      "exec '", binary, "' serve --bind-address=127.0.0.1 --secure-port=0 --data-dir='",
      server->folder_, "' ", flags, " >'", server->folder_, "/log' 2>&1");
  server->pid_ = fork();
  if (server->pid_ == 0) {
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  TargetOptions options;
  options.pids = {server->pid_};
  const std::string kubeconfig = server->folder_ + "/admin.kubeconfig";
  for (int i = 0; i < kTries; ++i) {
    if (waitpid(server->pid_, nullptr, WNOHANG) == server->pid_) {
      server->pid_ = 0;
      return base::ConfigError(base::StrCat(binary, " has ended at once"));
    }
    if (std::filesystem::exists(kubeconfig) && ReadKubeconfig(kubeconfig, options).ok()) {
      server->target_ = TRY(Target::Create(threads, options));
      if (server->target_->Call("GET", "/readyz") == 200) return server;
    }
    Pause(10);
  }
  return base::ConfigError(base::StrCat(binary, " does not get ready"));
}

OwnServer::~OwnServer() {
  target_.reset();
  if (pid_ != 0) {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void OwnServer::Settle() const {
  double before = cpu_seconds();
  for (int quiet = 0, i = 0; quiet < 3 && i < 300; ++i) {
    Pause(100);
    const double now = cpu_seconds();
    quiet = now - before < 0.004 ? quiet + 1 : 0;
    before = now;
  }
}

}  // namespace portcullis::load
