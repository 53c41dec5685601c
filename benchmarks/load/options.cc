// SPDX-License-Identifier: Apache-2.0

#include "options.h"

#include <array>
#include <cstdlib>

#include "base/file.h"
#include "base/strings.h"
#include "flags/flags.h"
#include "flags/setters.h"
#include "kubeconfig/client_config.h"
#include "kubeconfig/identity.h"

namespace portcullis::load {
namespace {

using flags::Type;

constexpr std::string_view kUsage =
    R"(portcullis-load: the same load for any Kubernetes API server, and what it cost.

Without --baseline-server or --baseline-kubeconfig it is compared with the figures recorded from
kube-apiserver v1.36. With --serve each goal starts servers of its own and holds what it measures
against a baseline of the same run and against a target.

)";

template <auto Member>
base::Status SetPositive(Options& options, std::string_view value) {
  const double number = std::strtod(std::string(value).c_str(), nullptr);
  if (number <= 0) return base::ConfigError("must be a number above 0");
  options.*Member = static_cast<typename flags::MemberTraits<decltype(Member)>::Value>(number);
  return base::OkStatus();
}

// What the flags of a server store; `Of` is &Options::server or &Options::baseline.
template <auto Of, auto Member>
base::Status SetTargetText(Options& options, std::string_view value) {
  options.*Of.*Member = std::string(value);
  return base::OkStatus();
}

template <auto Of, auto Member>
base::Status SetTargetFile(Options& options, std::string_view value) {
  options.*Of.*Member = base::Trim(TRY(base::ReadFile(std::string(value))));
  return base::OkStatus();
}

template <auto Of>
base::Status SetTarget(Options& options, std::string_view value) {
  return ReadKubeconfig(std::string(value), options.*Of);
}

template <auto Of>
base::Status AddProcess(Options& options, std::string_view value) {
  const auto pid = base::ParseInt(value);
  if (!pid) return base::ConfigError("must be a process id");
  (options.*Of).pids.push_back(static_cast<int>(*pid));
  return base::OkStatus();
}

using Row = flags::Flag<Options>;
using Names = std::array<std::string_view, 7>;

template <auto Of>
std::array<Row, 7> TargetRows(const Names& names) {
  using Target = TargetOptions;
  const auto row = [](std::string_view name, Type type, std::string_view meaning,
                      decltype(Row::set) set, std::string_view value) {
    return Row{.name = name,
               .type = type,
               .default_text = "",
               .meaning = meaning,
               .set = set,
               .note = "",
               .value_name = value};
  };
  return {
      row(names[0], Type::kString, "Server, CA and credentials of the current context",
          &SetTarget<Of>, "FILE"),
      row(names[1], Type::kString, "Address of the server", &SetTargetText<Of, &Target::url>,
          "URL"),
      row(names[2], Type::kString, "CA of the server; without one it is not verified",
          &SetTargetFile<Of, &Target::ca_pem>, "FILE"),
      row(names[3], Type::kString, "Client certificate",
          &SetTargetFile<Of, &Target::certificate_pem>, "FILE"),
      row(names[4], Type::kString, "Its key", &SetTargetFile<Of, &Target::key_pem>, "FILE"),
      row(names[5], Type::kString, "Bearer token", &SetTargetFile<Of, &Target::token>, "FILE"),
      row(names[6], Type::kInt,
          "A process of the server, for CPU and memory; repeatable (server, etcd)", &AddProcess<Of>,
          "PID"),
  };
}

constexpr Row kOwnRows[] = {
    {.name = "start",
     .type = Type::kString,
     .default_text = "",
     .meaning = "Measure the time from starting this command until /readyz of --server says ok",
     .set = &flags::SetText<&Options::start>,
     .value_name = "COMMAND"},
    {.name = "starts",
     .type = Type::kInt,
     .default_text = "5",
     .meaning = "How often it is started",
     .set = &SetPositive<&Options::starts>},
    {.name = "scenarios",
     .type = Type::kList,
     .default_text = "",
     .meaning = "Only these; --list names them",
     .set = &flags::AddToList<&Options::scenarios>},
    {.name = "connections",
     .type = Type::kInt,
     .default_text = "16",
     .meaning = "Keep-alive connections, each with one request under way",
     .set = &SetPositive<&Options::connections>},
    {.name = "seconds",
     .type = Type::kInt,
     .default_text = "5",
     .meaning = "Seconds of each scenario",
     .set = &SetPositive<&Options::seconds>},
    {.name = "warmup",
     .type = Type::kInt,
     .default_text = "1",
     .meaning = "Seconds of each scenario that do not count",
     .set = &SetPositive<&Options::warmup>},
    {.name = "threads",
     .type = Type::kInt,
     .default_text = "1",
     .meaning = "I/O threads of the load generator",
     .set = &SetPositive<&Options::threads>},
    {.name = "webhook-listen",
     .type = Type::kString,
     .default_text = "127.0.0.1:0",
     .meaning = "Where the built-in webhook server listens",
     .set = &flags::SetText<&Options::webhook_listen>,
     .value_name = "ADDRESS"},
    {.name = "serve",
     .type = Type::kString,
     .default_text = "",
     .meaning = "The portcullis binary; measures the goals instead of scenarios",
     .set = &flags::SetText<&Options::serve>,
     .value_name = "FILE"},
    {.name = "goals",
     .type = Type::kList,
     .default_text = "",
     .meaning = "Only these; --list names them",
     .set = &flags::AddToList<&Options::goals>},
    {.name = "json",
     .type = Type::kBool,
     .default_text = "",
     .meaning = "Print one JSON document",
     .set = &flags::SetBool<&Options::json>},
    {.name = "list",
     .type = Type::kBool,
     .default_text = "",
     .meaning = "Print the scenarios and goals",
     .set = &flags::SetBool<&Options::list>},
};

std::vector<Row> Table() {
  std::vector<Row> table;
  for (const Row& row : TargetRows<&Options::server>(
           {"kubeconfig", "server", "ca", "cert", "key", "token-file", "pid"})) {
    table.push_back(row);
  }
  for (const Row& row : TargetRows<&Options::baseline>(
           {"baseline-kubeconfig", "baseline-server", "baseline-ca", "baseline-cert",
            "baseline-key", "baseline-token-file", "baseline-pid"})) {
    table.push_back(row);
  }
  table.insert(table.end(), std::begin(kOwnRows), std::end(kOwnRows));
  return table;
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

std::string HelpText() {
  return base::StrCat(kUsage, flags::Help(flags::InfosOf<Options>(Table())));
}

base::Result<Options> ParseOptions(int argc, char** argv) {
  Options options;
  options.server.name = "server";
  options.baseline.name = "baseline";
  const std::vector<std::string> words(argv + 1, argv + argc);
  const flags::Line line = TRY(flags::Parse<Options>(Table(), words, {"portcullis-load"}, options));
  options.help = line.help;
  if (!options.help && !options.list && options.serve.empty() && options.server.url.empty()) {
    return base::ConfigError("--kubeconfig, --server or --serve is needed");
  }
  return options;
}

}  // namespace portcullis::load
