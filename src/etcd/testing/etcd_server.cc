// SPDX-License-Identifier: Apache-2.0

#include "etcd/testing/etcd_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <utility>

namespace portcullis::etcd::testing {
namespace {

constexpr std::string_view kReady = "serving client traffic";

// "" if there is none in PATH.
std::string FindProgram() {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin" : path;
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    const std::string candidate = std::string(rest.substr(0, colon)) + "/etcd";
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
  }
  return "";
}

}  // namespace

// What the program writes is read to its end, so that it is never blocked.
struct EtcdServer::Output {
  std::mutex mutex;
  std::condition_variable condition;
  std::string text;
  bool ready = false;
  bool ended = false;

  void Read(int fd) {
    char buffer[4096];
    for (ssize_t got = 0; (got = read(fd, buffer, sizeof(buffer))) > 0;) {
      const std::lock_guard<std::mutex> lock(mutex);
      text.append(buffer, static_cast<std::size_t>(got));
      if (!ready && text.find(kReady) != std::string::npos) {
        ready = true;
        condition.notify_all();
      }
    }
    close(fd);
    const std::lock_guard<std::mutex> lock(mutex);
    ended = true;
    condition.notify_all();
  }
};

bool EtcdServer::Available() { return !FindProgram().empty(); }

int EtcdServer::FreePort() {
  // The socket stays open and does not listen: etcd, which sets SO_REUSEADDR, can listen beside it, and the kernel gives
  // the port to no other socket that asks for any (ip(7), socket(7)).
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  bind(fd, reinterpret_cast<const sockaddr*>(&address), size);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

EtcdServer::EtcdServer() : EtcdServer(Options()) {}

EtcdServer::EtcdServer(Options options) : options_(std::move(options)) {
  std::string pattern = std::filesystem::temp_directory_path().string() + "/etcd-test-XXXXXX";
  if (mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
  port_ = FreePort();
  peer_port_ = options_.peer_port != 0 ? options_.peer_port : FreePort();
}

EtcdServer::~EtcdServer() {
  Kill();
  std::error_code error;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
}

std::string EtcdServer::endpoint() const {
  return (options_.tls.certificate_file.empty() ? "http" : "https") + std::string("://127.0.0.1:") +
         std::to_string(port_);
}

std::vector<std::string> EtcdServer::CommandLine() const {
  const std::string peer = "http://127.0.0.1:" + std::to_string(peer_port_);
  const std::string cluster =
      options_.initial_cluster.empty() ? options_.name + "=" + peer : options_.initial_cluster;
  std::vector<std::string> line = {FindProgram(),
                                   "--name=" + options_.name,
                                   "--data-dir=" + folder_ + "/data",
                                   "--listen-client-urls=" + endpoint(),
                                   "--advertise-client-urls=" + endpoint(),
                                   "--listen-peer-urls=" + peer,
                                   "--initial-advertise-peer-urls=" + peer,
                                   "--initial-cluster=" + cluster,
                                   "--logger=zap",
                                   "--log-outputs=stderr"};
  if (options_.initial_cluster.empty()) {
    // A lone member elects itself after one of these.
    line.insert(line.end(), {"--heartbeat-interval=10", "--election-timeout=100"});
  }
  if (!options_.tls.certificate_file.empty()) {
    line.insert(line.end(), {"--cert-file=" + options_.tls.certificate_file,
                             "--key-file=" + options_.tls.key_file,
                             "--trusted-ca-file=" + options_.tls.ca_file, "--client-cert-auth"});
  }
  line.insert(line.end(), options_.arguments.begin(), options_.arguments.end());
  return line;
}

bool EtcdServer::Start(bool wait) {
  if (pid_ > 0) Kill();
  const std::vector<std::string> line = CommandLine();
  std::vector<char*> arguments;
  for (const std::string& argument : line) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  int ends[2];
  if (folder_.empty() || pipe2(ends, O_CLOEXEC) != 0) return false;
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(ends[1], STDERR_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  output_ = std::make_shared<Output>();
  reader_ = std::thread([output = output_, fd = ends[0]] { output->Read(fd); });
  return pid_ > 0 && (!wait || WaitUntilReady());
}

bool EtcdServer::WaitUntilReady() {
  std::unique_lock<std::mutex> lock(output_->mutex);
  output_->condition.wait_for(lock, std::chrono::seconds(60),
                              [&] { return output_->ready || output_->ended; });
  if (!output_->ready) std::fprintf(stderr, "%s\n", output_->text.c_str());
  return output_->ready;
}

void EtcdServer::Stop(int signal) {
  if (pid_ > 0) {
    kill(pid_, signal);
    Resume();
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  if (reader_.joinable()) reader_.join();
}

void EtcdServer::Pause() {
  kill(pid_, SIGSTOP);
  int status = 0;
  waitpid(pid_, &status, WUNTRACED);  // its threads may run on for a moment
}
void EtcdServer::Resume() { kill(pid_, SIGCONT); }

EtcdCluster::EtcdCluster(int size, std::vector<std::string> arguments) {
  std::vector<int> ports;
  std::string cluster;
  for (int i = 0; i < size; ++i) {
    ports.push_back(EtcdServer::FreePort());
    cluster += (i == 0 ? "m" : ",m") + std::to_string(i) +
               "=http://127.0.0.1:" + std::to_string(ports.back());
  }
  for (int i = 0; i < size; ++i) {
    EtcdServer::Options options;
    options.name = "m" + std::to_string(i);
    options.initial_cluster = cluster;
    options.peer_port = ports[static_cast<std::size_t>(i)];
    options.arguments = arguments;
    members_.push_back(std::make_unique<EtcdServer>(std::move(options)));
  }
}

bool EtcdCluster::Start() {
  for (const auto& member : members_) {
    if (!member->Start(false)) return false;
  }
  for (const auto& member : members_) {
    if (!member->WaitUntilReady()) return false;
  }
  return true;
}

std::vector<std::string> EtcdCluster::endpoints() const {
  std::vector<std::string> all;
  for (const auto& member : members_) all.push_back(member->endpoint());
  return all;
}

}  // namespace portcullis::etcd::testing
