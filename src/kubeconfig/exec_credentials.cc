// SPDX-License-Identifier: Apache-2.0

#include "kubeconfig/exec_credentials.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/file.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/time.h"
#include "json/reader.h"
#include "json/value.h"
#include "json/writer.h"

namespace portcullis::kubeconfig {
namespace {

constexpr std::chrono::seconds kPatience{30};
constexpr std::size_t kMaxOutput = 1 << 20;

struct Output {
  std::string text;
  int exit_code = 0;
};

base::Status NotFound(const ExecConfig& plugin) {
  const std::string_view hint = plugin.install_hint;
  return base::ConfigError(
      base::StrCat("exec: executable ", plugin.command,
                   " not found\n\nIt looks like you are trying to use a client-go credential "
                   "plugin that is not installed.\n\nTo learn more about this feature, consult the "
                   "documentation available at:\n      https://kubernetes.io/docs/reference/"
                   "access-authn-authz/authentication/#client-go-credential-plugins",
                   hint.empty() ? "" : "\n\n", hint));
}

void AppendMember(std::string_view name, std::string_view value, std::string& out) {
  if (value.empty()) return;
  out += base::StrCat(",\"", name, "\":");
  json::WriteString(value, out);
}

// As Go prints it: the version's own order, empty members left out but for the server.
std::string ClusterText(const ExecCluster& cluster) {
  std::string out = "{\"server\":";
  json::WriteString(cluster.server, out);
  AppendMember("tls-server-name", cluster.tls_server_name, out);
  if (cluster.insecure_skip_tls_verify) out += ",\"insecure-skip-tls-verify\":true";
  AppendMember("certificate-authority-data", base::Base64Encode(cluster.certificate_authority_pem),
               out);
  AppendMember("proxy-url", cluster.proxy_url, out);
  if (cluster.disable_compression) out += ",\"disable-compression\":true";
  return base::StrCat(out, ",\"config\":", cluster.config, "}");
}

// An ExecCredential without status.
std::string Question(const ExecConfig& plugin, const ExecCluster* cluster) {
  return base::StrCat(
      R"({"kind":"ExecCredential","apiVersion":")", plugin.api_version, R"(","spec":{)",
      cluster != nullptr ? base::StrCat("\"cluster\":", ClusterText(*cluster), ",") : std::string(),
      "\"interactive\":false}}\n");
}

// A server has no terminal to ask at.
base::Status CheckInteraction(const ExecConfig& plugin) {
  constexpr std::string_view kPrefix = "exec plugin cannot support interactive mode: ";
  const std::string& mode = plugin.interactive_mode;
  if (mode == "Never" || mode == "IfAvailable") return base::OkStatus();
  if (mode == "Always") {
    return base::ConfigError(base::StrCat(kPrefix, "standard input is not a terminal"));
  }
  return base::ConfigError(base::StrCat(kPrefix, "unknown interactiveMode: ", base::GoQuote(mode)));
}

// The environment of the child: ours, what the kubeconfig adds, and the question it is to answer.
std::vector<std::string> Environment(const ExecConfig& plugin, const std::string& question) {
  std::vector<std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  const auto set = [&variables](const std::string& name, const std::string& value) {
    std::erase_if(variables, [prefix = name + "="](const std::string& known) {
      return known.starts_with(prefix);
    });
    variables.push_back(base::StrCat(name, "=", value));
  };
  for (const auto& [name, value] : plugin.environment) set(name, value);
  set("KUBERNETES_EXEC_INFO", question);
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Waits until `file` is readable, which a process is that has ended; false at the deadline.
bool WaitReadable(int file, base::SteadyTime deadline) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - base::SystemClock().Steady());
    pollfd waiting{file, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    return ready > 0;
  }
}

// Reads to the end of `file`; false if that takes too long or is more than kMaxOutput.
bool ReadAll(int file, base::SteadyTime deadline, std::string& text) {
  std::array<char, 4096> buffer{};
  while (text.size() <= kMaxOutput) {
    if (!WaitReadable(file, deadline)) return false;
    const ssize_t got = read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return false;
}

// The server's threads block the signals it waits for; its children are not to.
int Spawn(pid_t& child, const ExecConfig& plugin, const std::string& question, int output) {
  std::vector<std::string> arguments = {plugin.command};
  arguments.insert(arguments.end(), plugin.arguments.begin(), plugin.arguments.end());
  std::vector<std::string> variables = Environment(plugin, question);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  // A group of its own, so that it can be ended together with what it has started.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const int error = posix_spawnp(&child, plugin.command.c_str(), &actions, &attributes,
                                 Pointers(arguments).data(), Pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Waits for the end of the child, whose standard output has ended; at the deadline it is killed,
// and false returned.
bool Reap(pid_t child, base::SteadyTime deadline, int& status) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  const bool ended = process >= 0 && WaitReadable(process, deadline);
  if (process >= 0) close(process);
  if (!ended) kill(-child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return ended;
}

base::Result<Output> RunPlugin(const ExecConfig& plugin, const std::string& question) {
  const base::SteadyTime deadline = base::SystemClock().Steady() + kPatience;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return base::ConfigError(base::StrCat("exec: pipe: ", base::ErrnoText(errno)));
  }
  pid_t child = 0;
  const int error = Spawn(child, plugin, question, ends[1]);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    if (error == ENOENT) return NotFound(plugin);
    return base::ConfigError(
        base::StrCat("exec: fork/exec ", plugin.command, ": ", base::ErrnoText(error)));
  }
  Output output;
  const bool whole = ReadAll(ends[0], deadline, output.text);
  close(ends[0]);
  int status = 0;
  const bool ended = Reap(child, whole ? deadline : base::SteadyTime(), status);
  if (output.text.size() > kMaxOutput) {
    return base::ConfigError(base::StrCat("exec: executable ", plugin.command,
                                          " printed more than ", std::to_string(kMaxOutput),
                                          " bytes"));
  }
  if (!whole || !ended) return base::ConfigError("exec: signal: killed");
  if (!WIFEXITED(status)) {
    return base::ConfigError(
        base::StrCat("exec: executable ", plugin.command, " failed with exit code -1"));
  }
  output.exit_code = WEXITSTATUS(status);
  return output;
}

}  // namespace

