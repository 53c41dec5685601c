#include "options.h"

#include <cstdlib>
#include <functional>
#include <map>

#include "base/file.h"
#include "base/strings.h"
#include "kubeconfig/client_config.h"
#include "kubeconfig/identity.h"

namespace portcullis::load {

const char* const kUsage =
    R"(portcullis-load: the same load for any Kubernetes API server, and what it cost.

  --kubeconfig=FILE      server, CA and credentials of the current context; or, one by one:
  --server=URL --ca=FILE --cert=FILE --key=FILE --token-file=FILE
  --pid=N                a process of the server, for CPU and memory (repeatable: server, etcd)
  --baseline-…           the same flags for a second server to compare with; without one the
                         figures recorded from kube-apiserver v1.36 are used
  --start=COMMAND        measure the time from starting COMMAND until /readyz of --server says ok
  --starts=N             how often (5)
  --scenarios=A,B        only these (--list names them)
  --connections=N        keep-alive connections, each with one request under way (16)
  --seconds=S --warmup=S of every scenario (5, 1)
  --threads=N            I/O threads of the load generator (1)
  --webhook-listen=ADDR  where the built-in webhook server listens (127.0.0.1:0)
  --json                 print one JSON document

Or, without a server: each goal starts servers of its own and holds what it measures against a
baseline of the same run and against a target.

  --serve=FILE           the portcullis binary; all goals, unless
  --goals=A,B            only these (--list names them)
)";

namespace {

using Setter = std::function<base::Status(const std::string&)>;

Setter Text(std::string& target) {
  return [&target](const std::string& value) {
    target = value;
    return base::OkStatus();
  };
}
Setter FileText(std::string& target) {
  return [&target](const std::string& value) -> base::Status {
    target = TRY(base::ReadFile(value));
    return base::OkStatus();
  };
}
template <typename Number>
Setter Positive(Number& target) {
  return [&target](const std::string& value) {
    target = static_cast<Number>(std::strtod(value.c_str(), nullptr));
    return target > 0 ? base::OkStatus()
                      : base::ConfigError(base::StrCat("not a positive number: ", value));
  };
}

void AddTargetFlags(const std::string& prefix, TargetOptions& target,
                    std::map<std::string, Setter>& flags) {
  flags[prefix + "server"] = Text(target.url);
  flags[prefix + "ca"] = FileText(target.ca_pem);
  flags[prefix + "cert"] = FileText(target.certificate_pem);
  flags[prefix + "key"] = FileText(target.key_pem);
  flags[prefix + "token-file"] = [&target](const std::string& value) -> base::Status {
    const auto text = TRY(base::ReadFile(value));
    target.token = base::Trim(text);
    return base::OkStatus();
  };
  flags[prefix + "kubeconfig"] = [&target](const std::string& value) {
    return ReadKubeconfig(value, target);
  };
  flags[prefix + "pid"] = [&target](const std::string& value) {
    const auto pid = base::ParseInt(value);
    if (!pid) return base::ConfigError(base::StrCat("not a process id: ", value));
    target.pids.push_back(static_cast<int>(*pid));
    return base::OkStatus();
  };
}

}  // namespace

base::Status ReadKubeconfig(const std::string& path, TargetOptions& target) {
  const auto config = TRY(kubeconfig::Resolve(TRY(kubeconfig::Load(path))));
  auto certificate = TRY(kubeconfig::ReadClientCertificate(config.user));
  target.url = config.url;
  target.ca_pem = config.tls.ca_pem;
  target.certificate_pem = std::move(certificate.certificate_pem);
  target.key_pem = std::move(certificate.key_pem);
  target.token = config.user.token;
  return base::OkStatus();
}

base::Result<Options> ParseOptions(int argc, char** argv) {
  Options options;
  options.server.name = "server";
  options.baseline.name = "baseline";
  std::map<std::string, Setter> flags;
  AddTargetFlags("--", options.server, flags);
  AddTargetFlags("--baseline-", options.baseline, flags);
  flags["--start"] = Text(options.start);
  flags["--starts"] = Positive(options.starts);
  flags["--connections"] = Positive(options.connections);
  flags["--threads"] = Positive(options.threads);
  flags["--seconds"] = Positive(options.seconds);
  flags["--warmup"] = Positive(options.warmup);
  flags["--webhook-listen"] = Text(options.webhook_listen);
  flags["--serve"] = Text(options.serve);
  flags["--goals"] = [&options](const std::string& value) {
    for (const auto name : base::Split(value, ',')) options.goals.emplace_back(name);
    return base::OkStatus();
  };
  flags["--scenarios"] = [&options](const std::string& value) {
    for (const auto name : base::Split(value, ',')) options.scenarios.emplace_back(name);
    return base::OkStatus();
  };
  const std::map<std::string, bool*> switches = {
      {"--json", &options.json}, {"--list", &options.list}, {"--help", &options.help}};
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (const auto found = switches.find(name); found != switches.end()) {
      *found->second = true;
      continue;
    }
    std::string value;
    const auto equals = name.find('=');
    if (equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (i + 1 < argc) {
      value = argv[++i];
    }
    const auto flag = flags.find(name);
    if (flag == flags.end()) return base::ConfigError(base::StrCat("unknown flag: ", name));
    if (auto status = flag->second(value); !status.ok()) return status.Annotate(name);
  }
  if (!options.help && !options.list && options.serve.empty() && options.server.url.empty()) {
    return base::ConfigError("--kubeconfig, --server or --serve is needed");
  }
  return options;
}

}  // namespace portcullis::load