ExecCredentials::ExecCredentials(ExecConfig plugin, const base::Clock& clock,
                                 const ExecCluster* cluster)
    : plugin_(std::move(plugin)), question_(Question(plugin_, cluster)), clock_(clock) {}

base::Result<ExecCredential> ExecCredentials::Get() {
  {
    base::MutexLock lock(mutex_);
    if (current_ && clock_.Now() < current_->expires) return current_->credential;
    if (is_running_) {
      const std::uint64_t awaited = runs_ + 1;
      while (runs_ < awaited) answered_.Wait(mutex_);
      return outcome_;
    }
    is_running_ = true;
    current_.reset();
  }
  base::Result<Printed> printed = Ask();
  base::MutexLock lock(mutex_);
  is_running_ = false;
  ++runs_;
  if (printed.ok()) {
    current_ = *printed;
    outcome_ = std::move(printed->credential);
  } else {
    outcome_ = printed.status();
  }
  answered_.NotifyAll();
  return outcome_;
}

void ExecCredentials::Forget() {
  base::MutexLock lock(mutex_);
  current_.reset();
}

base::Result<ExecCredentials::Printed> ExecCredentials::Ask() const {
  TRY(CheckInteraction(plugin_));
  const Output output = TRY(RunPlugin(plugin_, question_));
  if (output.exit_code != 0) {
    return base::ConfigError(base::StrCat("exec: executable ", plugin_.command,
                                          " failed with exit code ",
                                          std::to_string(output.exit_code)));
  }
  const auto document = json::ParseDocument(output.text);
  if (!document.ok()) {
    return base::ConfigError(base::StrCat("decoding stdout: ", document.status().message()));
  }
  const json::Value answer = document->root();
  if (const auto version = answer["apiVersion"].AsString(); version != plugin_.api_version) {
    return base::ConfigError(base::StrCat("exec plugin is configured to use API version ",
                                          plugin_.api_version, ", plugin returned version ",
                                          version));
  }
  const json::Value status = answer["status"];
  if (!status.is_object()) return base::ConfigError("exec plugin didn't return a status field");
  Printed printed;
  ExecCredential& fresh = printed.credential;
  fresh.token = status["token"].AsString();
  fresh.certificate_pem = status["clientCertificateData"].AsString();
  fresh.key_pem = status["clientKeyData"].AsString();
  if (fresh.token.empty() && fresh.certificate_pem.empty() && fresh.key_pem.empty()) {
    return base::ConfigError("exec plugin didn't return a token or cert/key pair");
  }
  if (fresh.certificate_pem.empty() != fresh.key_pem.empty()) {
    return base::ConfigError("exec plugin returned only certificate or key, not both");
  }
  if (const auto until = golang::ParseTime(status["expirationTimestamp"].AsString()); until.ok()) {
    printed.expires = base::WallTime(std::chrono::seconds(until->seconds));
  }
  return printed;
}

ExecProgram::ExecProgram(ExecConfig plugin, const base::Clock& clock)
    : plugin_(std::move(plugin)), clock_(clock) {}

std::shared_ptr<ExecCredentials> ExecProgram::For(const ExecCluster& cluster) {
  const bool told = plugin_.provides_cluster_info;
  const std::string key = told ? ClusterText(cluster) : std::string();
  base::MutexLock lock(mutex_);
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  auto& slot = known_[key];
  if (auto known = slot.lock()) return known;
  auto made = std::make_shared<ExecCredentials>(plugin_, clock_, told ? &cluster : nullptr);
  slot = made;
  return made;
}

}  // namespace portcullis::kubeconfig
